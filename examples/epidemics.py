"""Four epidemics: forecasts with intervals, compared with simple guesses, and whether the network helps.

H1N1 and COVID-19 by country and the air traffic between countries (X_adj.txt and X_filter_total_cases_raw.txt, from the folder
data/DynamicsData/RealEpidemicData of github.com/csjtx1021/neural_ode_processes_for_network_dynamics-master); chickenpox in
Hungarian counties and COVID-19 in English regions with a graph for every day (chickenpox.json and england_covid.json, from the
folder dataset of github.com/benedekrozemberczki/pytorch_geometric_temporal).

    python examples/epidemics.py FOLDER    # prints what was found, draws example_epidemics.png
"""

import json
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import ndcn
from ndcn import forecast


def countries(folder, name):
    graph = ndcn.Graph.from_dense(np.loadtxt(folder / f"{name}_adj.txt"))
    totals = np.loadtxt(folder / f"{name}_filter_total_cases_raw.txt")
    totals = totals if totals.shape[1] == graph.num_nodes else totals.T  # (day, country)
    return ndcn.Trajectory(times=np.arange(len(totals)), states=totals, graph=graph, features=["cases"]), None


def counties(file):
    raw = json.loads(file.read_text())
    values = np.array(raw["FX"])  # (week, county)
    graph = ndcn.Graph.from_edges(raw["edges"], num_nodes=values.shape[1])
    return ndcn.Trajectory(times=np.arange(len(values)), states=values, graph=graph, features=["cases"]), None


def regions(file):
    raw = json.loads(file.read_text())
    values = np.array(raw["y"], dtype=float)  # (day, region)
    graphs = []
    for day in range(len(values)):
        index, weight = (raw["edge_mapping"][part][str(day)] for part in ("edge_index", "edge_weight"))
        edges = [(u, v, w) for (u, v), w in zip(index, weight, strict=True)]
        graphs.append(ndcn.Graph.from_edges(edges, num_nodes=values.shape[1], directed=True))
    times = np.arange(len(values), dtype=float)
    moving = ndcn.GraphSequence(times, graphs)
    return ndcn.Trajectory(times=times, states=values, graph=graphs[-1], features=["cases"]), moving


folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2] / "shared/data"
if not (folder / "epidemics" / "COVID_adj.txt").exists():
    sys.exit(
        f"there is no epidemics/COVID_adj.txt in {folder}: say where the data are, python examples/epidemics.py FOLDER"
    )
sets = {
    "H1N1 in 130 countries": countries(folder / "epidemics", "H1N1"),
    "COVID-19 in 174 countries": countries(folder / "epidemics", "COVID"),
    "chickenpox in 20 Hungarian counties": counties(folder / "temporal" / "chickenpox.json"),
    "COVID-19 in 129 English regions": regions(folder / "temporal" / "england_covid.json"),
}

fig, axes = plt.subplots(2, 2, figsize=(8, 5), layout="constrained")
for ax, (name, (data, graphs)) in zip(axes.flat, sets.items(), strict=True):
    # Forecast the last 14 steps from those before. Every model is judged by what it would have said in the past.
    known, hidden = data[:-14], data[-14:]
    found = forecast.auto(known, horizon=14, graphs=graphs, progress=False)
    said = found.predict(hidden.times)
    low, high = found.intervals(hidden.times, level=0.9)
    inside = ((hidden.states >= low.states) & (hidden.states <= high.states)).double().mean().item()
    off = (said.states - hidden.states).abs().mean() / (known.states[-1] - hidden.states).abs().mean()
    print(f"\n{name}\n{found.kind}\n{found.sentence}")
    print(f"the last 14 steps: {off:.2f} of the error of no change; {100 * inside:.0f} % lie in their 90 % intervals")
    # Do neighbours say more than a node's own past and the common trend? Compared with graphs whose nodes are shuffled.
    print(forecast.network_test(known, graphs=graphs, shuffles=19, progress=False).sentence)

    most = int(known.states[-1].argmax())  # drawn: the node with the largest value at the end of what is known
    past, t = known[-40:], hidden.times
    ax.fill_between(
        t, low.states[:, most, 0], high.states[:, most, 0], color="tab:orange", alpha=0.3, label="90 % interval"
    )
    ax.plot(past.times, past.states[:, most, 0], color="0.3", label="known")
    ax.plot(t, hidden.states[:, most, 0], "o", color="0.3", markersize=3, label="what came")
    ax.plot(t, said.states[:, most, 0], color="tab:orange", label="forecast")
    ax.set_title(name, fontsize=9)
    ax.set_xlabel("week" if "Hungarian" in name else "day", fontsize=8)
    ax.set_ylabel(found.kind.split(" (")[0].split(",")[0].split(" that")[0], fontsize=8)
axes[0, 0].legend(fontsize=7, frameon=False)
fig.savefig("example_epidemics.png", dpi=150)
print("\ndrew example_epidemics.png")
