"""From a small graph to a large one: a law learned on 60 nodes, run on 2000 others.

The graph is an argument of dX/dt = f(t, X, G) and never part of the weights, so a model can be asked about any graph. Whether
the answer is right depends on the model: a law carries over, a network fitted to one trajectory hardly does.

    python examples/transfer.py    # prints errors, draws example_transfer.png
"""

import torch

import ndcn

torch.set_num_threads(1)
law = ndcn.laws.Gene()  # dx_i/dt = -x_i + sum_j A_ij x_j^2 / (1 + x_j^2)

small = ndcn.networks.power_law(60, seed=0)
times = ndcn.sampling.irregular_times(5.0, seed=0)
data = ndcn.simulate(law, small, ndcn.laws.initial_state(small), times)
train = ndcn.split(data, seed=0).train

large = ndcn.networks.power_law(2000, seed=1)
x0 = 20 * torch.rand(2000, 1, generator=torch.Generator().manual_seed(0))
truth = ndcn.simulate(law, large, x0, ndcn.sampling.regular_times(5.0, 26))

errors, guesses = {}, {}
for name, model in (("NDCN", "ndcn"), ("interaction", "interaction")):
    settings = {"epochs": 500, "seed": 0} if model == "ndcn" else {}
    reg = ndcn.DynamicsRegressor(model, progress=False, **settings).fit(train)
    guesses[name] = reg.predict(truth.times, graph=large, x0=x0)
    errors[name] = {
        "60 nodes, as trained": 100 * ndcn.metrics.normalized_l1(reg.predict(times), data),
        "2000 other nodes": 100 * ndcn.metrics.normalized_l1(guesses[name], truth),
    }
    for where, error in errors[name].items():
        print(f"{name}, {where}: {f'{error:.1f}' if error >= 0.1 else 'less than 0.1'} %")
print(reg.equations())

ax = ndcn.plot.error_curves(
    {
        name: (truth.times, 100 * ndcn.metrics.per_time(guess, truth) / truth.states.mean())
        for name, guess in guesses.items()
    },
    ylabel="error on 2000 nodes, %",
)
ax.figure.savefig("example_transfer.png")
print("drew example_transfer.png")
