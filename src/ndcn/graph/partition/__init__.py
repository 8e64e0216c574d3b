"""One graph over several processes: who gets which nodes, which states cross the cut, and a graph that stands for one part."""
