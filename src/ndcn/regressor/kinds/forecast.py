"""``model="auto"``: the law where one explains the data, else a forecast chosen by backtest."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, replace
from math import isfinite
from typing import Any

from ..._support.warn import warn
from ...data import Dataset, Trajectory, checked_times
from ...forecast import ALWAYS, LEARNED, NAMES, Auto, Forecast, Table, auto
from ...graph import Graph, GraphSequence
from ...io import doubts
from ...training import History
from ..fitting import checked_data
from ..initial import InitialCondition
from ..kind import Ahead, Can, Data, Fitted, Kind, State, Stored, TrainingData, untrained
from ..query import Prediction, Query
from ..settings import Settings
from .chosen_law import choice_facts, law_ahead, restored_law, stored_choice, tried_law
from .recent import last_of, recent_tensors, stored_recent

MEDIANS = "values are medians, as often too high as too low; --mean adds expected values"
SHOWN = 10  # rows of the table, besides those that are always shown


class FittedForecast(Fitted):
    """A forecast of the steps after the last snapshot, with intervals by its past errors."""

    forecast: Forecast
    caption = MEDIANS
    level = 0.9

    def __init__(self, can: Can, initial: InitialCondition, forecast: Forecast, options: Auto, seconds: float) -> None:
        super().__init__(can, [initial], [History(seconds=seconds)])
        self.forecast, self.options = forecast, options
        self.ahead = Ahead(forecast.start, forecast.step, forecast.horizon)

    def with_recent(self, run: Trajectory) -> FittedForecast:
        """Keep the last snapshots, for pictures of the forecast beside its past."""
        self.recent = last_of(run, self.forecast.horizon)
        return self

    def query(
        self, times: Any, graph: Graph | GraphSequence | None, x0: Any, t0: float | None, graphs: GraphSequence | None
    ) -> Query:
        """Times alone, from the last snapshot to the horizon."""
        if x0 is not None or t0 is not None or (graph is not None and graph != self.forecast.graph):
            raise ValueError(self.stays)
        initial, asked = self.initial[0], checked_times(times, ordered=False)
        return Query(asked, self.forecast.graph, initial.x0, initial.t0, True, self.calendar)

    @property
    def stays(self) -> str:
        """Why it cannot start elsewhere: a forecast has no dynamics that could begin there."""
        return (
            "a forecast continues from the last snapshot of the data that it was chosen on: it takes no x0, t0 or other graph. "
            'A model of dynamics does, as model="interaction" or "ndcn"'
        )

    def predict(self, query: Query, *, spread: bool) -> Prediction:
        """The forecast; its intervals are quantiles of past errors."""
        found, times = self.forecast, query.times
        std = found.deviation(times) if spread else None
        return Prediction(
            found.predict(times),
            std,
            lambda level: found.intervals(times, level),
            lambda level: found.intervals(times, level, whole=False),
        )

    def state(self) -> State:
        """The forecast, and its past errors."""
        about, numbers = self.forecast.to_state()
        tensors = {f"forecast.{name}": value for name, value in numbers.items()} | recent_tensors(self.recent)
        choice = {} if self.choice is None else {"choice": self.choice.to_json()}
        return {"forecast": about, "model_class": "ForecastModel", **choice}, tensors | untrained()

    def facts(self) -> dict[str, Any]:
        """What was chosen, and the past errors of all candidates."""
        found = self.forecast
        rows = (found.features, found.kinds, found.tables, found.chosen, found.reference, found.ratios, found.margins)
        return {
            "horizon": found.horizon,
            "step": found.step,
            "last_time": found.start,
            "sentence": found.sentence,
            **choice_facts(self.choice),
            "features": {
                feature: {
                    "kind": kind,
                    "table": table.to_json(),
                    "kept": list(kept),
                    "best_simple_guess": list(reference),
                    "error_ratio": [ratio if isfinite(ratio) else None for ratio in ratios],
                    "margin": [margin if isfinite(margin) else None for margin in margins],
                }
                for feature, kind, table, kept, reference, ratios, margins in zip(*rows, strict=True)
            },
        }

    def summary(self) -> str:
        """The kind of data and the best candidates for each feature, and the verdict."""
        found, parts = self.forecast, []
        for feature, kind, table in zip(found.features, found.kinds, found.tables, strict=True):
            head = f"{feature}: " if len(found.features) > 1 else ""
            parts.append(f"{head}{kind}\n\n{_short(table)}\n")
        parts.append(found.sentence)
        if self.choice is not None and self.choice.tried:
            parts.append(self.choice.sentence)
        if not self.options.learned:
            parts.append("Trained models were not compared: --compare-learned does that, and takes minutes.")
        return "\n".join(parts)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was done to the data, and which candidates failed."""
        return self.forecast.notes


def _short(table: Table) -> str:
    """The best rows, those that all are compared with, and models that were trained on request."""
    rows = tuple(row for k, row in enumerate(table.rows) if k < SHOWN or row[0] in ALWAYS or row[1] == LEARNED)
    more = len(table.rows) - len(rows)
    return f"{replace(table, rows=rows)}" + (f"\n{more} more are not shown; --json has them all" if more else "")


class AutoForecast(Kind):
    """The law where one explains the data, else the forecast that was best in the past."""

    name = "auto"
    can = Can(any_start=False, any_graph=False, spread=True, judges_itself=True)
    uses = frozenset({"jobs"})  # of models that are trained and compared

    def accepts(self, model: object) -> bool:
        """Options of the choice."""
        return isinstance(model, Auto)

    def title(self, model: object) -> str:
        """The model in messages."""
        return self.name

    def advice(self, model: object) -> str:
        """What to do instead."""
        return ", or name a model that is trained, as ndcn"

    def configured(self, options: Mapping[str, Any]) -> Auto:
        """With a horizon, with or without the law, and with models that are trained and compared too."""
        own = ("horizon", "kind", "period", "keep_outliers", "law", "seconds")
        super().configured({name: value for name, value in options.items() if name not in (*own, "compare_learned")})
        if options.get("law") is False and "seconds" in options:
            raise ValueError("--seconds limits the search for a law, and --no-law asks for none: remove one of them")
        named = {name: options[name] for name in own if name in options}
        return Auto(learned=NAMES if options.get("compare_learned") else (), **named)

    def reaching(self, model: Any, steps: int) -> Auto:
        """With that horizon."""
        return replace(model if isinstance(model, Auto) else Auto(), horizon=steps)

    def holds_out(self, model: Any, data: Dataset) -> int:
        """Outliers, as the options read the data."""
        options = model if isinstance(model, Auto) else Auto()
        return sum(one.held_out for one in doubts(data, **options.reading))

    def fit(self, data: TrainingData, settings: Settings) -> Fitted:
        """Look for a law that explains the data; without one choose the forecast."""
        began = time.monotonic()
        if not isinstance(data.given, (Trajectory, Dataset)) and len(data.given) > 1:
            raise ValueError(
                f"a forecast continues one run, and a list of {len(data.given)} was given: fit each by itself; ndcn.backtest "
                "compares settings over past origins, where scikit-learn's cross-validation needs runs to hold out"
            )
        options = settings.model if self.accepts(settings.model) else Auto()
        found, choice, run = tried_law(data, options, settings)
        if found is not None:
            history = History(seconds=time.monotonic() - began)
            return law_ahead(run, found, choice, options.horizon, history).with_recent(run)
        run, graphs = longest_run(data.given)
        more = {"graphs": graphs, "seed": settings.seed, **options.reading}
        more |= {name: settings[name] for name in ("progress", "jobs")}
        best = auto(run, horizon=options.horizon, learned=tuple(options.learned), **more)
        initial = replace(InitialCondition.of(run), graph=best.graph)
        fitted = FittedForecast(self.can, initial, best, options, time.monotonic() - began).with_recent(run)
        fitted.choice = choice
        return fitted

    def restore(self, stored: Stored, settings: Settings) -> Fitted:
        """The law or the forecast of a file."""
        about, initial = stored.about, stored.initial[0]
        if about.get("law") is not None:
            return restored_law(stored, settings)
        if about.get("forecast") is None:
            raise ValueError("a forecast is chosen by fit, and there is none")
        numbers = {name.removeprefix("forecast."): value for name, value in stored.tensors.items()}
        found = Forecast.from_state(about["forecast"], numbers, initial.graph)
        options = settings.model if self.accepts(settings.model) else Auto()
        fitted = FittedForecast(self.can, initial, found, options, about["histories"][0]["seconds"])
        fitted.recent = stored_recent(stored, found.features)
        fitted.choice = stored_choice(stored)
        return fitted

    def words(self, model: object) -> list[str] | None:
        """Words with the options that the command line has."""
        options = model if isinstance(model, Auto) else Auto()
        if tuple(options.learned) not in ((), NAMES):
            return None
        horizon = [] if options.horizon is None else ["--horizon", str(options.horizon)]
        given = [
            word
            for name in ("kind", "period")
            if (value := getattr(options, name)) is not None
            for word in (f"--{name}", str(value))
        ]
        given += [] if options.seconds == Auto.seconds else ["--seconds", f"{options.seconds:g}"]
        flags = ["--compare-learned"] * bool(options.learned) + ["--keep-outliers"] * options.keep_outliers
        flags += ["--no-law"] * (not options.law)
        return ["--model", self.name, *horizon, *given, *flags]

    def plain(self, model: object) -> Any:
        """Options as JSON can hold them."""
        if not isinstance(model, Auto):
            return model
        plain = asdict(model)
        usual = {
            "law": Auto.law,
            "seconds": Auto.seconds,
        }  # files of the usual options stay readable by versions that do not know these
        return {name: value for name, value in plain.items() if name not in usual or value != usual[name]}

    def from_plain(self, plain: Any) -> Auto:
        """Options again."""
        return Auto(**plain)


def longest_run(data: Data) -> tuple[Trajectory, GraphSequence | None]:
    """The run to forecast, and the graphs in force; of several runs the longest, with a warning."""
    graphs = data.graphs if isinstance(data, Dataset) else None
    runs = checked_data(list(data.runs) if isinstance(data, Dataset) else data)
    names = data.names if isinstance(data, Dataset) and data.names else tuple(str(k) for k in range(len(runs)))
    k = max(range(len(runs)), key=lambda k: len(runs[k]))
    if len(runs) > 1:
        one = f"{names[k]}, the first of the longest, {len(runs[k])} snapshots"
        warn(f"{len(runs)} runs were given, and one is used: {one}")
    return runs[k], graphs


AUTO = AutoForecast()
