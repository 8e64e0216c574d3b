"""Kind and Fitted: a kind of model, and what was learned of it.

A kind is one file in ``kinds/`` and one line in ``_support/registries.py``. Everybody else asks what it can do, never
which it is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from ..data import Calendar, Dataset, TimeGrid, Trajectory, common_grid, time_text
from ..graph import Graph, GraphSequence
from ..training import RAW, History, Recipe, Units
from .initial import InitialCondition
from .query import Prediction, Query, query_of

if TYPE_CHECKING:
    from ..forecast import Forecast, LawChoice
    from .kinds.learned_law import LearnedLaw
    from .settings import Settings

Data = Trajectory | Dataset | Sequence[Trajectory]
State = tuple[dict[str, Any], dict[str, torch.Tensor]]


def untrained() -> dict[str, torch.Tensor]:
    """The history of a model without epochs, as files hold it."""
    return {"loss.0": torch.zeros(0, dtype=torch.float64), "validation.0": torch.zeros(0, 2, dtype=torch.float64)}


@dataclass(frozen=True)
class Can:
    """What a model can do."""

    any_time: bool = True  # predicts at any time, not only on a grid of equal steps (`Fitted.step`)
    any_start: bool = True  # starts from any state
    any_graph: bool = True  # runs on any graph
    history: bool = False  # continues from all training snapshots where no initial state is given
    spread: bool = False  # knows the standard deviation of its predictions
    law: bool = False  # has a law that can be read
    resume: bool = False  # keeps checkpoints from which a fit continues
    ensemble: bool = False  # several members can be trained from several seeds
    in_parts: bool = False  # can be trained by several processes that share one network
    inputs: bool = False  # learns what inputs do
    judges_itself: bool = False  # is judged by its own past forecasts, so that no snapshots are held out


@dataclass(frozen=True)
class TrainingData:
    """What was given to ``fit``, and the trajectories in it, cut where the graph changes."""

    given: Data
    trajectories: list[Trajectory]


@dataclass(frozen=True)
class Ahead:
    """start + k step, k = 1, ..., steps: the only times that a forecast is made for."""

    start: float
    step: float
    steps: int

    @property
    def times(self) -> list[float]:
        """All of them, without the rounding of repeated sums."""
        return [float(f"{self.start + k * self.step:.12g}") for k in range(1, self.steps + 1)]

    def check(self, asked: torch.Tensor, calendar: Calendar | None) -> None:
        """Refuse times before the last snapshot and after the last step, in the words of the data."""
        near, last = 1e-6 * self.step, self.times[-1]
        outside = asked[(asked < self.start - near) | (asked > last + near)]
        if not len(outside):
            return
        bad, begin, end = (time_text(t, calendar) for t in (outside[0].item(), self.times[0], last))
        unit = "" if calendar is None else f" {calendar.unit}{'s' * (self.step != 1)}"
        steps = f"from {begin} to {end.removeprefix('t = ')} ({self.steps} steps of {self.step:g}{unit})"
        if outside[0] < self.start:
            raise ValueError(
                f"a forecast begins only after the last snapshot, {steps}, but {bad} was asked for; "
                'a model of dynamics, as model="ndcn" or "interaction", predicts there too'
            )
        raise ValueError(f"this forecast goes {steps}, but {bad} was asked for; fit with a longer horizon")


@dataclass(frozen=True)
class Stored:
    """What a file holds: plain values and tensors as ``Fitted.state`` gave them, and initial conditions."""

    about: Mapping[str, Any]
    tensors: Mapping[str, torch.Tensor]
    initial: list[InitialCondition]


class Fitted(ABC):
    """What was learned: it answers queries, and goes into files.

    Attributes:
        can: what it can do.
        initial: initial conditions of the training trajectories.
        histories: what happened in training, one for each member of an ensemble.
        modules: trained modules, one for each member; an empty one where nothing was trained.
        units: between the data's units and the model's own.
        step: time between the only times it knows, unless ``can.any_time``; that of the training times by default.
        ahead: the only times it predicts, if it is a forecast, which says nothing about the past; at ``ahead.start`` it
            repeats the last state. None for models that predict the training window too.
        caption: how its predictions are to be read, where `ndcn predict` says so.
        level: of the intervals that are shown unasked; None shows none.
        recent: the last snapshots, of a forecast, for pictures; None where they are not kept.
        law: with its errors, where ``can.law``.
        forecast: where it is one.
        choice: of "auto", whether a law or a forecast was taken, and why.
        calendar: what times mean, for messages; None where they are numbers.
        takes: names of the inputs that its predictions need.
    """

    step: float | None = None
    ahead: Ahead | None = None
    caption: str | None = None
    level: float | None = None
    recent: Trajectory | None = None
    law: LearnedLaw | None = None
    forecast: Forecast | None = None
    choice: LawChoice | None = None
    calendar: Calendar | None = None
    takes: tuple[str, ...] = ()

    def __init__(
        self,
        can: Can,
        initial: list[InitialCondition],
        histories: list[History] | None = None,
        *,
        modules: Sequence[nn.Module] = (),
        units: Units | None = None,
        step: float | None = None,
    ) -> None:
        self.can = can
        self.initial = initial
        self.histories = [History()] if histories is None else histories
        self.modules = list(modules) or [nn.Module()]
        self.units = Units.identity(initial[0].x0.shape[1]) if units is None else units
        if not can.any_time:
            self.step = common_grid([one.times for one in initial], "this model").step if step is None else step

    @abstractmethod
    def predict(self, query: Query, *, spread: bool) -> Prediction:
        """The answer to a query on one graph; with its standard deviation if ``spread``, which only those asked can do."""

    @abstractmethod
    def state(self) -> State:
        """What its file holds: plain values for JSON, and tensors."""

    def query(
        self, times: Any, graph: Graph | GraphSequence | None, x0: Any, t0: float | None, graphs: GraphSequence | None
    ) -> Query:
        """A query in the data's units, or an error that says what is wrong with it."""
        another = isinstance(graph, (Graph, GraphSequence)) and graph != self.initial[0].graph
        if (another or x0 is not None) and not (self.can.any_start and self.can.any_graph):
            raise ValueError(self.stays)
        changes = graphs if graphs is not None and len(graphs) > 1 and self.can.any_graph else None
        return query_of(self.initial[0], times, graph, x0, t0, changes, self.calendar)

    def checked_query(
        self, times: Any, graph: Graph | GraphSequence | None, x0: Any, t0: float | None, graphs: GraphSequence | None
    ) -> Query:
        """``query``, or an error that names times which are none of a forecast's, or are between two equal steps."""
        query = self.query(times, graph, x0, t0, graphs)
        if self.ahead is not None:
            self.ahead.check(query.times, self.calendar)
        if not self.can.any_time:
            assert self.step is not None
            TimeGrid(query.t0, self.step, self.calendar).index(query.times)
        return query

    @property
    def steps(self) -> Ahead | None:
        """Times that are predicted where none are asked for, ``ahead`` by default; None stands for the training times."""
        return self.ahead

    @property
    def stays(self) -> str:
        """Why it cannot start elsewhere, for messages."""
        return "this model continues from its training data: it takes no x0 and no other graph"

    def facts(self) -> dict[str, Any]:
        """What `ndcn fit --json` tells of it besides losses."""
        return {"law": None}

    def summary(self) -> str | None:
        """What `ndcn fit` prints of it in place of the training loss."""
        return None

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user has to know about the fit."""
        return ()


class Kind(ABC):
    """A kind of model.

    Attributes:
        name: by which it is asked for.
        can: what it can do.
        uses: arguments of ``DynamicsRegressor`` that it uses; others raise ValueError.
        recipes: presets of its training.
        width: features of its hidden state by default.
    """

    name: str
    can: Can
    uses: frozenset[str] = frozenset()
    recipes: Mapping[str, Recipe] = {"default": RAW}  # never changed
    width: int = 1

    @abstractmethod
    def fit(self, data: TrainingData, settings: Settings) -> Fitted:
        """Learn from data.

        Raises:
            ValueError: the data cannot be learned from.
            TrainingError: training failed; its ``fitted`` has the last good weights.
        """

    @abstractmethod
    def restore(self, stored: Stored, settings: Settings) -> Fitted:
        """What ``Fitted.state`` wrote, read again."""

    def prepared(self, data: Data, model: object) -> Data:
        """The data that ``model`` learns from; those that were given, for most."""
        return data

    def accepts(self, model: object) -> bool:
        """Whether an object, given as ``model``, is one of this kind."""
        return False

    def title(self, model: object) -> str:
        """The model in messages."""
        return model if isinstance(model, str) else self.name if model is self else type(model).__name__

    def subject(self, model: object) -> str:
        """The model as the subject of a sentence about its arguments."""
        return f"`{self.title(model)}`"

    def refused(self, model: object) -> frozenset[str]:
        """Arguments that a model of this kind does not use."""
        return OPTIONAL - self.uses

    def advice(self, model: object) -> str:
        """What to do about arguments that it does not use."""
        return ""

    def alone(self, model: object) -> str:
        """Why it cannot be an ensemble, for messages."""
        return f"{self.subject(model)} draws no initial weights for each member of an ensemble: fit it alone"

    def configured(self, options: Mapping[str, Any]) -> Any:
        """What to pass as ``model`` to get this kind with these options, as the command line has them.

        Raises:
            ValueError: it has no such options.
        """
        if options:
            name = next(iter(options)).replace("_", "-")
            raise ValueError(f"`{self.name}` does not use `--{name}`; remove it")
        return self.name

    def reaching(self, model: Any, steps: int) -> Any:
        """``model`` such that it predicts ``steps`` ahead; the model itself where it predicts at any time."""
        return model

    def holds_out(self, model: Any, data: Dataset) -> int:
        """How many cells of the data, as `ndcn inspect` lists them, a fit of ``model`` holds out as wrong."""
        return 0

    def words(self, model: object) -> list[str] | None:
        """Words by which `ndcn fit` asks for this model; None where it cannot."""
        return ["--model", model] if isinstance(model, str) else None

    def plain(self, model: object) -> Any:
        """``model`` as JSON can hold it; None where a file cannot."""
        return model if isinstance(model, str) else None

    def from_plain(self, plain: Any) -> Any:
        """What ``plain`` wrote, as ``model``."""
        return plain


OF_NAMED = frozenset({"preset", "hidden", "operator", "activation"})
OF_FIELDS = frozenset({"knots", "solver"})
OF_TRAINING = frozenset(
    {"objective", "epochs", "learning_rate", "weight_decay", "schedule", "clip_norm", "validation", "patience"}
)
OF_ENSEMBLES = frozenset({"ensemble", "jobs"})
OF_COMPUTING = frozenset({"device", "dtype"})
OPTIONAL = OF_NAMED | OF_FIELDS | OF_TRAINING | OF_ENSEMBLES | OF_COMPUTING
ARGUMENTS = (  # in the order of the estimator's signature
    *("preset", "hidden", "operator", "activation", "knots", "solver", "objective", "epochs", "learning_rate"),
    *("weight_decay", "schedule", "clip_norm", "validation", "patience", "device", "dtype", "ensemble", "jobs"),
)
