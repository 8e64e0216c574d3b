"""Section of the page: a file in ``sections/``, a script in ``assets/sections/`` and a line in the registry SECTIONS."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..forecast import Forecast
    from ..regressor import DynamicsRegressor
    from .frames import Frames
    from .shown import Shown


@dataclass(frozen=True)
class PageContext:
    """What a section may be about.

    Attributes:
        estimator: the fitted model.
        forecast: the forecast that it made; None for models of dynamics.
        shown: the run, graph and calendar that the page shows.
        frames: the states at each moment, observed and predicted.
        scores: errors of the model and of baselines; None without data to compare with.
        model_name, data_words: names of model and data in the commands that the page gives.
    """

    estimator: DynamicsRegressor
    forecast: Forecast | None
    shown: Shown
    frames: Frames
    scores: dict[str, Any] | None
    model_name: str
    data_words: Sequence[str] | None


@dataclass(frozen=True)
class Section:
    """A card of the page below the network.

    Attributes:
        title: its heading.
        script: a file in ``assets/sections``, or the path of another. It calls ``section(name, (part, element) => ...)``
            of ``../sections.js``, which fills the element from the part.
        part: returns the content of the section as JSON holds it; None leaves the section out.
    """

    title: str
    script: str | Path
    part: Callable[[PageContext], dict[str, Any] | None]
