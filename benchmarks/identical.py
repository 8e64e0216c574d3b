"""Are the results of seeded fits bit for bit what they were? Run it before and after a change that must not move a number.

    python benchmarks/identical.py --write   # keep the results of this code in benchmarks/results/identical.json
    python benchmarks/identical.py           # compare this code with them; exit 1 if a case differs
    python benchmarks/identical.py ndcn auto # some cases only

The last bits depend on processor, torch and compiler, so a comparison holds on the machine that wrote the file. Beside each
digest stand a few numbers, which show whether a difference is in the last bits or in the answer.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

import ndcn

FILE = Path(__file__).parent / "results" / "identical.json"
Values = dict[str, Any]
CASES: dict[str, Callable[[], Values]] = {}


def case(make: Callable[[], Values]) -> Callable[[], Values]:
    CASES[make.__name__] = make
    return make


def data_of(law: Any, graph: Any = None, *, count: int = 40, T: float = 3.0, noise: float = 0.0, x0: Any = None) -> Any:
    graph = ndcn.networks.grid(49) if graph is None else graph
    times = ndcn.sampling.irregular_times(T, count=count, seed=0)
    data = ndcn.simulate(law, graph, ndcn.laws.initial_state(graph) if x0 is None else x0, times)
    if not noise:
        return data
    generator = torch.Generator().manual_seed(0)
    states = data.states * (1 + noise * torch.randn(data.states.shape, generator=generator))
    return ndcn.Trajectory(times=data.times, states=states, graph=graph, features=data.features)


def regular(count: int = 30) -> Any:
    graph = ndcn.networks.grid(36)
    x0 = ndcn.laws.initial_state(graph)
    return ndcn.simulate(ndcn.laws.Heat(), graph, x0, ndcn.sampling.regular_times(3.0, count))


def learned(reg: Any, times: Any, spread: bool = False) -> Values:
    """What a regressor answers, before and after its file."""
    values: Values = {"prediction": reg.predict(times).states, "loss": reg.history_.loss}
    for name, value in reg.model_.state_dict().items():
        values[f"weight.{name}"] = value
    if spread:
        values["std"] = reg.predict(times, return_std=True)[1].states
        values["lower"], values["upper"] = (part.states for part in reg.intervals(times, 0.9))
    with tempfile.TemporaryDirectory() as folder:
        reg.save(f"{folder}/model.ndcn")
        try:
            again = ndcn.load(f"{folder}/model.ndcn")
        except ValueError:  # a module of one's own
            return values
    values["from_file"] = again.predict(times).states
    return values


def trained(model: Any, data: Any, times: Any = (0.1, 1.0, 2.9, 4.0), **given: Any) -> Values:
    return learned(ndcn.DynamicsRegressor(model, seed=3, **given).fit(data), list(times), given.get("ensemble", 1) > 1)


@case
def simulate() -> Values:
    graph = ndcn.networks.power_law(60, seed=1)
    laws = [ndcn.laws.Heat(), ndcn.laws.Gene(), ndcn.laws.Mutualistic()]
    return {type(law).__name__: data_of(law, graph).states for law in laws}


@case
def ndcn_default() -> Values:
    return trained("ndcn", data_of(ndcn.laws.Heat()), epochs=60)


@case
def ndcn_paper() -> Values:
    return trained("ndcn", data_of(ndcn.laws.Gene()), epochs=30, preset="paper")


@case
def ndcn_validated() -> Values:
    data = data_of(ndcn.laws.Heat())
    objective = ndcn.Objective("huber", terminal="l2", time_weights="gaps")
    return trained(
        "ndcn", data, epochs=80, validation=0.2, patience=20, clip_norm=1.0, objective=objective, knots=[0.0, 1.0, 3.0]
    )


@case
def ndcn_dopri5() -> Values:
    solver = ndcn.Solver("dopri5", gradient="checkpoint")
    return trained("ndcn", data_of(ndcn.laws.Heat()), epochs=10, solver=solver, dtype="float64", activation="tanh")


@case
def ndcn_ensemble() -> Values:
    return trained("ndcn", data_of(ndcn.laws.Heat()), epochs=20, ensemble=3)


@case
def ablations() -> Values:
    data = data_of(ndcn.laws.Mutualistic())
    every = {name: trained(name, data, epochs=30) for name in ("no_encode", "no_graph", "no_control")}
    return {f"{name}.{key}": value for name, values in every.items() for key, value in values.items()}


@case
def temporal_gnns() -> Values:
    data, step = regular(), 3.0 / 29
    times = [step * k for k in (5, 29, 31, 40)]
    names = ("residual_gnn", "rnn_gnn", "gru_gnn", "lstm_gnn")
    every = {name: trained(name, data, times, epochs=30) for name in names}
    return {f"{name}.{key}": value for name, values in every.items() for key, value in values.items()}


@case
def temporal_gnn_validated() -> Values:
    step = 3.0 / 29
    return trained("gru_gnn", regular(), [step * k for k in (29, 33)], epochs=30, validation=0.2, patience=20)


@case
def curves() -> Values:
    every = {name: trained(name, data_of(ndcn.laws.Heat())) for name in ("persistence", "linear", "spline")}
    return {f"{name}.{key}": value for name, values in every.items() for key, value in values.items()}


class _Conduction(ndcn.Field):
    def __init__(self) -> None:
        super().__init__()
        self.k = torch.nn.Parameter(torch.tensor(0.1))

    def forward(self, t: torch.Tensor, x: torch.Tensor, graph: Any) -> torch.Tensor:
        return -self.k * (ndcn.operators.laplacian(graph) @ x)


@case
def own_modules() -> Values:
    data = data_of(ndcn.laws.Heat())
    identity = torch.nn.Identity()
    model = ndcn.GraphODE(identity, _Conduction(), identity, ndcn.Solver("dopri5"))
    alone = trained(model, data, epochs=20, learning_rate=0.05)
    field = trained(_Conduction(), data, epochs=20, solver=ndcn.Solver("rk4", step_size=0.05))
    return {**{f"module.{k}": v for k, v in alone.items()}, **{f"field.{k}": v for k, v in field.items()}}


def law_of(reg: Any, times: Any = (0.1, 1.0, 2.9, 4.0)) -> Values:
    functions = reg.functions(12)
    values = learned(reg, list(times), spread=True)
    values["states_f"] = {k: v for k, v in vars(functions).items() if isinstance(v, (torch.Tensor, np.ndarray))}
    form = reg.evidence_.form
    values["text"] = f"{form}\n{reg.equations() if form != 'free' else ''}\n{reg.evidence_.reason}"
    return values


@case
def interaction_clean() -> Values:
    out: Values = {}
    for law in (ndcn.laws.Heat(), ndcn.laws.Gene(), ndcn.laws.Mutualistic()):
        reg = ndcn.DynamicsRegressor(model="interaction", seed=0).fit(data_of(law))
        out |= {f"{type(law).__name__}.{key}": value for key, value in law_of(reg).items()}
    return out


@case
def interaction_noisy() -> Values:
    data = data_of(ndcn.laws.Gene(), ndcn.networks.power_law(49, seed=0), noise=0.05)
    return law_of(ndcn.DynamicsRegressor(model="interaction", seed=0).fit(data))


@case
def interaction_masked() -> Values:
    data = data_of(ndcn.laws.Heat())
    mask = torch.rand(data.states.shape, generator=torch.Generator().manual_seed(1)) > 0.3
    seen = ndcn.Trajectory(times=data.times, states=data.states, graph=data.graph, mask=mask)
    return law_of(ndcn.DynamicsRegressor(model="interaction", seed=0).fit(seen))


@case
def free_form() -> Values:
    return law_of(ndcn.DynamicsRegressor(model="free_form", seed=0).fit(data_of(ndcn.laws.Heat())))


@case
def free_form_noisy() -> Values:
    return law_of(ndcn.DynamicsRegressor(model="free_form", seed=0).fit(data_of(ndcn.laws.Heat(), noise=0.02)))


@case
def two_features() -> Values:
    graph = ndcn.networks.grid(25)
    x0 = torch.rand(25, 2, generator=torch.Generator().manual_seed(2))
    data = data_of(ndcn.laws.FitzHughNagumo(), graph, x0=x0, count=60, T=6.0)
    return law_of(ndcn.DynamicsRegressor(model="interaction", seed=0).fit(data), (0.5, 3.0))


@case
def known_law() -> Values:
    reg = ndcn.DynamicsRegressor(model=ndcn.laws.Gene(b=None), seed=0).fit(data_of(ndcn.laws.Gene(b=1.3), noise=0.02))
    return {"prediction": reg.predict([1.0, 4.0]).states, "text": str(reg.equations()), "loss": reg.history_.loss}


@case
def law_by_node() -> Values:
    graph = ndcn.networks.grid(16)
    omega = torch.linspace(0.5, 1.5, 16)
    data = data_of(ndcn.laws.Kuramoto(omega=omega), graph, count=30)
    reg = ndcn.DynamicsRegressor(model=ndcn.laws.Kuramoto(omega=ndcn.laws.per_node), seed=0).fit(data)
    times = [1.0, 4.0]
    return {
        "prediction": reg.predict(times).states,
        "std": reg.predict(times, return_std=True)[1].states,
        "text": str(reg.equations()),
    }


@case
def corrected_law() -> Values:
    data = data_of(ndcn.laws.Gene())
    model = ndcn.Interaction(known=ndcn.laws.Heat(0.1))
    return law_of(ndcn.DynamicsRegressor(model=model, seed=0).fit(data))


def epidemic() -> Any:
    rng = np.random.default_rng(0)
    rate = 0.15 * np.exp(-np.arange(60) / 25)[:, None] * rng.uniform(0.8, 1.2, 16)
    totals = np.round(20 * np.exp(np.cumsum(rate + 0.02 * rng.standard_normal((60, 16)), axis=0)))
    totals = np.maximum.accumulate(totals, axis=0)
    return ndcn.Trajectory(times=np.arange(60.0), states=totals, graph=ndcn.networks.grid(16))


@case
def auto() -> Values:
    reg = ndcn.DynamicsRegressor(model="auto", seed=0).fit(epidemic())
    times = [60.0, 63.0, 66.0]
    values = learned(reg, times, spread=True)
    return values | {"text": f"{reg.forecast_.sentence}\n{reg.forecast_.table}"}


@case
def network_test() -> Values:
    found = ndcn.forecast.network_test(epidemic(), shuffles=19, seed=0)
    return {"text": str(found)}


@case
def classifier() -> Values:
    data = ndcn.datasets.karate_club()
    val = torch.zeros_like(data.train_mask)
    val[data.test_mask.nonzero().flatten()[::3]] = True
    out: Values = {}
    for name, given, mask in (
        ("default", {"epochs": 60}, None),
        ("validated", {"epochs": 80, "patience": 20}, val),
        ("paper", {"preset": "paper", "epochs": 40}, None),
        ("relu", {"field": "relu", "epochs": 20, "learn_alpha": True}, val),
        ("learn_T", {"epochs": 30, "learn_T": True, "learn_alpha": True}, val),
    ):
        clf = ndcn.NodeClassifier(seed=1, **given).fit(data.graph, data.features, data.labels, data.train_mask, mask)
        out |= {f"{name}.p": clf.predict_proba(), f"{name}.loss": clf.history_.loss}
        out |= {f"{name}.{k}": v for k, v in clf.model_.state_dict().items()}
        out[f"{name}.validation"] = clf.history_.validation
    return out


@case
def node_baselines() -> Values:
    data = ndcn.datasets.karate_club()
    val = torch.zeros_like(data.train_mask)
    val[data.test_mask.nonzero().flatten()[::3]] = True
    out: Values = {}
    for name, given in (("mlp", {"epochs": 60, "patience": 15}), ("mlp", {"epochs": 30}), ("label_propagation", {})):
        base = ndcn.NodeBaseline(name, seed=2, **given).fit(
            data.graph, data.features, data.labels, data.train_mask, val
        )
        key = f"{name}.{len(given)}"
        out |= {f"{key}.p": base.predict_proba(), f"{key}.loss": base.history_.loss}
    return out


def flat(values: Any) -> bytes:
    if isinstance(values, torch.Tensor):
        values = values.detach().cpu().contiguous().numpy()
    if isinstance(values, np.ndarray):
        return f"{values.dtype} {values.shape} ".encode() + values.tobytes()
    if isinstance(values, dict):
        return b"".join(str(name).encode() + flat(value) for name, value in sorted(values.items()))
    if isinstance(values, (list, tuple)):
        return flat(np.array(values, dtype=np.float64))
    return str(values).encode()


def shown(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        value = value.detach().double().cpu().numpy()
    if isinstance(value, (list, tuple)):
        value = np.array(value, dtype=np.float64)
    if isinstance(value, np.ndarray):
        return [float(x) for x in (*value.reshape(-1)[:2], *value.reshape(-1)[-2:])] if value.size else []
    return value if isinstance(value, str) else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", choices=[*CASES, []], help="all by default")
    parser.add_argument("--write", action="store_true", help="keep the results instead of comparing them")
    options = parser.parse_args()
    torch.set_num_threads(1)
    kept: dict[str, Any] = json.loads(FILE.read_text()) if FILE.exists() else {}
    wrong = 0
    for name in options.cases or list(CASES):
        began = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            values = CASES[name]()
        now = {key: [hashlib.sha256(flat(v)).hexdigest()[:16], shown(v)] for key, v in values.items()}
        seconds = time.process_time() - began
        if options.write:
            kept[name] = now
            FILE.write_text(json.dumps(kept, indent=1) + "\n")
            print(f"{name}: {len(now)} values kept, {seconds:.1f} s", flush=True)
            continue
        before = kept.get(name, {})
        differ = [key for key in {**before, **now} if before.get(key, [None])[0] != now.get(key, [None])[0]]
        wrong += bool(differ)
        print(f"{name}: {'identical' if not differ else 'DIFFERS'}, {len(now)} values, {seconds:.1f} s", flush=True)
        for key in differ[:8]:
            print(f"  {key}\n    was {before.get(key)}\n    is  {now.get(key)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
