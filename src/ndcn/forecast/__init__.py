"""Forecasts of what happens on a network, chosen by backtest; and whether the network matters for them."""

from __future__ import annotations

from .automatic import auto
from .candidates import LEARNED as LEARNED
from .groups import GroupForecast
from .law_choice import LawChoice
from .law_first import law_first as law_first
from .network_test import NetworkTest, network_test
from .options import NAMES as NAMES, Auto
from .result import Forecast
from .table import ALWAYS as ALWAYS, Table

__all__ = ["Auto", "Forecast", "GroupForecast", "LawChoice", "NetworkTest", "Table", "auto", "network_test"]
