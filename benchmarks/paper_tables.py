"""The paper's tables in docs/results.md and README.md, written from the runs that the repository keeps.

    python benchmarks/paper_tables.py                                # all tables
    python benchmarks/paper_tables.py extrapolation interpolation    # these

A table whose runs are incomplete is written as far as they are done; each row says its number of runs. What the tables show is
printed, for the text above them.
"""

from __future__ import annotations

import argparse
import math
import re
import tempfile
from pathlib import Path

from ndcn._support.registries import TABLES
from ndcn.experiments import Request, Row, Store
from ndcn.experiments.layout import Grid, as_markdown, grids
from paper_runs import kept, load

ROOT = Path(__file__).parents[1]
RESULTS, README = ROOT / "docs" / "results.md", ROOT / "README.md"
RUNS = 20
HEADINGS = {
    "extrapolation": "### Extrapolation",
    "interpolation": "### Interpolation",
    "regular": "### Regular snapshots",
}
BY_L1 = {"extrapolation": "Extrapolation:", "interpolation": "Interpolation:", "regular": "Regular snapshots:"}
# A table with the notes below it.
BLOCK = r"\| dynamics \| model \|.*?\n\n(?:- [^\n]*\n)+"


def rows_of(name: str, store: Store) -> tuple[list[Row], list[Grid]]:
    target = TABLES[name](name, Request(runs=RUNS))
    rows = target.rows(store)
    return rows, grids(rows, {name: target.title}, {name: list(target.notes)})


def replaced(page: str, after: str, grid: Grid) -> str:
    """The page with the first table after a line replaced, and its notes."""
    table = as_markdown([grid]).split("\n\n", 1)[1] + "\n"
    found, count = re.subn(
        rf"(^{re.escape(after)}\n.*?){BLOCK}", lambda m: m[1] + table, page, count=1, flags=re.S | re.M
    )
    if not count:
        raise ValueError(f"{RESULTS.name} has no table after {after!r}")
    return found


def in_readme(page: str, rows: list[Row]) -> str:
    """The README with NDCN's rows of the first table."""
    for line in re.findall(r"^\| *\w* \| (?:its recipe, here|default recipe) \|.*$", page, re.MULTILINE):
        before = page[: page.index(line)]
        dynamics = re.findall(r"^\| (\w+) \| paper \|", before, re.MULTILINE)[-1]
        model = "ndcn" if "its recipe" in line else "ndcn_default"
        cells = [r for r in rows if (r.dynamics, r.model, r.metric) == (dynamics, model, "normalized_l1_percent")]
        new = f"|  | {line.split('|')[2].strip()} | {' | '.join(f'{r.mean:.2f} ± {r.std:.2f}' for r in cells)} |"
        page = page.replace(line, new, 1)
    return page


def ratios(rows: list[Row], ours: str, others: str) -> list[float]:
    """Errors of one model over those of another, in each cell."""
    by = {(r.model, r.dynamics, r.network): r.mean for r in rows if r.metric == "normalized_l1_percent"}
    pairs = [(value, by.get((others, *cell))) for (model, *cell), value in by.items() if model == ours]
    return [a / max(b, 0.005) for a, b in pairs if a is not None and b is not None]


def shown(name: str, rows: list[Row]) -> None:
    """Print what the text above the tables says."""
    errors = [r for r in rows if r.metric == "normalized_l1_percent"]
    for model in ("ndcn", "ndcn_default"):
        mine = [r for r in errors if r.model == model and r.mean is not None and r.paper_mean is not None]
        if not mine:
            continue
        off = [
            f"{r.dynamics}/{r.network} {r.mean:.2f} ± {r.std:.2f} ({r.paper_mean} ± {r.paper_std})"
            for r in mine
            if r.mark == "above"
        ]
        share = [r.mean / r.paper_mean for r in mine]
        near = sum(r.mark != "above" for r in mine)
        average = math.exp(sum(map(math.log, share)) / len(share))
        print(
            f"{name}: {model} {near} of {len(mine)}, {average:.2f} of the paper's error, at most {max(share):.2f}; above: {off}"
        )
        for simple in ("persistence", "linear", "spline", "residual_gnn"):
            values = ratios(rows, model, simple)
            print(f"    {simple} closer in {sum(v > 1 for v in values)} of {len(values)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", choices=[[], *HEADINGS], default=[])
    names = parser.parse_args().tables or list(HEADINGS)
    page, readme = RESULTS.read_text(), README.read_text()
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "store.sqlite"
        load(path)
        with Store(path, create=False, read_only=True) as store:
            for name in names:
                rows, (relative, absolute) = rows_of(name, store)
                page = replaced(page, HEADINGS[name], relative)
                page = replaced(page, BY_L1[name], absolute)
                if name == "extrapolation":
                    readme = in_readme(readme, rows)
                shown(name, rows)
    RESULTS.write_text(page)
    README.write_text(readme)
    hours = sum(row["seconds"] for row in kept().values()) / 3600
    print(f"{len(kept())} runs, {hours:.1f} hours of fitting")


if __name__ == "__main__":
    main()
