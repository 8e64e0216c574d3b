"""Your own data: two CSV files, what was understood of them, a model, and a prediction.

python examples/own_csv.py                         # makes two small files first; draws example_own_csv.png
python examples/own_csv.py edges.csv states.csv    # with yours
"""

import sys
from pathlib import Path

import torch

import ndcn

torch.set_num_threads(1)


def make_files() -> tuple[Path, Path]:
    """Visitors of five towns on 40 days, three of them missing; trips between the towns."""
    towns = ["Aden", "Brix", "Cole", "Dorn", "Elm"]
    trips = [("Aden", "Brix", 3), ("Brix", "Cole", 2), ("Cole", "Dorn", 2), ("Dorn", "Elm", 1), ("Elm", "Aden", 2)]
    graph = ndcn.Graph.from_edges(trips)
    law = ndcn.laws.Heat(k=0.02)
    data = ndcn.simulate(law, graph, torch.tensor([[90.0], [10.0], [40.0], [5.0], [60.0]]), torch.arange(40.0))
    Path("edges.csv").write_text("from,to,trips\n" + "".join(f"{a},{b},{w}\n" for a, b, w in trips))
    lines = [f"date,{','.join(towns)}"]
    for day, state in enumerate(data.states):
        if day not in (7, 8, 21):
            lines.append(
                f"2024-{4 + day // 30:02d}-{day % 30 + 1:02d}," + ",".join(f"{x:.2f}" for x in state[:, 0].tolist())
            )
    Path("states.csv").write_text("\n".join(lines) + "\n")
    return Path("edges.csv"), Path("states.csv")


edges, states = (Path(sys.argv[1]), Path(sys.argv[2])) if len(sys.argv) > 2 else make_files()

# Encoding, separator, columns, dates and direction are found out; the notes say how.
data = ndcn.read(edges, states)
print(data)
print(*(f"- {note}" for note in data.notes), sep="\n")

# A model, judged by the last fifth of the days, which it does not see.
run = data.trajectory
cut = 4 * len(run) // 5
reg = ndcn.DynamicsRegressor(epochs=300, seed=0, progress=False).fit(run[:cut])
print(
    f"error of the {len(run) - cut} days held back: {100 * ndcn.metrics.normalized_l1(reg.predict(run[cut:].times), run[cut:]):.1f} %"
)

# The same from all days; times are numbers inside, dates outside, and any time may be asked for, also the missing days.
reg = ndcn.DynamicsRegressor(epochs=300, seed=0, progress=False).fit(data)
print(reg.table(["2024-04-08", "2024-05-12"]).to_string(index=False, float_format="%.1f"))

ndcn.plot.trajectories(run, reg.predict(run.times)).figure.savefig("example_own_csv.png")
reg.save("towns.ndcn")
print("drew example_own_csv.png, wrote towns.ndcn; go on with")
print('  ndcn predict towns.ndcn --times 2024-05-15 --what-if "cut Aden Brix"')
