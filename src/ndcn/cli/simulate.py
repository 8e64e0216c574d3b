"""``ndcn simulate``: data from a known law on a generated network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .options import Json, LawName, NetworkName, Order, Sampling, check_data_output, print_json

if TYPE_CHECKING:
    from ..graph import Graph
    from ..laws import Law

# The paper's last times of heat diffusion, by network; of other laws those that need longer than 5.
HEAT_TIMES = {"grid": 5.0, "random": 0.1, "power_law": 0.75, "small_world": 2.0, "community": 0.2}
LAST_TIMES = {"fitzhugh_nagumo": 100.0}


def simulate(
    law: Annotated[LawName, typer.Option(help="The law of the dynamics.")] = LawName.heat,
    network: Annotated[NetworkName, typer.Option(help="The network on which it acts.")] = NetworkName.grid,
    nodes: Annotated[int, typer.Option(min=1, help="Number of nodes.")] = 400,
    time: Annotated[
        float | None,
        typer.Option(
            help="Last time T, in the law's own unit of time. Default: 5, but for heat on random 0.1, power_law 0.75, "
            "small_world 2, community 0.2, and for fitzhugh_nagumo 100.",
            show_default=False,
        ),
    ] = None,
    snapshots: Annotated[int, typer.Option(min=2, help="Number of times at which the states are kept.")] = 120,
    sampling: Annotated[
        Sampling, typer.Option(help="Times drawn at random from [0, T], or equally spaced.")
    ] = Sampling.irregular,
    param: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=NUMBER",
            help="A parameter of the law, repeatable. heat: k; mutualistic: b, k, c, d, e, h; gene: b, f, h; "
            "sis: beta, delta; sir: beta, gamma; kuramoto: omega, k; consensus: k, s; lotka_volterra: alpha, theta, c; "
            "wilson_cowan: tau, mu; fitzhugh_nagumo: a, b, epsilon, current, k; michaelis_menten: h. "
            "The paper's tables for mutualistic used e=0.1 and h=0.9. Default: those of ndcn.laws, for the first three "
            "the paper's.",
            show_default=False,
        ),
    ] = None,
    order: Annotated[
        Order, typer.Option(help="Order of the nodes: by community (louvain is the fast one), or as drawn.")
    ] = Order.modularity,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the network, of the times and of random states.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder to write; ndcn data that is there is replaced.")] = Path("data"),
    as_json: Json = False,
) -> None:
    """Simulate a known law on a network and keep snapshots of it.

    The initial state is the paper's, three warm blocks on the square layout of the nodes, for heat, mutualistic, gene,
    wilson_cowan and michaelis_menten; a random one that suits the law for the others.

    Example: ndcn simulate --law gene --network power_law --nodes 200 --out data
    """
    check_data_output(out)
    import ndcn

    rule = _law(law.value, param or [])
    last = time if time is not None else _last_time(law.value, network.value)
    if sampling is Sampling.irregular:
        times = ndcn.sampling.irregular_times(last, snapshots, ticks=max(1000, 10 * snapshots), seed=seed)
    else:
        times = ndcn.sampling.regular_times(last, snapshots)
    graph = _network(network.value, nodes, seed, order)
    data = ndcn.simulate(rule, graph, rule.initial_state(graph, seed=seed), times)
    data.save(out)
    if as_json:
        print_json(
            {
                "out": str(out),
                "law": law.value,
                "parameters": {name: value.item() for name, value in rule.named_buffers()},
                "network": network.value,
                "nodes": graph.num_nodes,
                "edges": graph.num_edges,
                "snapshots": len(data),
                "time": last,
                "seed": seed,
            }
        )
    else:
        typer.echo(f"{law.value} on {network.value}: {data!r}, {graph.num_edges} edges\nwritten to {out}")


def _last_time(law: str, network: str) -> float:
    return HEAT_TIMES[network] if law == "heat" else LAST_TIMES.get(law, 5.0)


def _law(name: str, settings: list[str]) -> Law:
    from .._support.registries import LAWS as NAMED

    values: dict[str, float] = {}
    known = [parameter for parameter, _ in NAMED[name]().named_buffers()]
    for setting in settings:
        parameter, _, text = setting.partition("=")
        if parameter not in known:
            raise ValueError(f"unknown parameter {parameter!r} of {name}; known are {', '.join(known)}")
        try:
            values[parameter] = float(text)
        except ValueError:
            raise ValueError(f"--param {setting}: write a parameter as name=number, for example e=0.1") from None
    return NAMED[name](**values)


def _network(name: str, nodes: int, seed: int, order: Order) -> Graph:
    from .._support.registries import NETWORKS as NAMED

    if name == "grid":
        return NAMED[name](nodes)
    return NAMED[name](nodes, seed=seed, order=None if order is Order.none else order.value)
