"""``ndcn find-network``: who acts on whom, from states alone or with a network that may be partly wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from .._support.wording import counted
from . import reading
from .guard import data_notes
from .inspect import STATES_HELP
from .options import PAGES, TABLES, Json, check_output, option, print_json


@reading.reads_files
def find_network(
    states: Annotated[Path, typer.Argument(metavar="STATES", help=STATES_HELP)],
    out: Annotated[Path | None, option("Table of links to write, .csv or .parquet.")] = None,
    prior: Annotated[
        Path | None, option(f"File of edges that may be partly wrong: {reading.EDGE_ENDINGS}.", metavar="EDGES")
    ] = None,
    trust: Annotated[float, option("Probability of the links of --prior.", min=0.01, max=0.99)] = 0.9,
    fdr: Annotated[float, option("Expected share of wrong links among those written.", min=0.001, max=1.0)] = 0.1,
    coupling: Annotated[str | None, option("Formula g(x_i, x_j), if it is known. Default: searched.")] = None,
    calibrate: Annotated[
        bool | None,
        option(
            "Check and correct probabilities by simulation. Default: up to 200 nodes.", "--calibrate/--no-calibrate"
        ),
    ] = None,
    page: Annotated[Path | None, option("Page to write, .html.")] = None,
    seed: Annotated[int, option("Seed of the search.", min=0)] = 0,
    how: reading.How = reading.PLAIN,
    as_json: Json = False,
) -> None:
    """Find the network: which node acts on which, with probabilities, together with the law, and whether the data can tell.

    Several runs from different initial states tell most; one run that relaxes tells next to nothing, and is then called not
    decidable. With --prior, missing and spurious links of a given network are named.

    Example: ndcn find-network states.csv --out edges.csv
    """
    check_output(out, TABLES)
    check_output(page, PAGES)
    import ndcn

    data = how.read_states(states) if prior is None else how.read(prior, states)
    data_notes(data, [states, *how.words()])
    given = None if prior is None else data.runs[0].graph
    found = ndcn.reconstruct(data, given, trust=trust, coupling=coupling, calibrate=calibrate, seed=seed)
    links = found.links(fdr=fdr)
    if out is not None:
        from .._support.files import write

        table = _kept(found, links)
        save = table.to_parquet if out.suffix == ".parquet" else table.to_csv
        write(out, lambda new: save(new, index=False))
    if page is not None:
        found.report(page)
    if as_json:
        print_json(_facts(found, int(links.sum()), out))
        return
    typer.echo(str(found))
    if given is not None:
        for name, table in (("missing", found.missing()), ("spurious", found.spurious())):
            pairs = [
                f"{s} -> {t} ({p:.2f})"
                for s, t, p in table[["source", "target", "probability"]].itertuples(index=False)
            ]
            typer.echo(f"{counted(len(pairs), f'{name} link')}{': ' if pairs else ''}{', '.join(pairs[:20])}")
    if out is not None:
        typer.echo(
            f"written to {out}: {counted(int(links.sum()), 'link')} at a false discovery rate of {100 * fdr:g} %"
        )
    if page is not None:
        typer.echo(f"written to {page}")


def _kept(found: Any, links: Any) -> Any:
    """The table of links that are kept."""
    table = found.table(1e-3)
    place = {node: k for k, node in enumerate(found.nodes)}
    kept = [bool(links[place[t], place[s]]) for s, t in zip(table["source"], table["target"], strict=True)]
    return table[kept]


def _facts(found: Any, links: int, out: Path | None) -> dict[str, Any]:
    facts = {
        "verdict": found.verdict,
        "reasons": list(found.judgement.reasons),
        "helps": list(found.judgement.helps),
        "undecided": [str(node) for node in found.undecided],
        "links": links,
        "law": None if found.law is None else found.law.extra_repr(),
        "families": [[text, gap] for text, gap in found.families[:5]],
        "foretold_aupr": found.aupr,
    }
    if found.prior is not None:
        facts["missing"] = (
            found.missing()[["source", "target", "probability"]].astype({"source": str, "target": str}).values.tolist()
        )
        facts["spurious"] = (
            found.spurious()[["source", "target", "probability"]].astype({"source": str, "target": str}).values.tolist()
        )
    return facts if out is None else {**facts, "out": str(out)}
