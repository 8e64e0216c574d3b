"""Section of the page: a file in ``sections/``, a script in ``assets/sections/`` and a line in the registry SECTIONS."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

    from ..classify import NodeClassifier
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
class ClassContext:
    """What a section of the page of a classifier may be about.

    Attributes:
        classifier: fitted.
        judged: the nodes that it is judged by, shape (n,), bool; none if no node of known class was held out.
        probabilities: of the classes, shape (n, c).
        model_name: name of the model in the commands that the page gives.
    """

    classifier: NodeClassifier
    judged: torch.Tensor
    probabilities: torch.Tensor
    model_name: str


@dataclass(frozen=True)
class Section:
    """A card of the page below the network.

    Attributes:
        title: its heading.
        script: a file in ``assets/sections``, or the path of another. It calls ``section(name, (part, element) => ...)``
            of ``../sections.js``, which fills the element from the part.
        part: returns the content of the section as JSON holds it, from a ``PageContext`` or, on the page of a classifier, a
            ``ClassContext``; None leaves the section out.
    """

    title: str
    script: str | Path
    part: Callable[[Any], dict[str, Any] | None]
