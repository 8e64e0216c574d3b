"""``ndcn simulate``: data from a known law on a generated network."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from .._support.registries import LAWS, NETWORKS
from . import parts
from .options import Json, LawName, NetworkName, Order, Sampling, check_data_output, option, print_json

if TYPE_CHECKING:
    from ..laws import Law

LAST_TIME = 5.0
# Heat diffusion has equalised by then: the paper's last times. FitzHugh-Nagumo neurons oscillate slowly.
HEAT_TIMES = {"random": 0.1, "power_law": 0.75, "small_world": 2.0, "community": 0.2}
LAST_TIMES = {"fitzhugh_nagumo": 100.0}
TIME_HELP = (
    f"Last time T, in the law's own unit of time. Default: {LAST_TIME:g}, but "
    + ", ".join(f"heat on {network} {time:g}" for network, time in HEAT_TIMES.items())
    + "".join(f", {law} {time:g}" for law, time in LAST_TIMES.items())
    + "."
)
NODES = 400
DATA = (
    "A network that `ndcn partition` cut, in place of a generated one: each of its processes simulates its nodes and writes a Parquet "
    "file of them. Start it by torchrun."
)
PARAM_HELP = (
    "A parameter of the law, repeatable. Default: those of ndcn.laws, for heat, mutualistic and gene the paper's. "
    "The paper's tables for mutualistic used e=0.1 and h=0.9. Parameters are"
)


class NamesParameters(TyperCommand):
    """A command whose help of ``--param`` names the parameters of each law, read only when the help is shown."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, completed."""
        names = "; ".join(f"{law}: {', '.join(_written_parameters(law))}" for law in LAWS)
        for parameter in self.params:
            if parameter.name == "param":
                parameter.help = f"{PARAM_HELP} {names}."  # type: ignore[attr-defined]  # an option, which has a help
        super().format_help(ctx, formatter)


def simulate(
    law: Annotated[LawName, option("The law of the dynamics.")] = LawName.heat,
    network: Annotated[NetworkName, option("The network generator.")] = NetworkName.grid,
    nodes: Annotated[int, option("Number of nodes.", min=1)] = NODES,
    time: Annotated[float | None, option(TIME_HELP)] = None,
    snapshots: Annotated[int, option("Number of snapshots.", min=2)] = 120,
    sampling: Annotated[Sampling, option("Times drawn at random from [0, T], or equally spaced.")] = Sampling.irregular,
    param: Annotated[list[str] | None, option(PARAM_HELP, metavar="NAME=NUMBER")] = None,
    order: Annotated[
        Order,
        option(
            "Node order: by community (louvain is faster), or as generated; auto is modularity up to 2000 nodes, then none."
        ),
    ] = Order.auto,
    seed: Annotated[int, option("Seed of the network, of the times and of random states.", min=0)] = 0,
    data: Annotated[Path | None, option(DATA)] = None,
    out: Annotated[Path, option("Output folder; ndcn data in it is replaced.")] = Path("data"),
    as_json: Json = False,
) -> None:
    """Simulate a known law on a network and save snapshots.

    The initial state is the paper's, three warm blocks on the square layout of the nodes, for heat, mutualistic, gene,
    wilson_cowan and michaelis_menten. For the other laws it is random.

    Example: ndcn simulate --law gene --network power_law --nodes 200 --out data
    """
    if data is None:
        check_data_output(out)
    elif not parts.is_parts(data):
        raise ValueError(f"--data {data}: simulate takes a network that `ndcn partition` cut; drop it to generate one")
    elif network is not NetworkName.grid or nodes != NODES or order is not Order.auto:
        raise ValueError("--data names the network; remove --network, --nodes and --order")
    import ndcn

    rule = _law(law.value, param or [])
    usual = HEAT_TIMES.get(network.value) if law is LawName.heat else LAST_TIMES.get(law.value)
    last = time if time is not None else usual or LAST_TIME
    if sampling is Sampling.irregular:
        times = ndcn.sampling.irregular_times(last, snapshots, ticks=max(1000, 10 * snapshots), seed=seed)
    else:
        times = ndcn.sampling.regular_times(last, snapshots)
    if data is not None:
        facts = {"out": str(out), "law": law.value, **parts.simulated(rule, data, times, seed, out)}
        _say_parts(facts, as_json)
        return
    grown = {} if network is NetworkName.grid else {"seed": seed, "order": None if order is Order.none else order.value}
    graph = NETWORKS[network.value](nodes, **grown)
    made = ndcn.simulate(rule, graph, rule.initial_state(graph, seed=seed), times)
    made.save(out)
    if as_json:
        parameters = {name: value.item() for name, value in rule.named_buffers()}
        size = {"nodes": graph.num_nodes, "edges": graph.num_edges, "snapshots": len(made), "time": last, "seed": seed}
        print_json({"out": str(out), "law": law.value, "parameters": parameters, "network": network.value, **size})
    else:
        typer.echo(f"{law.value} on {network.value}: {made!r}, {graph.num_edges} edges\nwritten to {out}")


def _say_parts(facts: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(facts)
    else:
        size = f"{facts['nodes']} nodes in {facts['parts']} parts, {facts['snapshots']} snapshots"
        typer.echo(f"{facts['law']}: {size}\nwritten to {facts['out']}")


def _written_parameters(law: str) -> list[str]:
    """The parameters of a law as its source has them: importing the law would load torch, for seconds."""
    module, _, name = LAWS.place(law).partition(":")
    if not module.startswith("ndcn."):
        return _parameters(law)
    source = Path(__file__).parents[2].joinpath(*module.split(".")).with_suffix(".py").read_text(encoding="utf-8")
    (written,) = (node for node in ast.parse(source).body if isinstance(node, ast.ClassDef) and node.name == name)
    init = next(node for node in written.body if isinstance(node, ast.FunctionDef) and node.name == "__init__")
    return [argument.arg for argument in (*init.args.args[1:], *init.args.kwonlyargs)]


def _parameters(law: str) -> list[str]:
    return [name for name, _ in LAWS[law]().named_buffers()]


def _law(name: str, settings: list[str]) -> Law:
    values: dict[str, float] = {}
    known = _parameters(name)
    for setting in settings:
        parameter, _, text = setting.partition("=")
        if parameter not in known:
            raise ValueError(f"unknown parameter {parameter!r} of {name}; known are {', '.join(known)}")
        try:
            values[parameter] = float(text)
        except ValueError:
            raise ValueError(f"--param {setting}: write a parameter as name=number, for example e=0.1") from None
    return LAWS[name](**values)
