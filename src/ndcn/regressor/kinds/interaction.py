"""Laws that are identified: dx_i/dt = f(x_i) + sum_j A_ij g(x_i, x_j), as a formula or as splines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import torch

from ..._support.warn import warn
from ...data import Trajectory, time_text
from ...identify import Evidence, FoundLaw, Interaction, discover
from ...laws import (
    ClosedForm,
    Corrected,
    DrivenForm,
    DrivenNodeForm,
    FreeForm,
    Law,
    LawODE,
    NodeClosedForm,
    NodeFreeForm,
    TimedForm,
    described,
    law_from,
)
from ...training import History
from ..initial import InitialCondition
from ..kind import Can, Data, Fitted, Kind, State, Stored, TrainingData, untrained
from ..query import Prediction, Query
from ..settings import Settings
from ..stored_checks import check_law
from .found_network import NetworkSamples, on_network, on_one_law, with_networks
from .learned_law import LearnedLaw
from .node_law import learned_law

# by a key of their descriptions
LAWS: dict[str, type[ClosedForm | Corrected | FreeForm | NodeClosedForm | NodeFreeForm]] = {
    "correction": Corrected,
    "driven_nodes": DrivenNodeForm,
    "knots": FreeForm,
    "node_shape": NodeFreeForm,
    "node_values": NodeClosedForm,
    "inputs": DrivenForm,
    "clock": TimedForm,
}


class FittedLaw(Fitted):
    """A law with its errors, integrated from any initial condition on any graph."""

    law: LearnedLaw

    def __init__(self, can: Can, initial: list[InitialCondition], history: History, law: LearnedLaw) -> None:
        super().__init__(can, initial, [history], modules=[LawODE(law.law)])
        self.law = law
        self.takes = law.law.inputs

    def predict(self, query: Query, *, spread: bool) -> Prediction:
        """The trajectory of the law; its spread is that of trajectories of posterior samples."""
        law, last = self.law.law, float(self.initial[0].times.max())
        if isinstance(law, TimedForm) and "trend" in law.kinds and float(query.times.max()) > last:
            warn(
                f"the law has a linear trend in time, which is continued after the last snapshot ({time_text(last, query.calendar)}): "
                "the data do not tell whether it goes on, trust it less the further it goes"
            )
        return self.law.predict(query, self.initial[0].features, spread)

    def state(self) -> State:
        """The law as text and numbers, its evidence, and posterior samples."""
        about = {"form": self.law.description(), "evidence": asdict(self.law.evidence)}
        return {"law": about, "model_class": LawODE.__qualname__}, self.law.tensors() | untrained()

    def facts(self) -> dict[str, Any]:
        """Form, equation and reason of the law."""
        evidence = self.law.evidence
        equation = str(self.law.equations()) if evidence.form == "closed" else None
        return {"law": {"form": evidence.form, "equation": equation, "reason": evidence.reason}}

    def summary(self) -> str:
        """The equation, and why it was chosen."""
        law = self.facts()["law"]
        return f"{law['equation'] or 'f and g are smooth functions without a formula'}\n{law['reason']}"


class IdentifiedLaw(Kind):
    """A law that is found in data; ``form`` is "auto", "closed" or "free", see ``Interaction``."""

    can = Can(spread=True, law=True, inputs=True)

    def __init__(self, name: str, form: str) -> None:
        self.name, self.form = name, form
        self.can = replace(self.can, in_parts=form != "free")

    def accepts(self, model: object) -> bool:
        """Options of the search."""
        return isinstance(model, Interaction)

    def prepared(self, data: Data, model: object) -> Data:
        """The data on the network that was found, where one was."""
        network = model.network if isinstance(model, Interaction) else None
        return data if network is None else on_network(data, network)

    def fit(self, data: TrainingData, settings: Settings) -> FittedLaw:
        """Find it."""
        options = settings.model if self.accepts(settings.model) else Interaction(self.form)
        options = options if options.network is None else on_one_law(options)
        found, networks = discover(data.trajectories, options, settings.seed), None
        if options.network is not None:
            found, networks = with_networks(found, options.network, settings.seed)
        initial = with_states(data.trajectories, found.initial_states)
        if found.drivers is not None:
            initial = [replace(one, inputs=inputs) for one, inputs in zip(initial, found.drivers, strict=True)]
        return FittedLaw(self.can, initial, History(seconds=found.seconds), learned_law(found, networks))

    def configured(self, options: Mapping[str, Any]) -> Any:
        """Its name, or options with a time limit."""
        rest = {name: value for name, value in options.items() if name != "seconds"}
        plain = super().configured(rest)
        return plain if rest == options else Interaction(self.form, seconds=options["seconds"])

    def words(self, model: object) -> list[str] | None:
        """Its name, and the time limit if there is nothing else to say; None on a network that was found."""
        if isinstance(model, Interaction) and model.network is not None:
            return None
        if not isinstance(model, Interaction) or model != Interaction(model.form, seconds=model.seconds):
            return super().words(model)
        name = {"auto": "interaction", "closed": "closed_form", "free": "free_form"}[model.form]
        return ["--model", name, *([] if model.seconds is None else ["--seconds", f"{model.seconds:g}"])]

    def restore(self, stored: Stored, settings: Settings) -> FittedLaw:
        """The law of a file, without running anything in it."""
        if stored.about.get("law") is None:
            raise ValueError("a law is found by fit, and there is none")
        form = stored.about["law"]["form"]
        kind = next((law for key, law in LAWS.items() if key in form), ClosedForm)
        found = stored_law(kind.from_description(form), stored)
        networks = NetworkSamples.restored(stored.tensors, stored.initial[0].graph, len(found.posterior_samples))
        return fitted_law(self.can, learned_law(found, networks), stored)

    def plain(self, model: object) -> Any:
        """Options as JSON can hold them."""
        if not isinstance(model, Interaction):
            return model
        known = {} if model.known is None else {"known": described(model.known)}
        limit = {} if model.seconds is None else {"seconds": model.seconds}
        nodes = {} if model.nodes == "auto" else {"nodes": model.nodes}
        return {"form": model.form, "terms": model.terms, "without": model.without, **known, **limit, **nodes}

    def from_plain(self, plain: Any) -> Interaction:
        """Options again."""
        return Interaction(**{**plain, "known": law_from(plain["known"])} if "known" in plain else plain)


def with_states(trajectories: list[Trajectory], states: list[torch.Tensor]) -> list[InitialCondition]:
    """Initial conditions with the initial states that were estimated."""
    initial = [InitialCondition.of(trajectory) for trajectory in trajectories]
    both = zip(initial, states, strict=True)
    return [replace(one, x0=x.to(one.x0.dtype), observed=one.x0) for one, x in both]


def stored_law(law: Law, stored: Stored) -> FoundLaw:
    """A law with the errors and the evidence that a file holds."""
    tensors, initial = stored.tensors, [one.x0 for one in stored.initial]
    names = [f"law.start_draws.{k}" for k in range(len(initial))]
    initial_samples = [tensors[name] for name in names if name in tensors] or None
    check_law(tensors, *_counts(law, stored.about["law"]["form"]), initial)
    kept = stored.about["law"]["evidence"]
    evidence = Evidence(**{**kept, "noise": tuple(kept["noise"])})
    covariance, samples, states = (tensors[f"law.{name}"] for name in ("covariance", "draws", "states"))
    errors = tensors.get("law.errors", covariance.diagonal().clamp(min=0).sqrt())
    return FoundLaw(law, covariance, errors, samples, initial, initial_samples, evidence, states)


def _counts(law: Law, form: Mapping[str, Any]) -> tuple[int, int]:
    """How many parameters a law was found with: those in common, whose covariance is known, and all."""
    if "names" in form and "estimated" in form:  # a known law
        common, nodes = form["names"]
        return len(common), len(common) + sum(getattr(law, name).numel() for name in nodes)
    if isinstance(law, NodeFreeForm):
        return law.mean.coefficients.numel(), law.mean.coefficients.numel() + law.node_values.numel()
    if isinstance(law, NodeClosedForm):
        common = len(law.equation.parameters) + len(law.relations)
        return common, common + law.node_values.numel()
    learned = law.correction if isinstance(law, Corrected) else law
    count = sum(numbers.numel() for numbers in learned.buffers())
    return count, count


def fitted_law(can: Can, law: LearnedLaw, stored: Stored) -> FittedLaw:
    """A law of a file, ready to be asked."""
    return FittedLaw(can, stored.initial, History([], [], **stored.about["histories"][0]), law)


INTERACTION = IdentifiedLaw("interaction", "auto")
CLOSED_FORM = IdentifiedLaw("closed_form", "closed")
FREE_FORM = IdentifiedLaw("free_form", "free")
