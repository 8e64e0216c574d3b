"""Forecasts of what happens on a network, chosen by backtest; and whether the network matters for them."""

from .automatic import auto
from .network_test import NetworkTest, network_test
from .options import Auto
from .result import Forecast

__all__ = ["Auto", "Forecast", "NetworkTest", "auto", "network_test"]
