"""DynamicsRegressor: learn the dynamics of a network from snapshots, predict its state at any time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, overload

import torch
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from torch import nn

from .._support.checks import device_named, dtype_named
from .._support.registry import found_at
from .._support.threads import threads_for
from ..data import Calendar, Dataset, Trajectory, metrics
from ..forecast import Auto, Forecast, NetworkTest
from ..graph import Graph, GraphSequence
from ..identify import Estimates, Evidence, Functions, Interaction, discover, estimate
from ..laws import Equations, Law, LawODE
from ..solve import Solver
from ..training import History, Objective, Recipe, Units, units_of
from . import files as model_files
from .auto_forecast import answer_network_test, auto_of, check_goes_on, fit_auto, predict_auto
from .ensemble import fit_many
from .estimated_law import EstimatedLaw
from .fitting import Start, checked_data
from .html import regressor_html
from .learned_law import LearnedLaw, NoLawError
from .named_models import RAW, interaction_of, width_of
from .prediction import answers, band, question, run
from .settings import recipe_of
from .single_fit import fit_one


class DynamicsRegressor(BaseEstimator):
    """Learn dX/dt = f(X, G, t) from snapshots of X at arbitrary times, then predict X at any time.

    Args:
        model: "ndcn" (the paper's, 901 parameters at d = 1); its ablations "no_encode", "no_graph", "no_control"; a
            baseline for equally spaced snapshots, "residual_gnn", "rnn_gnn", "gru_gnn", "lstm_gnn", or without training,
            "persistence", "linear", "spline"; a law to be identified, "interaction" (``Interaction`` has its options),
            "closed_form" or "free_form"; a forecast chosen by backtest, "auto" (``forecast.Auto`` has its options); a ready ``GraphODE`` or other nn.Module called as
            model(x0, times, graph, t0); a Field with parameters to learn; or a law some of whose parameters are unknown, as
            ``laws.Gene(b=None)`` or ``laws.Kuramoto(omega=laws.per_node)``, which are estimated. A ready module is copied, keeps its own
            solver, and sees the data in their own units. What has no effect on a model is refused with it.
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
        epochs, learning_rate, weight_decay, schedule: of training; None takes the preset's. Schedules are "cosine" and
            "constant".
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
        calendar_, graphs_: of a ``Dataset``: what its times mean, and its graph at each time; None of trajectories.
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

    models_: list[nn.Module]
    histories_: list[History]
    units_: Units
    train_: list[Start]
    calendar_: Calendar | None = None
    graphs_: GraphSequence | None = None
    data_: Trajectory | Dataset | Sequence[Trajectory]
    forecast_: Forecast

    # Learning ---------------------------------------------------------------------------------------------------

    def fit(
        self, data: Trajectory | Dataset | Sequence[Trajectory], y: None = None, *, resume: bool = False
    ) -> DynamicsRegressor:
        """Learn from one trajectory, or from several at once (other initial states, other graphs).

        Args:
            data: at least two snapshots each, with features of the same names. Of a ``Dataset`` all runs are taken, cut
                where its graph changes.
            y: not used; scikit-learn passes it.
            resume: go on from ``checkpoint`` if that file exists; the result is bit for bit that of an
                uninterrupted run.

        Raises:
            ValueError: unknown names, or data that cannot be learned from.
            TrainingError: the loss became NaN or infinite; ``model_`` keeps the last good weights.
        """
        trajectories = checked_data(data)
        recipe = self._recipe()
        self.calendar_ = data.calendar if isinstance(data, Dataset) else None
        self.graphs_ = data.graphs if isinstance(data, Dataset) else None
        forecast = auto_of(self.model)
        what = interaction_of(self.model)
        law = self.model if isinstance(self.model, Law) and self.model.unknown else None
        if resume and (law is not None or what is not None):
            raise ValueError("resume: of no effect on a law that is identified, which keeps no checkpoints; drop it")
        self.data_ = data
        for name in ("learned_", "forecast_"):
            self.__dict__.pop(name, None)
        if forecast is not None:
            fit_auto(self, data, forecast)
        elif law is not None:
            found = estimate(law, trajectories, int(self.seed))
            self._keep(trajectories, EstimatedLaw.from_estimation(found), found.starts, found.seconds)
        elif what is not None:
            self._identify(trajectories, what)
        elif self.ensemble == 1:
            fit_one(self, trajectories, recipe, resume)
        else:
            fit_many(self, trajectories, resume)
        return self

    def _identify(self, trajectories: list[Trajectory], what: Interaction) -> None:
        found = discover(trajectories, what, int(self.seed))
        self._keep(trajectories, LearnedLaw.of(found), found.starts, found.seconds)

    def _keep(
        self, trajectories: list[Trajectory], learned: LearnedLaw, first: list[torch.Tensor], seconds: float
    ) -> None:
        starts = [Start.of(t) for t in trajectories]
        starts = [replace(s, x0=x.to(s.x0.dtype)) for s, x in zip(starts, first, strict=True)]
        units = units_of(trajectories, RAW)
        self.models_, self.units_, self.histories_ = [LawODE(learned.law)], units, [History(seconds=seconds)]
        self.train_, self.learned_ = starts, learned

    def _recipe(self) -> Recipe:
        return recipe_of(self.get_params(deep=False), type(self)().get_params(deep=False))

    # Using what was learned -------------------------------------------------------------------------------------

    @overload
    def predict(
        self,
        times: Any,
        *,
        graph: Graph | None = None,
        x0: Any = None,
        t0: float | None = None,
        return_std: Literal[False] = False,
    ) -> Trajectory: ...

    @overload
    def predict(
        self,
        times: Any,
        *,
        graph: Graph | None = None,
        x0: Any = None,
        t0: float | None = None,
        return_std: Literal[True],
    ) -> tuple[Trajectory, Trajectory]: ...

    def predict(
        self,
        times: Any,
        *,
        graph: Graph | None = None,
        x0: Any = None,
        t0: float | None = None,
        return_std: bool = False,
    ) -> Trajectory | tuple[Trajectory, Trajectory]:
        """The state at any times from the first training time (or ``t0``) on, in any order.

        A model that steps on observations (``preset="paper"``) takes the steps of its first training trajectory, from
        ``t0`` on, and those to the times asked for between them. Temporal GNNs and curves go on from all snapshots of
        their first training trajectory, not from its first state, unless ``x0`` is given; curves do not take one. "auto"
        forecasts after the last snapshot only, up to its horizon, and takes neither ``graph`` nor ``x0``.

        Args:
            times: shape (T,), in the data's units.
            graph: another graph on which the same law is to run; then ``x0`` is needed.
            x0: the state at ``t0``, shape (n, d); the first state of the (first) training trajectory by default.
            t0: the time of ``x0``, in the data's units; the first training time by default.
            return_std: also return the standard deviation: of an ensemble between its members, of a law by the errors of
                its parameters, of a forecast by its past errors.

        Raises:
            NotFittedError: before fit.
            ValueError: a time before the first training time or ``t0``, or between the equal steps of a discrete
                model, or shapes that do not fit.
            IntegrationError: the solution explodes.
        """
        start = self._fitted()
        if hasattr(self, "forecast_"):
            return predict_auto(self.forecast_, times, return_std, graph=graph, x0=x0, t0=t0)
        asked = question(start, times, graph, x0, t0)
        if return_std and len(self.models_) == 1 and not hasattr(self, "learned_"):
            raise ValueError("one model has no spread: return_std needs an ensemble, DynamicsRegressor(ensemble=5)")
        dtype, device = dtype_named(self.dtype), device_named(self.device)
        learned: LearnedLaw | None = getattr(self, "learned_", None)
        if learned is not None:
            return learned.predict(asked, start, return_std)
        with threads_for(asked.graph.num_nodes * width_of(self.model, self.hidden)):
            runs = [run(model, asked, start, self.units_, dtype, device) for model in self.models_]
        # a ready module computes in the data's units, and may decode to other features
        mean, deviation = answers(asked, runs, self.units_.scale if isinstance(self.model, str) else None, start)
        return mean if deviation is None or not return_std else (mean, deviation)

    def intervals(
        self, times: Any, level: float = 0.9, *, graph: Graph | None = None, x0: Any = None, t0: float | None = None
    ) -> tuple[Trajectory, Trajectory]:
        """Lower and upper ends between which a share ``level`` of the values should lie.

        Of "auto" by the errors of its past forecasts. Of laws and ensembles mean -+ z std: what parameters or first weights
        leave open, without the noise of observations and what the model cannot say.

        Raises:
            ValueError: as ``predict``; a level outside (0, 1); one model alone has no spread.
        """
        if not isinstance(level, float) or not 0 < level < 1:
            raise ValueError(f"level must lie between 0 and 1, as 0.9; got {level!r}")
        self._fitted()
        if hasattr(self, "forecast_"):
            check_goes_on(self.forecast_, graph, x0, t0)
            return self.forecast_.intervals(times, level)
        mean, deviation = self.predict(times, graph=graph, x0=x0, t0=t0, return_std=True)
        return band(mean, deviation, level)

    def network_test(
        self,
        data: Trajectory | Dataset | Sequence[Trajectory] | None = None,
        *,
        shuffles: int = 99,
        horizon: int | None = None,
        feature: int = 0,
        seed: int = 0,
        progress: bool | None = None,
    ) -> NetworkTest:
        """Whether the network matters for forecasts of the training data, or of ``data``; see ``forecast.network_test``.

        It is about the data, not about the model. Of several runs the longest is tested.

        Raises:
            ValueError: too few snapshots or shuffles; the model is from a file, which holds no data, and none are given.
        """
        self._fitted()
        return answer_network_test(
            self, data, shuffles=shuffles, horizon=horizon, feature=feature, seed=seed, progress=progress
        )

    def score(self, data: Trajectory, y: None = None, *, x0: Any = None, t0: float | None = None) -> float:
        """R^2 of the prediction at the times of ``data``: 1 - sum (x - x^)^2 / sum (x - mean)^2; 1 is perfect.

        ``x0`` and ``t0`` are those of ``predict``.

        Raises:
            ValueError: as ``predict``, or the data have other features, or do not vary.
        """
        return metrics.r2(self.predict(data.times, graph=data.graph, x0=x0, t0=t0), data)

    @property
    def model_(self) -> nn.Module:
        """The trained module; of an ensemble, the first."""
        self._fitted()
        return self.models_[0]

    @property
    def history_(self) -> History:
        """What happened in training; of an ensemble, in that of the first."""
        self._fitted()
        return self.histories_[0]

    @property
    def solver_(self) -> Solver | None:
        """The solver of the trained model, in its own time."""
        self._fitted()
        return getattr(self.model_, "solver", None)

    # Reading a law ----------------------------------------------------------------------------------------------

    @property
    def law_(self) -> Law:
        """The law that was found, as a ``laws.Law``: it can be simulated, and added to other fields."""
        return self._law().law

    @property
    def evidence_(self) -> Evidence:
        """Why this law: whether the closed form explains the data, and what else was tried."""
        return self._law().evidence

    def equations(self) -> Equations | Estimates:
        """The law that was found: ``str``, ``.latex()`` and ``.sympy()``, coefficients with standard errors.

        Of a known law, its parameters that were estimated; of a law known in part, the correction.

        Raises:
            ValueError: the model has no equation: it is a network, or its functions are splines (``functions``).
        """
        return self._law().equations()

    def functions(self, points: int = 50) -> Functions:
        """f and g of the law on a grid over the states seen in training, with standard deviations; without a known part."""
        return self._law().functions(points)

    def _law(self) -> LearnedLaw:
        self._fitted()
        learned: LearnedLaw | None = getattr(self, "learned_", None)
        if learned is None:
            raise NoLawError(
                f"{self.model if isinstance(self.model, str) else type(self.model).__name__} has no law to read: use "
                'DynamicsRegressor(model="interaction")'
            )
        return learned

    def _fitted(self) -> Start:
        if not hasattr(self, "models_"):
            raise NotFittedError("this DynamicsRegressor has learned nothing yet: call fit first")
        start: Start = self.train_[0]
        return start

    def _repr_html_(self) -> str:
        return self._repr_mimebundle_()["text/html"]

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """What a notebook shows: scikit-learn's table before fit, what was learned after it."""
        if not hasattr(self, "models_"):
            return dict(super()._repr_mimebundle_())
        return {"text/plain": repr(self), "text/html": regressor_html(self)}

    # Files ------------------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write the trained model into one file: safetensors with settings in JSON, no pickle; see ``ndcn.load``."""
        self._fitted()
        model_files.save(self, Path(path))

    def report(self, path: str | Path, data: Trajectory | Dataset | None = None) -> None:
        """Write an interactive page about the model, and how it does on ``data``, into one HTML file; see ``ndcn.report``."""
        found_at("ndcn.report:write_report")(self, path, data)
