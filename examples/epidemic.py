"""COVID-19 on the airline network: a forecast with intervals, and whether the network helps it.

The data are cases so far in 174 countries on 158 days, and a matrix of air traffic between them: COVID_adj.txt and
COVID_filter_total_cases_raw.txt, from the folder data/DynamicsData/RealEpidemicData of
github.com/csjtx1021/neural_ode_processes_for_network_dynamics-master.

    python examples/epidemic.py FOLDER    # prints tables, draws example_epidemic.png
"""

import sys
from pathlib import Path

import numpy as np

import ndcn
from ndcn import forecast

folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2] / "shared/data/epidemics"
if not (folder / "COVID_adj.txt").exists():
    sys.exit(f"there is no COVID_adj.txt in {folder}: say where the data are, python examples/epidemic.py FOLDER")

totals = np.loadtxt(folder / "COVID_filter_total_cases_raw.txt")
graph = ndcn.Graph.from_dense(np.loadtxt(folder / "COVID_adj.txt"))
totals = totals if totals.shape[1] == graph.num_nodes else totals.T  # (day, country)
data = ndcn.Trajectory(times=np.arange(len(totals)), states=totals, graph=graph, features=["cases"])
print(data)

# Forecast the last 14 days from those before. Every model is judged by what it would have said in the past.
known, hidden = data[:-14], data[-14:]
found = forecast.auto(known, horizon=14, progress=False)
print(found.kind)
print(found.sentence)
error = ndcn.metrics.normalized_l1(found.predict(hidden.times), hidden)
low, high = found.intervals(hidden.times, level=0.9)
inside = ((hidden.states >= low.states) & (hidden.states <= high.states)).double().mean().item()
print(f"error of the 14 days {100 * error:.1f} %; {100 * inside:.0f} % of the days lie in their 90 % intervals")

# Do neighbours say more than a country's own past and the common trend? Compared with graphs whose nodes are shuffled.
print(forecast.network_test(known, shuffles=19, progress=False).sentence)

logarithm = np.log10(1 + totals[-1])
ax = ndcn.plot.network(graph, values=logarithm)
ax.set_title("log10 of cases so far on the last day", fontsize=9)
ax.figure.savefig("example_epidemic.png", dpi=150)
print("drew example_epidemic.png")
