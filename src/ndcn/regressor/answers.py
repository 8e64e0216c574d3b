"""Answers: tables and scores of a fitted estimator, and how it goes on with further snapshots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from sklearn.base import clone

from .._support.warn import warn
from ..data import Dataset, Trajectory, metrics, one_run
from ..forecast import NetworkTest, network_test
from .driving import inputs_of_run
from .evaluation import Evaluation, evaluate
from .grouped import grouped
from .kind import Data
from .kinds.forecast import longest_run
from .scored_snapshots import check_scored_times, score_of_runs
from .tables import Levels, answered, usual_level
from .updating import joined

if TYPE_CHECKING:
    import pandas as pd

    from ..graph import Graph, GraphSequence
    from .estimator import DynamicsRegressor


class Answers:
    """What an estimator that predicts can also do."""

    def table(
        self,
        times: Any = None,
        level: Levels = None,
        *,
        graph: Graph | GraphSequence | None = None,
        x0: Any = None,
        t0: Any = None,
        inputs: Any = None,
        groups: Any = None,
    ) -> pd.DataFrame:
        """The prediction as a table: time, node, and of each feature its value, lower and upper end.

        A row for each time and node, with node names, and with dates where the data had dates. The digits are those of
        `ndcn predict --out table.csv` and of its JSON.

        Args:
            times: as in ``predict``; by default all steps of a forecast, of other models the training times.
            level: share of the values that should lie between FEATURE_lower and FEATURE_upper; a list such as
                [0.5, 0.9] gives FEATURE_lower_50, FEATURE_upper_50, FEATURE_lower_90, ... By default 0.9 for models that
                know their spread (forecasts, laws, ensembles); others have no such columns.
            graph, x0, t0, inputs: as in ``predict``.
            groups: forecasts only: {node: group}, or a table or file with a column of nodes and one of groups for each level, as
                region and country. Adds rows for the groups and for all nodes, and a column ``level`` that tells them from
                the nodes. All values are expected values then, which add up exactly; see ``Forecast.groups``.

        Raises:
            ValueError: as ``predict``; a level outside (0, 1), or of a model that knows no spread; groups that cannot be read,
                or of a model that is no forecast.

        Example:
            >>> import ndcn, pandas as pd
            >>> days = pd.date_range("2021-03-01", periods=30).astype(str)
            >>> states = pd.DataFrame({"date": days, "ann": range(30), "bob": range(60, 90)})
            >>> data = ndcn.read(pd.DataFrame({"source": ["ann"], "target": ["bob"]}), states)
            >>> reg = ndcn.DynamicsRegressor(model=ndcn.forecast.Auto(horizon=2, law=False)).fit(data)
            >>> reg.table()[["time", "node"]]
                    time node
            0 2021-03-31  ann
            1 2021-03-31  bob
            2 2021-04-01  ann
            3 2021-04-01  bob
            >>> list(reg.table(["2021-03-31"], level=[0.5, 0.9]))[3:]
            ['x_lower_50', 'x_upper_50', 'x_lower_90', 'x_upper_90']
            >>> reg.table(["2021-03-31"], groups={"ann": "north", "bob": "north"})[["level", "node"]]
               level       node
            0   node        ann
            1   node        bob
            2  group      north
            3  total  all nodes
        """
        own = cast("DynamicsRegressor", self)
        own._fitted()
        given = {"graph": graph, "x0": x0, "t0": t0, "inputs": inputs}
        where = {name: value for name, value in given.items() if value is not None}
        shown = usual_level(own) if level is None else level
        if groups is None:
            return answered(own, times, shown, where).table()
        if where:
            raise ValueError("groups: a forecast continues from its own data; leave out graph, x0, t0 and inputs")
        found = grouped(own, times, shown, groups)
        for note in found.groups.notes:
            warn(note)
        return found.table()

    def evaluate(self, data: Trajectory | Dataset) -> Evaluation:
        """Errors on data, trained on and held out, beside persistence: scores by part, and errors by steps ahead.

        Snapshots not trained on are "interpolation" up to the last training time and "extrapolation" after it. A forecast
        is measured at the snapshots after those that it was made from. Nodes that only the model or only the data have
        are named in ``notes`` and left out. Of several runs the longest is taken.

        Raises:
            ValueError: the data live on another graph, have other features or no nodes in common; or nothing in them can
                be judged.

        Example:
            >>> import ndcn
            >>> graph, times = ndcn.networks.grid(9), ndcn.sampling.regular_times(1.0, 10)
            >>> data = ndcn.simulate(ndcn.laws.Heat(), graph, ndcn.laws.initial_state(graph), times)
            >>> reg = ndcn.DynamicsRegressor("linear").fit(data[:8])
            >>> reg.evaluate(data).parts["extrapolation"]["snapshots"]
            2
        """
        own = cast("DynamicsRegressor", self)
        own._fitted()
        return evaluate(own, data, longest_run(data)[0])

    def update(self, new_data: Data, *, epochs: int | None = None) -> DynamicsRegressor:
        """Go on with further snapshots: learn from the data of the fit and the new ones together.

        A trained model continues from its present weights, in its present units; a forecast is chosen again, a law found
        again. If that fails, the model stays as it was. Where both have a snapshot, the new one counts. A model that
        learned from a list of runs takes further runs.

        Args:
            new_data: snapshots of the same nodes and features; for a model from a file, which holds no data, old and new
                ones together.
            epochs: trained models only: how many, if not those of the fit.

        Raises:
            ValueError: other nodes, features or graph; the data of the fit are not at hand; or as ``fit``.

        Example:
            >>> import ndcn
            >>> graph, times = ndcn.networks.grid(9), ndcn.sampling.regular_times(1.0, 10)
            >>> data = ndcn.simulate(ndcn.laws.Heat(), graph, ndcn.laws.initial_state(graph), times)
            >>> reg = ndcn.DynamicsRegressor(epochs=5).fit(data[:8])
            >>> len(reg.update(data[8:], epochs=2).train_[0].times)
            10
        """
        own = cast("DynamicsRegressor", self)
        fitted = own._fitted()
        fresh = clone(own).set_params(**({} if epochs is None else {"epochs": epochs}))
        fresh._start = (fitted.units, fitted.modules) if fitted.can.resume else None
        fresh.fit(joined(own, new_data))
        del fresh._start
        own.__dict__.update({name: value for name, value in vars(fresh).items() if name.endswith("_")})
        return own

    def network_test(
        self,
        data: Data | None = None,
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
        own = cast("DynamicsRegressor", self)
        own._fitted()
        known = own.__dict__.get("data_") if data is None else data
        if known is None:
            raise ValueError("a model from a file does not hold the data of its fit: pass network_test(data=...)")
        run, graphs = longest_run(known)
        options: dict[str, Any] = {"feature": feature, "horizon": horizon, "shuffles": shuffles, "seed": seed}
        return network_test(run, graphs=graphs, progress=progress, **options)

    def score(self, data: Data, y: None = None, *, x0: Any = None, t0: Any = None) -> float:
        """R^2 of the prediction at the times of ``data``: 1 - sum (x - x^)^2 / sum (x - mean)^2; 1 is perfect.

        ``x0`` and ``t0`` are those of ``predict``. Of a list of runs each is predicted from its own first state, as
        scikit-learn's ``GridSearchCV`` needs it.

        Raises:
            ValueError: as ``predict``, or the data have other features, or do not vary; of a list, a model that cannot
                start from another state.
        """
        own = cast("DynamicsRegressor", self)
        if not isinstance(data, (Trajectory, Dataset)):
            return score_of_runs(own, data)
        run = one_run(data, "a score")
        own._fitted()
        check_scored_times(own, run)
        return metrics.r2(own.predict(run.times, graph=run.graph, x0=x0, t0=t0, inputs=inputs_of_run(own, run)), run)
