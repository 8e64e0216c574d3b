"""Finding the law of a network from trajectories: its terms in closed form, or its functions as splines."""
