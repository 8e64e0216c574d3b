"""The interactive page of a learned model: what happened, what the model says, where it is wrong, what comes next."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..estimators import DynamicsRegressor
    from ..trajectory import Trajectory


def write_report(
    estimator: DynamicsRegressor,
    path: str | Path,
    data: Trajectory | None = None,
    *,
    model_name: str = "model.ndcn",
    data_name: str | None = None,
) -> int:
    """Write one HTML file that opens from disk, without server or network; how many bytes it has.

    Args:
        estimator: a fitted DynamicsRegressor.
        path: the file to write.
        data: what happened, on the graph that the model was trained on: then errors are shown too.
        model_name, data_name: what the files are called in the commands that the page gives.

    Raises:
        ValueError: ``path`` is a folder, or the data do not belong to the model.

    Example:
        >>> import ndcn, tempfile
        >>> graph, times = ndcn.networks.grid(9), ndcn.sampling.regular_times(1.0, 10)
        >>> data = ndcn.simulate(ndcn.laws.Heat(), graph, ndcn.laws.initial_state(graph), times)
        >>> reg = ndcn.DynamicsRegressor(epochs=2).fit(data[:8])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_report(reg, f"{folder}/report.html", data) < 200_000
        True
    """
    from ..files import write
    from ..trajectory import Trajectory
    from .gather import gather
    from .page import page

    path = Path(path)
    if path.is_dir():
        raise ValueError(f"{path} is a folder; give the name of a file")
    if data is not None and not isinstance(data, Trajectory):
        raise TypeError(f"data must be an ndcn.Trajectory, got {type(data).__name__}; Trajectory.load reads a folder")
    estimator._fitted()
    if hasattr(estimator, "forecast_"):
        raise ValueError(
            "a forecast has no dynamics that a page could show: predict gives it as a table, with intervals; a model of dynamics "
            'has a page, as model="interaction" or "ndcn"'
        )
    text = page(gather(estimator, data, model_name, data_name or (None if data is None else "data")))
    raw = text.encode()
    write(path, lambda new: new.write_bytes(raw))
    return len(raw)
