"""How a forecast was chosen: the past errors of all candidates."""

from __future__ import annotations

from typing import Any

from ..forecasts import about_forecast
from ..section import PageContext, Section


def part(page: PageContext) -> dict[str, Any] | None:
    """The choice, its reason and the candidates."""
    return None if page.forecast is None else about_forecast(page.forecast)


SECTION = Section("Model selection", "forecast.js", part)
