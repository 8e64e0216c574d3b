"""DynamicsRegressor: learn the dynamics of a network from snapshots, predict its state at any time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, overload

import torch
from sklearn.base import BaseEstimator
from torch import nn

from .._support.registries import CALLS_UPWARDS
from ..data import Calendar, Dataset, SplitRule, Trajectory, number_of, numbers_of
from ..forecast import Auto
from ..graph import Graph, GraphSequence
from ..identify import Interaction
from ..solve import Solver
from ..training import Objective, Recipe, TrainingError, TrainingInterrupted, Units
from . import files
from .answers import Answers
from .attributes import Learned
from .changed_trajectory import changed_trajectory
from .driving import driven_data, driven_query
from .fitting import checked_data, fit_kind
from .html import regressor_html
from .kind import Data, Fitted
from .plausible import ChangedTrajectory, SeenRange, seen_ranges
from .query import Prediction, Query, check_level, from_graph_to_graph
from .scored_snapshots import trained_times
from .settings import Settings, checked_settings
from .what_if import Change, parse

Where = Graph | GraphSequence | None


class DynamicsRegressor(Learned, Answers, BaseEstimator):
    """Learn dX/dt = f(X, G, t) from snapshots of X at arbitrary times, then predict X at any time.

    Args:
        model: "ndcn" (the paper's, 901 parameters at d = 1); its ablations "no_encode", "no_graph", "no_control"; a
            baseline for equally spaced snapshots, "residual_gnn", "rnn_gnn", "gru_gnn", "lstm_gnn", or without training,
            "persistence", "linear", "spline"; a law to be identified, "interaction" (``Interaction`` has its options),
            "closed_form" or "free_form"; a forecast chosen by backtest, "auto" (``forecast.Auto`` has its options); a
            ready ``GraphODE`` or other nn.Module called as model(x0, times, graph, t0); a Field with parameters to learn;
            or a law some of whose parameters are unknown, as ``laws.Gene(b=None)`` or
            ``laws.Kuramoto(omega=laws.per_node)``, which are estimated. A ready module is copied, keeps its own
            solver, and sees the data in their own units. Arguments that the model does not use raise ValueError.
        preset: "default", or "paper" for the published recipe. That steps on the training times and on those asked
            for, so that its answer depends on which times are asked for.
        hidden: width of the hidden state of named models; by default 20, of temporal GNNs 10.
        operator: Phi of named models: "normalized_laplacian", "signed_laplacian", "laplacian", "normalized_adjacency",
            "adjacency" or "kipf".
        activation: of named models' field: "relu", "tanh" or "softplus".
        knots: times, in the data's units, between which the field's weights are interpolated; constant by default.
        solver: for named models and fields, in the model's own time (see ``recipes``); for named models by default Euler with 50 steps over the
            training window, kept with the model, and cubic Hermite interpolation between the steps.
        objective: "l1", "l2", "huber", or an ``Objective`` with a terminal loss or time weights. A ready module that is
            trained by a terminal loss of your own alone may decode to other features than the data's.
        epochs, learning_rate, weight_decay, schedule ("cosine" or "constant"): None means the preset's value.
        clip_norm: limit of the gradient's norm; none by default.
        validation: share of the training times held out to stop on, in [0, 1); none by default. They are judged by the
            running loss; the last time stays in training where there is a terminal loss.
        patience: with validation, epochs to wait for a better validation loss; never stops early by default.
        checkpoint: a file in which the run is kept about every 20 seconds, for ``fit(..., resume=True)``.
        seed: of the initial weights and of the validation times, from 0 to 2^63 - 1.
        device, dtype: where and in which precision to compute: "cpu", "cuda", ...; "float32" or "float64"; or as torch's
            own objects.
        progress: whether to show a progress bar; None shows it on a terminal.
        ensemble: how many named models to train from seeds ``seed``, ``seed + 1``, ...; predictions are their mean, and
            ``predict(..., return_std=True)`` gives their spread too.
        jobs: processes to train an ensemble with; one for each core by default, and one in all on networks so large
            that a single fit keeps the cores busy. "auto" or an address such as "ray://head:10001" trains on a Ray cluster.

    Attributes:
        model_: the trained module; ``models_`` has all of an ensemble.
        history_: training loss and more; ``histories_`` has all of an ensemble.
        units_: scaling between data and model.
        solver_: the model's solver, in its own time.
        seen_: of each feature, the range of its values in training and whether it ever fell.
        calendar_: what the times of the training data mean; None where they are numbers.
        graphs_, reading_: of a ``Dataset``: its graph at each time, and how its files were read.
        forecast_: of "auto", the ``forecast.Forecast``: its ``table``, ``sentence`` and ``kind`` tell what was chosen and why.
        data_: what was given to fit; not kept in files.
        law_, evidence_: of an identified law; ``equations()`` and ``functions()`` print it, or its correction of a known one.

    Example:
        >>> import ndcn
        >>> graph = ndcn.networks.grid(25)
        >>> times = ndcn.sampling.irregular_times(1.0, count=30, seed=0)
        >>> data = ndcn.simulate(ndcn.laws.Heat(), graph, ndcn.laws.initial_state(graph), times)
        >>> reg = ndcn.DynamicsRegressor(model="ndcn", epochs=30, seed=0).fit(data)
        >>> reg.predict([0.5, 2.0]).states.shape
        torch.Size([2, 25, 1])
    """

    def __init__(
        self,
        model: str | nn.Module | Interaction | Auto = "ndcn",
        *,
        preset: str = "default",
        hidden: int | None = None,
        operator: str = "signed_laplacian",
        activation: str = "relu",
        knots: Sequence[float] | None = None,
        solver: Solver | None = None,
        objective: str | Objective = "l1",
        epochs: int | None = None,
        learning_rate: float | None = None,
        weight_decay: float | None = None,
        schedule: str | None = None,
        clip_norm: float | None = None,
        validation: float = 0.0,
        patience: int | None = None,
        checkpoint: str | Path | None = None,
        seed: int = 0,
        device: str | torch.device = "cpu",
        dtype: str | torch.dtype = "float32",
        progress: bool | None = None,
        ensemble: int = 1,
        jobs: int | str | None = None,
    ) -> None:
        self.model = model
        self.preset = preset
        self.hidden = hidden
        self.operator = operator
        self.activation = activation
        self.knots = knots
        self.solver = solver
        self.objective = objective
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.schedule = schedule
        self.clip_norm = clip_norm
        self.validation = validation
        self.patience = patience
        self.checkpoint = checkpoint
        self.seed = seed
        self.device = device
        self.dtype = dtype
        self.progress = progress
        self.ensemble = ensemble
        self.jobs = jobs

    calendar_: Calendar | None = None
    graphs_: GraphSequence | None = None
    split_: SplitRule | None = None
    reading_: Mapping[str, Any] = MappingProxyType({})
    seen_: tuple[SeenRange, ...] | None = None
    data_: Data
    _start: tuple[Units, list[nn.Module]] | None = None  # what `update` goes on from

    # Learning ---------------------------------------------------------------------------------------------------

    def fit(self, data: Data, y: None = None, *, resume: bool = False) -> DynamicsRegressor:
        """Learn from one trajectory, or from several at once (other initial states, other graphs).

        Args:
            data: at least two snapshots each, with features of the same names. Of a ``Dataset`` all runs are taken, cut
                where its graph changes.
            y: not used; scikit-learn passes it.
            resume: continue from ``checkpoint`` if that file exists; the result is bit for bit that of an
                uninterrupted run.

        Raises:
            ValueError: unknown names, arguments that the model does not use, or data that cannot be learned from.
            TrainingError: the loss became NaN or infinite; ``model_`` keeps the last good weights.

        A fit that fails, or is stopped, before it has learned anything leaves the estimator as it was.
        """
        if not isinstance(data, (Trajectory, Dataset)):
            data = checked_data(data)
        settings = self._settings(resume)
        data = settings.kind.prepared(data, settings.model)
        trajectories = driven_data(checked_data(data), settings.kind, settings.model)
        try:
            with torch.inference_mode(False), torch.enable_grad():
                fitted = fit_kind(data, trajectories, settings)
        except (TrainingError, TrainingInterrupted) as error:
            if error.fitted is not None:
                self._keep(error.fitted, data)
            raise
        self._keep(fitted, data)
        return self

    def _keep(self, fitted: Fitted, data: Data) -> None:
        runs = data.runs if isinstance(data, Dataset) else [data] if isinstance(data, Trajectory) else data
        self.fitted_, self.data_, self.split_ = fitted, data, runs[0].split_rule
        self.calendar_ = self.fitted_.calendar = runs[0].calendar
        self.graphs_, self.reading_ = (data.graphs, data.reading) if isinstance(data, Dataset) else (None, {})
        self.seen_ = seen_ranges(runs)

    def _settings(self, resume: bool = False) -> Settings:
        given, default = self.get_params(deep=False), type(self)().get_params(deep=False)
        return replace(checked_settings(given, default, resume=resume), start=self._start)

    def recipe(self) -> Recipe:
        """How it is trained: the preset with the arguments given, or an error that says what is wrong with them."""
        return self._settings().recipe

    # Using what was learned -------------------------------------------------------------------------------------

    @overload
    def predict(
        self,
        times: Any = None,
        *,
        graph: Where = None,
        x0: Any = None,
        t0: Any = None,
        inputs: Any = None,
        return_std: Literal[False] = False,
    ) -> Trajectory: ...

    @overload
    def predict(
        self,
        times: Any = None,
        *,
        graph: Where = None,
        x0: Any = None,
        t0: Any = None,
        inputs: Any = None,
        return_std: Literal[True],
    ) -> tuple[Trajectory, Trajectory]: ...

    def predict(
        self,
        times: Any = None,
        *,
        graph: Where = None,
        x0: Any = None,
        t0: Any = None,
        inputs: Any = None,
        return_std: bool = False,
    ) -> Trajectory | tuple[Trajectory, Trajectory]:
        """The state at any times from the first training time (or ``t0``) on, in any order.

        Where the graph of the training data changes, the prediction goes from graph to graph. A model that steps on
        observations (``preset="paper"``) takes the steps of its first training trajectory, from ``t0`` on, and those to the
        times asked for between them. Temporal GNNs and curves continue from all snapshots of their first training trajectory,
        not from its first state, unless ``x0`` is given; curves do not take one. "auto" forecasts after the last snapshot
        only, up to its horizon, and takes neither ``graph`` nor ``x0``.

        Args:
            times: shape (T,), in the data's units; or dates, where the training data had dates: text such as
                "2021-03-01", ``datetime``, ``numpy.datetime64``, pandas Timestamps or a DatetimeIndex. By default all
                steps of a forecast; of other models the training times.
            graph: another graph on which the same law is to run, which needs ``x0``; or a ``GraphSequence``.
            x0: the state at ``t0``, shape (n, d); the first state of the (first) training trajectory by default.
            t0: the time of ``x0``, in the data's units or as a date; the first training time by default.
            inputs: the future of the inputs that the model was fitted with, as ``ndcn.Inputs`` or a table as ``ndcn.read`` takes it;
                from their first time on they take the place of those of training.
            return_std: also return the standard deviation: of an ensemble between its members, of a law between posterior
                samples, of a forecast by its past errors.

        Raises:
            NotFittedError: before fit.
            ValueError: a time before the first training time or ``t0``, or between the equal steps of a discrete
                model, shapes that do not fit, no standard deviation is known, or an input is not known so long.
            IntegrationError: the solution explodes.
        """
        found = self._answer(times, graph, x0, t0, inputs, spread=return_std)
        if not return_std:
            return found.mean
        assert found.std is not None
        return found.mean, found.std

    def _query(self, times: Any, graph: Where, x0: Any, t0: Any, inputs: Any = None) -> Query:
        """What is asked, with dates as numbers, and all times that the model stands for where none are given."""
        fitted, calendar = self._fitted(), self.calendar_
        if times is None:
            times = trained_times(self) if fitted.steps is None else fitted.steps.times
        asked = numbers_of(times, calendar)
        query = fitted.checked_query(asked, graph, x0, number_of(t0, calendar, "t0"), self.graphs_)
        return driven_query(fitted, query, inputs, calendar)

    def _answer(
        self, times: Any, graph: Where, x0: Any, t0: Any, inputs: Any = None, *, spread: bool = False
    ) -> Prediction:
        fitted, query = self._fitted(), self._query(times, graph, x0, t0, inputs)
        if spread and not fitted.can.spread:
            raise ValueError("one model has no spread: return_std needs an ensemble, DynamicsRegressor(ensemble=5)")
        if isinstance(query.graph, Graph):
            return fitted.predict(query, spread=spread).dated(self.calendar_)
        if spread:
            raise ValueError("no standard deviation is known for predictions that go from graph to graph")
        mean = from_graph_to_graph(query, lambda piece: fitted.predict(piece, spread=False).mean)
        return Prediction(mean).dated(self.calendar_)

    def intervals(
        self,
        times: Any = None,
        level: float = 0.9,
        *,
        graph: Where = None,
        x0: Any = None,
        t0: Any = None,
        inputs: Any = None,
    ) -> tuple[Trajectory, Trajectory]:
        """Lower and upper ends between which a share ``level`` of the values should lie; times as in ``predict``.

        Of "auto" by the errors of its past forecasts. Of laws and ensembles mean -+ z std: what parameters or first weights
        leave open, without the noise of observations and the error of the model's form.

        Raises:
            ValueError: as ``predict``; a level outside (0, 1); one model alone has no spread.
        """
        check_level(level)
        return self._answer(times, graph, x0, t0, inputs, spread=True).intervals(level)

    def what_if(
        self,
        changes: str | Change | Sequence[str | Change],
        times: Any,
        *,
        at: Any = None,
        graph: Graph | None = None,
        x0: Any = None,
        t0: Any = None,
        inputs: Any = None,
    ) -> ChangedTrajectory:
        """The trajectory after changes to the network or its state, and how far it is from anything seen in training.

        Args:
            changes: "remove NODE", "cut A B" (both ways), "cut A->B", "shock NODE +5", "shock NODE x*0.5", or several.
            times: shape (T,), in the data's units, or dates.
            at: when the changes happen, a number or a date; where the prediction starts by default.
            graph, x0, t0, inputs: as in ``predict``.

        Returns:
            The states at these times; removed nodes are missing (NaN) from ``at`` on. ``notes`` say, as warnings do, where
            the changed state or network is far from those of training, and where values are not plausible: below 0,
            falling or far away where none in training was. ``distances`` and ``lost_input`` have the numbers.

        Raises:
            ValueError: nodes, edges or features that are not there, or a model that cannot start from another state.

        Example:
            >>> import ndcn
            >>> graph = ndcn.Graph.from_edges([("a", "b"), ("b", "c")])
            >>> data = ndcn.simulate(ndcn.laws.Heat(), graph, [[1.0], [0.0], [0.0]], [0.0, 0.5, 1.0])
            >>> reg = ndcn.DynamicsRegressor(ndcn.laws.Heat(k=None)).fit(data)
            >>> reg.what_if("cut b c", [50.0]).states.flatten().round(decimals=2)
            tensor([0.5000, 0.5000, 0.0000])
        """
        fitted = self._fitted()
        if not (fitted.can.any_start and fitted.can.any_graph):
            raise ValueError(f"what_if needs a model that starts from any state on any graph; {fitted.stays}")
        given = [changes] if isinstance(changes, (str, Change)) else list(changes)
        happens = [parse(change) if isinstance(change, str) else change for change in given]
        query = self._query(times, graph, x0, t0, inputs)
        when = query.t0 if at is None else float(number_of(at, self.calendar_, "at"))
        where: dict[str, Any] = {"graph": graph, "x0": x0, "t0": t0, "inputs": query.inputs}
        base, start = self.predict(times, **where), self.predict([when], **where).states[0]
        graphs = query.graph if isinstance(query.graph, GraphSequence) else GraphSequence([query.t0], [query.graph])

        def from_state(asked: Any, graphs: GraphSequence, state: torch.Tensor, begin: float) -> Trajectory:
            return self.predict(asked, graph=graphs, x0=state, t0=begin, inputs=query.inputs)

        return changed_trajectory(from_state, base, happens, graphs, when, start, self.seen_, self._time_text)

    def _time_text(self, t: float) -> str:
        return f"t = {t:.6g}" if self.calendar_ is None else self.calendar_.texts([t])[0]

    def _repr_html_(self) -> str:
        return self._repr_mimebundle_()["text/html"]

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """What a notebook shows: scikit-learn's table before fit, what was learned after it."""
        if "fitted_" not in self.__dict__:
            return dict(super()._repr_mimebundle_())
        return {"text/plain": repr(self), "text/html": regressor_html(self)}

    # Files ------------------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write the trained model into one file: safetensors with settings in JSON, no pickle; see ``ndcn.load``."""
        self._fitted()
        files.save(self, Path(path))

    def report(self, path: str | Path, data: Trajectory | Dataset | None = None) -> None:
        """Write an interactive page about the model, and how it does on ``data``, into one HTML file; see ``ndcn.report``."""
        CALLS_UPWARDS["page"](self, path, data)
