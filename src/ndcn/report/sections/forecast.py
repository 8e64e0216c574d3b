"""How a forecast was chosen: the past errors of all candidates."""

from __future__ import annotations

from ..forecasts import about_forecast
from ..section import Section

SECTION = Section("Model selection", "forecast.js", about_forecast)
