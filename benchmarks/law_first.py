"""What `model="auto"` takes, a law or a forecast, and the processor time that looking for a law adds.

OMP_NUM_THREADS=1 python benchmarks/law_first.py --data FOLDER     # of the real sets, see benchmarks/forecast.py
OMP_NUM_THREADS=1 python benchmarks/law_first.py --made            # simulated laws, without noise and with 1 and 5 % of it
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import torch

import ndcn
from forecast import ORIGINS, read
from ndcn import laws
from ndcn.forecast import Auto

NODES = 100
NOISE = (0.0, 0.01, 0.05)


def made() -> Iterator[tuple[str, ndcn.Trajectory]]:
    """Ten laws at 120 irregular times, as they are and with proportional noise."""
    graph = ndcn.networks.power_law(NODES, seed=0)
    some = torch.rand(NODES, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    two = torch.rand(NODES, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    heat = laws.initial_state(graph)
    first = {
        "heat": (laws.Heat(), heat),
        "gene": (laws.Gene(), heat),
        "mutualistic": (laws.Mutualistic(), heat),
        "sis": (laws.SIS(), 0.01 + 0.3 * some),
        "kuramoto": (laws.Kuramoto(), 6 * some),
        "lotka_volterra": (laws.LotkaVolterra(), 0.5 + some),
        "michaelis_menten": (laws.MichaelisMenten(), 2 * some),
        "consensus": (laws.Consensus(), 2 * some - 1),
        "wilson_cowan": (laws.WilsonCowan(), 5 * some),
        "fitzhugh_nagumo": (laws.FitzHughNagumo(), 2 * two - 1),
    }
    times = ndcn.sampling.irregular_times(5.0, seed=0)
    for name, (law, x0) in first.items():
        clean = ndcn.simulate(law, graph, x0, times)
        for noise in NOISE:
            states = clean.states.double()
            drawn = torch.randn(states.shape, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
            yield (
                f"{name}, {100 * noise:g} %",
                clean if noise == 0 else clean.replaced(states=states * (1 + noise * drawn)),
            )


def real(folder: Path) -> Iterator[tuple[str, ndcn.Trajectory | ndcn.Dataset]]:
    """The sets of docs/forecast.md."""
    for name in ORIGINS:
        data, graphs = read(name, folder)
        yield name, data if graphs is None else ndcn.Dataset((data,), graphs=graphs)


def seconds(data: ndcn.Trajectory | ndcn.Dataset, *, law: bool) -> tuple[float, ndcn.DynamicsRegressor]:
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reg = ndcn.DynamicsRegressor(model=Auto(law=law)).fit(data)
    return time.process_time() - began, reg


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--data", type=Path, help="folder of the real sets")
    words.add_argument("--made", action="store_true", help="simulated laws")
    given = words.parse_args()
    torch.set_num_threads(1)
    sets = [*(real(given.data) if given.data else ()), *(made() if given.made else ())]
    print("| set | forecast alone, s | auto, s | it took | why |\n|---|---|---|---|---|")
    for name, data in sets:
        plain, _ = seconds(data, law=False)
        whole, reg = seconds(data, law=True)
        taken = f"`{reg.equations()}`" if reg.choice_.law else "forecast"
        print(f"| {name} | {plain:.1f} | {whole:.1f} | {taken} | {reg.choice_.reason} |", flush=True)


if __name__ == "__main__":
    main()
