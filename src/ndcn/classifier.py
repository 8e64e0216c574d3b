"""NodeClassifier: learn the classes of a graph's nodes from their features and a few of their classes."""

from __future__ import annotations

import copy
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from torch import nn

from .classification import ClassifierRecipe, Task, build, recipe_of, train
from .classification_features import FeatureTable
from .graph import Graph
from .models.classifier import DiffusionClassifier
from .settings import device_named, dtype_named
from .solve import Solver
from .threads import threads_for
from .training import History

UNKNOWN = -1


class NodeClassifier(BaseEstimator):
    """X(0) = ReLU(F W_e + b_e); dX/dt = (Phi - I) X + beta (X(0) - X); classes by softmax(X(T) W_d + b_d).

    Features F of all nodes and the classes of some diffuse over the graph for a time T; Phi = ``operators.diffusion(alpha)``.
    The state at T is the solution of this equation to within 1e-3. ``preset="paper"`` is the published configuration:
    tanh, dX/dt = ReLU(Phi X), and a solver whose state at T is far from the solution; see docs/classification.md.

    What is None takes the value of the preset: default; paper.

    Args:
        T: terminal time > 0 (8; 1.2).
        alpha: in [0, 1]: how much a node listens to itself (0.5; 0).
        preset: "default" or "paper".
        hidden: width of X (64; 256).
        field: "diffusion" (default), "relu" for the paper's ReLU(Phi X), or an nn.Module called as field(t, x, graph).
        source: beta >= 0, of field="diffusion": how strongly the initial state is held on to (0.2).
        activation: of X(0): "relu" or "tanh".
        solver: of fields without an exact solution: an ``ndcn.Solver`` (DOPRI5 by default), or "published" (the paper's).
        learn_T, learn_alpha: whether T (for "diffusion") and alpha are learned, starting from the values given.
        dropout, hidden_dropout, row_dropout: in training, the probability that an entry of F, an entry of X(0) or a whole row of
            X(0) is dropped (0.5, 0.5, 0.7; 0).
        passes: how many times per epoch the network is run with other entries dropped (4; 1).
        consistency: weight of the distance between each pass and the sharpened mean of all, over all nodes (1; 0).
        temperature: of the sharpening (0.4).
        normalize: whether to divide each row of F by the sum of its absolute values.
        epochs, learning_rate, weight_decay: of Adam (300, 0.01, 0.002 on W_e; 100, 0.01, 0.024 on all).
        patience: with validation nodes, epochs to wait for a better result; never stops early by default.
        seed: of the first weights and of what is dropped.
        device, dtype: where and in which precision to compute.
        progress: whether to show a progress bar; None shows it on a terminal.

    Attributes:
        model_: the trained ``models.DiffusionClassifier``.
        classes_: the classes, in the order of the columns of ``predict_proba``.
        history_: training loss, (epoch, validation cross-entropy), why it stopped, seconds.

    Raises:
        ValueError: a number out of its range or an unknown name; when made and again in ``fit``.

    Example:
        >>> import ndcn
        >>> data = ndcn.datasets.karate_club()
        >>> clf = ndcn.NodeClassifier(T=2.0, hidden=16, epochs=60, seed=0)
        >>> clf = clf.fit(data.graph, data.features, data.labels, data.train_mask)
        >>> clf.predict_proba().shape
        torch.Size([34, 2])
        >>> clf.score(data.test_mask) > 0.8
        True
    """

    def __init__(
        self,
        T: float | None = None,
        alpha: float | None = None,
        *,
        preset: str = "default",
        hidden: int | None = None,
        field: str | nn.Module | None = None,
        source: float | None = None,
        activation: str | None = None,
        solver: Solver | str | None = None,
        learn_T: bool = False,
        learn_alpha: bool = False,
        dropout: float | None = None,
        hidden_dropout: float | None = None,
        row_dropout: float | None = None,
        passes: int | None = None,
        consistency: float | None = None,
        temperature: float | None = None,
        normalize: bool = True,
        epochs: int | None = None,
        learning_rate: float | None = None,
        weight_decay: float | None = None,
        patience: int | None = None,
        seed: int = 0,
        device: str | torch.device = "cpu",
        dtype: str | torch.dtype = "float32",
        progress: bool | None = None,
    ) -> None:
        self.T = T
        self.alpha = alpha
        self.preset = preset
        self.hidden = hidden
        self.field = field
        self.source = source
        self.activation = activation
        self.solver = solver
        self.learn_T = learn_T
        self.learn_alpha = learn_alpha
        self.dropout = dropout
        self.hidden_dropout = hidden_dropout
        self.row_dropout = row_dropout
        self.passes = passes
        self.consistency = consistency
        self.temperature = temperature
        self.normalize = normalize
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.patience = patience
        self.seed = seed
        self.device = device
        self.dtype = dtype
        self.progress = progress
        self._recipe()  # says at once what is wrong

    model_: DiffusionClassifier
    history_: History
    classes_: np.ndarray
    graph_: Graph
    features_: sparse.csr_array
    codes_: torch.Tensor

    def _recipe(self) -> ClassifierRecipe:
        return recipe_of(self.get_params(deep=False))

    # Learning ---------------------------------------------------------------------------------------------------

    def fit(self, graph: Graph, features: Any, labels: Any, train_mask: Any, val_mask: Any = None) -> NodeClassifier:
        """Learn from the nodes in ``train_mask``; the features of all nodes take part.

        Args:
            graph: n nodes, weights >= 0.
            features: F, shape (n, d): a scipy.sparse matrix (which stays sparse), an array or a tensor.
            labels: the class of each node, shape (n,): whole numbers, with negative ones for unknown, or strings, with None, NaN
                or "" for unknown.
            train_mask: the nodes whose class may be used, shape (n,), bool.
            val_mask: nodes by which the best epoch is chosen, shape (n,), bool. Without them training runs its epochs.

        Raises:
            TypeError: ``graph`` is no Graph.
            ValueError: shapes that do not fit, features that are NaN, masks that overlap or hold a node without a class, or a class
                that no training node has.
            TrainingError: the loss became NaN or infinite.
        """
        recipe = self._recipe()
        dtype, device = dtype_named(self.dtype), device_named(self.device)
        _check_graph(graph)
        n = graph.num_nodes
        table = checked_features(features, n)
        classes, codes = coded_labels(labels, n)
        if len(classes) < 2:
            raise ValueError(f"all nodes have the class {classes[0].item()!r}: there is nothing to tell apart")
        train_nodes = checked_mask("train_mask", train_mask, codes)
        val_nodes = checked_mask("val_mask", torch.zeros(n, dtype=torch.bool) if val_mask is None else val_mask, codes)
        if not train_nodes.any():
            raise ValueError("train_mask holds no node: there is nothing to learn from")
        if bool((train_nodes & val_nodes).any()):
            raise ValueError(f"{int((train_nodes & val_nodes).sum())} nodes are in both train_mask and val_mask")
        if self.patience is not None and not val_nodes.any():
            raise ValueError("patience needs validation nodes: fit(..., val_mask=...)")
        untaught = sorted(set(range(len(classes))) - set(codes[train_nodes].tolist()))
        if untaught:
            names = ", ".join(repr(classes[k].item()) for k in untaught)
            raise ValueError(
                f"no training node has the class{'es' * (len(untaught) > 1)} {names}: add one to train_mask, or mark nodes of "
                "that class as unknown"
            )
        model = self._build(recipe, table.shape[1], len(classes)).to(device, dtype).eval()
        self.model_, self.history_, self.classes_ = model, History(), classes
        self.graph_, self.features_, self.codes_ = graph, table, codes
        task = Task(
            self._table(table),
            graph,
            codes.to(device),
            train_nodes.nonzero().flatten().to(device),
            val_nodes.nonzero().flatten().to(device),
        )
        with threads_for(n * recipe.hidden):
            train(
                model, task, recipe, self.history_, patience=self.patience, seed=int(self.seed), progress=self.progress
            )
        return self

    def _build(self, recipe: ClassifierRecipe, features: int, classes: int) -> DiffusionClassifier:
        if isinstance(recipe.field, nn.Module):
            recipe = replace(recipe, field=copy.deepcopy(recipe.field))
        return build(recipe, features, classes, learn_T=self.learn_T, learn_alpha=self.learn_alpha, seed=int(self.seed))

    def _table(self, features: sparse.csr_array) -> FeatureTable:
        return FeatureTable(
            features, normalize=self.normalize, dtype=dtype_named(self.dtype), device=device_named(self.device)
        )

    # Using what was learned -------------------------------------------------------------------------------------

    def predict_proba(self, *, graph: Graph | None = None, features: Any = None) -> torch.Tensor:
        """Probabilities of the classes, shape (n, c), in the order of ``classes_``: of the training graph, or of another.

        Raises:
            NotFittedError: before fit.
            ValueError: only one of graph and features, or shapes that do not fit.
        """
        self._fitted()
        if (graph is None) != (features is None):
            raise ValueError("another graph comes with its features, and other features with their graph: give both")
        if graph is None:
            graph, table = self.graph_, self.features_
        else:
            _check_graph(graph)
            table = checked_features(features, graph.num_nodes)
            if table.shape[1] != self.features_.shape[1]:
                raise ValueError(
                    f"there are {table.shape[1]} features, the model was trained on {self.features_.shape[1]}"
                )
        with torch.no_grad(), threads_for(graph.num_nodes * self.model_.encoder.out_features):
            probabilities: torch.Tensor = self.model_(self._table(table), graph)[0].softmax(dim=1)
        return probabilities.cpu()

    def predict(self, *, graph: Graph | None = None, features: Any = None) -> Any:
        """The likeliest class of each node, shape (n,): a tensor, or an array of strings if the labels were strings."""
        best = self.predict_proba(graph=graph, features=features).argmax(dim=1).numpy()
        found = self.classes_[best]
        return found if found.dtype.kind in "UO" else torch.from_numpy(found)

    def score(self, mask: Any = None, labels: Any = None) -> float:
        """The share of nodes in ``mask`` whose class is predicted right.

        Args:
            mask: the nodes, shape (n,), bool; all whose class is known by default.
            labels: the classes of the nodes, if not those given to ``fit``.

        Raises:
            NotFittedError: before fit.
            ValueError: the mask is empty or holds a node without a class.
        """
        self._fitted()
        codes = self.codes_
        if labels is not None:
            classes, found = coded_labels(labels, len(codes))
            place = {name: k for k, name in enumerate(self.classes_.tolist())}
            known = torch.tensor([place.get(name, len(place)) for name in classes.tolist()])
            codes = torch.where(found == UNKNOWN, found, known[found.clamp_min(0)])
        nodes = codes != UNKNOWN if mask is None else checked_mask("mask", mask, codes)
        if not nodes.any():
            raise ValueError("the mask holds no node: there is nothing to score")
        best = self.predict_proba().argmax(dim=1)
        return (best[nodes] == codes[nodes]).double().mean().item()

    def _fitted(self) -> None:
        if not hasattr(self, "model_"):
            raise NotFittedError("this NodeClassifier has learned nothing yet: call fit first")

    # Files ------------------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write the trained classifier with its graph, features and labels into one file: safetensors and JSON, no pickle."""
        from . import classifier_files

        self._fitted()
        classifier_files.save(self, Path(path))

    @staticmethod
    def load(path: str | Path, *, field: nn.Module | None = None) -> NodeClassifier:
        """Read a classifier that ``save`` wrote.

        Args:
            path: the file.
            field: for a classifier with a field of your own: a module of the same kind, which gets the weights.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: the file is damaged, not ours, or needs ``field``.
        """
        from . import classifier_files

        return classifier_files.load(Path(path), field)


def _check_graph(graph: object) -> None:
    if not isinstance(graph, Graph):
        raise TypeError(
            f"graph must be an ndcn.Graph, got {type(graph).__name__}; Graph.from_edges and others make one"
        )


def checked_features(features: Any, n: int) -> sparse.csr_array:
    """F as a CSR array of n rows, or an error that says what is wrong with it."""
    if isinstance(features, torch.Tensor):
        features = features.detach().cpu()
        if features.layout != torch.strided:
            coo = features.to_sparse_coo().coalesce()
            features = sparse.coo_array((coo.values().numpy(), tuple(coo.indices().numpy())), shape=tuple(coo.shape))
    try:
        table = features if sparse.issparse(features) else np.asarray(features)
        if table.dtype.kind not in "biuf" or table.ndim != 2:
            raise ValueError(f"got {table.dtype} of shape {table.shape}")
        csr = sparse.csr_array(table, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"features must be a table of real numbers, shape (n, d): {error}") from None
    if csr.shape[0] != n:
        raise ValueError(f"the graph has {n} nodes, but there are {csr.shape[0]} rows of features")
    if csr.shape[1] == 0:
        raise ValueError("there are no features; use scipy.sparse.eye_array(n) if nodes have none")
    if not np.isfinite(csr.data).all():
        raise ValueError("features must be finite, but some are NaN or infinite; fill or drop them first")
    return csr


def coded_labels(labels: Any, n: int) -> tuple[np.ndarray, torch.Tensor]:
    """The classes, sorted, and the place of each node's class among them; -1 where it is not known."""
    if isinstance(labels, torch.Tensor):
        labels = labels.detach().cpu().numpy()
    array = labels if isinstance(labels, np.ndarray) else _as_array(labels)
    if array.shape != (n,):
        raise ValueError(f"the graph has {n} nodes, but labels have shape {array.shape}")
    if array.dtype.kind in "iub":
        array = array.astype(np.int64)
        known = array >= 0
    elif array.dtype.kind == "f" and (np.isnan(array) | (np.isfinite(array) & (array == np.round(array)))).all():
        known = ~np.isnan(array) & (array >= 0)
        array = np.where(known, array, UNKNOWN).astype(np.int64)
    elif array.dtype.kind in "UO":
        known = ~np.array([_is_gap(value) for value in array.tolist()])
        if known.any() and all(isinstance(v, Integral) and not isinstance(v, bool) for v in array[known].tolist()):
            return coded_labels(np.where(known, array, UNKNOWN).astype(np.int64), n)
        if not all(isinstance(value, str) for value in array[known].tolist()):
            raise ValueError("labels must be all strings or all whole numbers")
        array = np.where(known, array, "").astype(str)
    else:
        raise ValueError(f"labels must be whole numbers or strings, got {array.dtype}")
    if not known.any():
        raise ValueError("no node has a known class")
    classes, places = np.unique(array[known], return_inverse=True)
    codes = torch.full((n,), UNKNOWN)
    codes[torch.from_numpy(known)] = torch.from_numpy(places.reshape(-1).astype(np.int64))
    return classes, codes


def _as_array(labels: Any) -> np.ndarray:
    """A list or table column as an array; objects where it mixes kinds, so that a gap is not taken for the text "nan"."""
    values = list(labels)
    mixed = any(value is None or isinstance(value, str) or _is_missing(value) for value in values)
    return np.array(values, dtype=object) if mixed else np.asarray(values)


def _is_missing(value: Any) -> bool:
    """pandas' NA, of which even the truth of a comparison is missing."""
    return type(value).__name__ == "NAType"


def _is_gap(value: Any) -> bool:
    return value is None or _is_missing(value) or value == "" or value != value


def checked_mask(name: str, mask: Any, codes: torch.Tensor) -> torch.Tensor:
    """A mask of n nodes, all of known class, or an error that says what is wrong with it."""
    try:
        chosen = torch.as_tensor(mask).cpu()
    except (TypeError, ValueError, RuntimeError):
        raise ValueError(
            f"{name} must say True or False for each of the {len(codes)} nodes, got {type(mask).__name__}"
        ) from None
    if chosen.dtype != torch.bool or chosen.shape != codes.shape:
        raise ValueError(
            f"{name} must say True or False for each of the {len(codes)} nodes, got {str(chosen.dtype).removeprefix('torch.')} "
            f"of shape {tuple(chosen.shape)}"
        )
    lost = int((codes[chosen] == UNKNOWN).sum())
    if lost:
        raise ValueError(f"{lost} nodes in {name} have no known class; take them out of it")
    return chosen
