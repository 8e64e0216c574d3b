"""Learned: what a fitted estimator shows of what it has learned."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from torch import nn

from .._support.fitted import check_fitted
from ..forecast import Forecast, LawChoice
from ..identify import UNKNOWN, Estimates, Evidence, Functions
from ..laws import Equations, Law, LawODE
from ..solve import Solver
from ..training import History, Units
from .common_driver import CommonDriver
from .initial import InitialCondition
from .kind import Fitted, Kind
from .kind_lookup import kind_for
from .kinds.learned_law import LearnedLaw, NoLawError

if TYPE_CHECKING:
    import pandas as pd


class Learned:
    """Attributes of an estimator that has a ``model`` and, once fitted, ``fitted_``."""

    model: Any
    fitted_: Fitted

    @property
    def models_(self) -> list[nn.Module]:
        """The trained modules, one for each member of an ensemble."""
        return self._fitted().modules

    @property
    def model_(self) -> nn.Module:
        """The trained module; of an ensemble, the first."""
        return self.models_[0]

    @property
    def histories_(self) -> list[History]:
        """What happened in training, one for each member of an ensemble."""
        return self._fitted().histories

    @property
    def history_(self) -> History:
        """What happened in training; of an ensemble, in that of the first."""
        return self.histories_[0]

    @property
    def units_(self) -> Units:
        """Scaling between data and model."""
        return self._fitted().units

    @property
    def train_(self) -> list[InitialCondition]:
        """Initial conditions of the training trajectories, and when they were observed."""
        return self._fitted().initial

    @property
    def solver_(self) -> Solver | None:
        """The solver of the trained model, in its own time."""
        return getattr(self.model_, "solver", None)

    @property
    def forecast_(self) -> Forecast:
        """Of "auto", the forecast: its ``table``, ``sentence`` and ``kind`` tell what was chosen and why."""
        forecast = self._fitted().forecast
        if forecast is None:
            found = self._fitted().choice
            if found is not None and found.law:
                raise AttributeError("the model is a law, no forecast by backtest; forecast.Auto(law=False) takes one")
            raise AttributeError(f"{self.title_} is no forecast")
        calendar = self._fitted().calendar
        return forecast if forecast.calendar == calendar else replace(forecast, calendar=calendar)

    @property
    def choice_(self) -> LawChoice | None:
        """Of "auto", whether a law or a forecast was taken and why, which prints as a sentence; None of other models."""
        return self._fitted().choice

    @property
    def kind_(self) -> Kind:
        """The kind of the model: what it can do, and which arguments it uses."""
        return kind_for(self.model)

    @property
    def title_(self) -> str:
        """The model in a word: its name, or the class of a ready module."""
        return self.kind_.title(self.model)

    # Reading a law ----------------------------------------------------------------------------------------------

    @property
    def law_(self) -> Law:
        """The law that was found, as a ``laws.Law``: it can be simulated, and added to other fields."""
        return self._law().law

    @property
    def evidence_(self) -> Evidence:
        """Why this law: whether the closed form explains the data, and what else was tried."""
        return self._law().evidence

    @property
    def node_values_(self) -> pd.DataFrame | None:
        """Values of nodes that the law was found with: a table by node, None where nodes are alike.

        Each number that varies has a column of values, named as in ``equations()``, and one of their standard errors, as "b_i error".
        Where nodes fall into groups, "group" is the number of each one's and "group probability" how sure that is.
        """
        return self._law().node_values()

    def with_node_values(self, table: Any) -> Self:
        """The same model, whose nodes have these values in place of those that were found: for nodes of another graph.

        Args:
            table: a pandas table by node, with a column for each number that varies, named as in ``node_values_``. Values are taken as
                exact. Nodes that it does not list have what their attributes say, else the mean, with the spread in the intervals.

        Raises:
            ValueError: the law is the same at every node, a column is missing, or a value is not a finite number.
        """
        made, fitted = copy.copy(self), copy.copy(self._fitted())
        fitted.law = self._law().with_node_values(table)
        fitted.modules = [LawODE(fitted.law.law)]
        made.fitted_ = fitted
        return made

    @property
    def driver_(self) -> CommonDriver | None:
        """The unknown driver in common to all nodes that the law was found with: its curve and the loadings of nodes; None without one."""
        self._law()
        first = self._fitted().initial[0]
        unknown = UNKNOWN in self._fitted().takes and first.inputs is not None
        return CommonDriver.of(first) if unknown else None

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
        law = self._fitted().law
        if law is None:
            raise NoLawError(f'{self.title_} has no law to read: use DynamicsRegressor(model="interaction")')
        return law

    def _fitted(self) -> Fitted:
        check_fitted(self, "fitted_")
        return self.fitted_
