"""Heat on a grid: simulate it, learn it from some snapshots, and predict the others.

This is the first example of the paper, with fewer epochs. Node i exchanges heat with its neighbours,
dx_i/dt = sum_j A_ij (x_j - x_i), and is observed at irregular times.

    python examples/heat.py        # prints errors, draws example_heat.png
"""

import torch

import ndcn

torch.set_num_threads(1)

# The truth: 400 nodes on a grid, three warm blocks, 120 snapshots at irregular times up to t = 5.
graph = ndcn.networks.grid(400)
times = ndcn.sampling.irregular_times(5.0, seed=0)
data = ndcn.simulate(ndcn.laws.Heat(), graph, ndcn.laws.initial_state(graph), times)

# 80 snapshots to learn from, 20 between them and 20 after them to be judged by.
parts = ndcn.split(data, seed=0)

# dX/dt = ReLU(Phi X W + b) between an encoder and a decoder; and the same without the graph, to see what the graph is worth.
errors = {}
for name in ("ndcn", "no_graph"):
    reg = ndcn.DynamicsRegressor(name, epochs=500, seed=0, progress=False).fit(parts.train)
    errors[name] = {
        which: 100 * ndcn.metrics.normalized_l1(reg.predict(part.times), part)
        for which, part in (("between", parts.interpolation), ("after", parts.extrapolation))
    }
    print(
        f"{name:8} error between the training times {errors[name]['between']:.1f} %, after {errors[name]['after']:.1f} %"
    )
    if name == "ndcn":
        prediction = reg.predict(data.times)

# Truth, prediction and difference; the dashed line is where training ended.
last = parts.train.times.max().item()
ndcn.plot.compare(data, prediction, train_until=last, label="NDCN")[0, 0].figure.savefig("example_heat.png")
print("drew example_heat.png")
