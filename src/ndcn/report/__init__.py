"""The interactive page of a fitted model: observed states, prediction, errors, and what comes next."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._support.files import write
from .._support.fitted import check_fitted
from ..data import Dataset, Trajectory
from .classes import gather_classes
from .comparison import Comparison as Comparison
from .found_network import network_page
from .gather import gather
from .page import CLASSES, page

if TYPE_CHECKING:
    from ..classify import NodeClassifier
    from ..reconstruction import Reconstruction
    from ..regressor import DynamicsRegressor


def write_report(
    estimator: DynamicsRegressor,
    path: str | Path,
    data: Trajectory | Dataset | None = None,
    *,
    model_name: str = "model.ndcn",
    data_words: Sequence[str] | None = None,
    comparison: Comparison | None = None,
) -> int:
    """Write one HTML file that opens from disk, without server or network; return its size in bytes.

    Args:
        estimator: a fitted DynamicsRegressor.
        path: the file to write.
        data: observed states on the graph that the model was trained on; then errors are shown too. Of a ``Dataset`` the
            first run is shown (for a forecast the longest), with its dates.
        model_name, data_words: names of model and data in the commands that the page gives: a folder, or two files and
            the options that say how to read them.
        comparison: a table of several models, on which the page opens.

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
    path = _checked(path)
    if data is not None and not isinstance(data, (Trajectory, Dataset)):
        raise TypeError(
            f"data must be an ndcn.Trajectory or Dataset, got {type(data).__name__}; Trajectory.load reads a folder, ndcn.read "
            "two files"
        )
    check_fitted(estimator, "fitted_")
    return _written(path, page(gather(estimator, data, model_name, data_words), comparison))


def write_class_report(
    classifier: NodeClassifier, path: str | Path, mask: Any = None, *, model_name: str = "model.ndcn"
) -> int:
    """Write the page of a node classifier: one HTML file, as ``write_report``; return its size in bytes.

    Args:
        classifier: a fitted NodeClassifier.
        path: the file to write.
        mask: the nodes that it is judged by, shape (n,), bool; by default those held out, as in ``NodeClassifier.calibration``.
        model_name: name of the model in the commands that the page gives.

    Raises:
        ValueError: ``path`` is a folder, or the mask is empty or holds a node without a class.

    Example:
        >>> import ndcn, tempfile
        >>> data = ndcn.datasets.karate_club()
        >>> clf = ndcn.NodeClassifier(T=2.0, hidden=8, epochs=5)
        >>> clf = clf.fit(data.graph, data.features, data.labels, data.train_mask)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_class_report(clf, f"{folder}/report.html") < 200_000
        True
    """
    path = _checked(path)
    check_fitted(classifier, "codes_")
    return _written(path, page(gather_classes(classifier, mask, model_name), kind=CLASSES))


def write_network_report(found: Reconstruction, path: str | Path) -> int:
    """Write the page of a network that ``ndcn.reconstruct`` found: one HTML file; return its size in bytes.

    Args:
        found: the reconstruction.
        path: the file to write.

    Raises:
        ValueError: ``path`` is a folder.
    """
    return _written(_checked(path), network_page(found))


def _checked(path: str | Path) -> Path:
    if Path(path).is_dir():
        raise ValueError(f"{path} is a folder; give the name of a file")
    return Path(path)


def _written(path: Path, text: str) -> int:
    raw = text.encode()
    write(path, lambda new: new.write_bytes(raw))
    return len(raw)
