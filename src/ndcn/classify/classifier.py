"""NodeClassifier: learn the classes of a graph's nodes from their features and a few of their classes."""

from __future__ import annotations

import copy
from collections.abc import Hashable
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from scipy import sparse
from torch import nn

from .._support.checks import device_named, dtype_named
from .._support.registries import CALLS_UPWARDS
from .._support.threads import threads_for
from .._support.warn import warn
from ..graph import Graph
from ..solve import Solver
from ..training import History, Rank, TrainingError, TrainingInterrupted
from . import files as classifier_files
from .choice import AUTO, FieldChoice, assortativity, candidates, clearly_better, first_choice
from .class_weights import ClassWeight
from .diffusion import unit_weights
from .explanation import Explanation, explained
from .features import has_few_columns, says_nothing
from .network import DiffusionClassifier
from .node_data import check_graph, checked_features
from .node_estimator import NodeEstimator
from .recipes import ClassifierRecipe, recipe_of
from .similar_nodes import telling, with_similar
from .training import ClassifierTask, LabelledNodes, build


@dataclass(eq=False, repr=False)
class NodeClassifier(NodeEstimator):
    """X(0) = ReLU(F W_e + b_e); dX/dt = (Phi - I) X + beta (X(0) - X); classes by softmax(X(T) W_d + b_d).

    Features F of all nodes and the classes of some diffuse over the graph for a time T; Phi = ``operators.diffusion(alpha)``.
    The state at T is the solution of this equation to within 1e-3. ``preset="paper"`` is the published configuration:
    tanh, dX/dt = ReLU(Phi X), and a solver whose state at T is far from the solution; see docs/classification.md.

    None means the preset's value, shown as (default; paper).

    Args:
        T: terminal time > 0 (8, for "diffusion" with 100 columns of F or fewer 4, where neighbours are hardly alike 2, for "signed" 2; 1.2).
        alpha: in [0, 1]: how much a node listens to itself (0.5, for "diffusion" with 100 columns of F or fewer, where neighbours are hardly
            alike, and for "signed" 0; 0).
        preset: "default" or "paper".
        hidden: width of X (64; 256).
        field: "diffusion", the equation above; "signed", which can also repel, dX/dt = |s| [(s Phi - I) X + beta (X(0) - X)] with
            s = 1, 0 and -1 for a third of the columns each; "features", dX/dt = 0, without the graph; "auto", which takes one of
            these (see ``choice_``); "relu" for the paper's ReLU(Phi X); or an nn.Module called as field(t, x, graph) ("auto";
            "relu").
        source: beta >= 0, of "diffusion" and "signed": how strongly the initial state is held on to (0.2, where alpha is 0 by itself 0,
            for "signed" with 1000 training nodes or more 1).
        activation: of X(0): "relu" or "tanh".
        solver: of fields without an exact solution: an ``ndcn.Solver`` (DOPRI5 by default), or "published" (the paper's).
        learn_T, learn_alpha: whether T (for "diffusion") and alpha are learned, starting from the values given.
        dropout, hidden_dropout, row_dropout: in training, the probability that an entry of F, an entry of X(0) or a whole row of
            X(0) is dropped (0.5, 0.5, 0.7, for "signed" and "features" 0.5, 0.5, 0, with 1000 training nodes or more 0.5, 0.8, 0,
            for "diffusion" with 100 columns of F or fewer 0.5, 0.5, 0.3; 0).
        passes: how many times per epoch the network is run with other entries dropped (4, for "signed" and "features" 1; 1).
        consistency: weight of the distance between each pass and the sharpened mean of all, over all nodes (2, for "signed", "features" and
            "diffusion" with 100 columns of F or fewer 0; 0).
        temperature: of the sharpening (0.3).
        alignment: exponent >= 0 by which that mean is drawn to the shares of the classes among the validation nodes, or half of it
            among the training nodes without any; 0 for not at all (1; none).
        average: momentum in [0, 1) of the running average of weights that is validated and kept (0.9; none).
        members: networks trained side by side from other weights, whose logits are averaged; the trained model is one network with
            ``members`` times ``hidden`` columns (1, for "signed" and "features" 4; 1).
        similar: a node is also joined to up to this many nodes of similar features, by weak edges, if labelled nodes show that such
            nodes share classes; 0 for none (5, for other fields than "diffusion" 0; 0).
        normalize: "euclidean" divides each row of F by the root of the sum of its squares, True by the sum of its absolute
            values, "columns" each column by its largest absolute value, False leaves them ("euclidean", for "signed" and
            "features" "columns"; True).
        epochs, learning_rate, weight_decay: of Adam (120, 0.01, for "diffusion" with 100 columns of F or fewer 0.03, 0.002 on W_e, for "signed" and "features" 0.005, with 1000
            training nodes or more 0.0005; 100, 0.01, 0.024 on all).
        patience: with validation nodes, epochs to wait for a better result; never stops early by default.
        class_weight: of the classes in the cross-entropy on the training nodes, as in scikit-learn: None for all alike, "balanced"
            for the inverse of their sizes, or a mapping from classes to numbers > 0 (1 for those that it does not name).
        seed: of the first weights and of what is dropped.
        device, dtype: where and in which precision to compute.
        checkpoint: a file in which the run is kept about every 20 seconds, for ``fit(..., resume=True)``.
        progress: whether to show a progress bar; None shows it on a terminal.

    Attributes:
        model_: the trained ``models.DiffusionClassifier``.
        choice_: which field "auto" took, and why: a ``FieldChoice``, which prints as a sentence; None if ``field`` was given. If the
            labelled nodes show that neighbours tend to be alike, it is "diffusion"; else "signed", or "diffusion" for a short time where
            they are somewhat alike, unless another is clearly better on the validation nodes.
        flow_graph_: the graph with weights in units of their mean, and with the edges between nodes of similar features.
        classes_: the classes, in the order of the columns of ``predict_proba``.
        probability_temperature_: what logits are divided by, so that the cross-entropy on the validation nodes is least; None
            without validation nodes: probabilities are as trained.
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

    T: float | None = None
    alpha: float | None = None
    _: KW_ONLY
    preset: str = "default"
    hidden: int | None = None
    field: str | nn.Module | None = None
    source: float | None = None
    activation: str | None = None
    solver: Solver | str | None = None
    learn_T: bool = False
    learn_alpha: bool = False
    dropout: float | None = None
    hidden_dropout: float | None = None
    row_dropout: float | None = None
    passes: int | None = None
    consistency: float | None = None
    temperature: float | None = None
    alignment: float | None = None
    average: float | None = None
    members: int | None = None
    similar: int | None = None
    normalize: bool | str | None = None
    epochs: int | None = None
    learning_rate: float | None = None
    weight_decay: float | None = None
    patience: int | None = None
    class_weight: ClassWeight = None
    seed: int = 0
    device: str | torch.device = "cpu"
    dtype: str | torch.dtype = "float32"
    checkpoint: str | Path | None = None
    progress: bool | None = None

    def __post_init__(self) -> None:
        self.recipe()  # says at once what is wrong

    def recipe(
        self, field: str | None = None, labels: int = 0, few_columns: bool = False, comparing: bool = False
    ) -> ClassifierRecipe:
        """How it is trained: the preset with the arguments given, or an error that says what is wrong with them.

        ``field`` is taken in place of its own; ``labels`` says how many training nodes there are, ``few_columns`` whether
        features have few columns, ``comparing`` whether the field is one of those that are compared.
        """
        return recipe_of(self.get_params(deep=False), field, labels, few_columns, comparing)

    def _learn(self, recipe: Any, nodes: LabelledNodes, features: sparse.csr_array, resume: bool) -> None:
        few = has_few_columns(features)
        if says_nothing(features):
            warn(
                "all nodes have the same features, which say nothing about their classes: leave them out, and nodes are told by their "
                "place in the graph (scipy.sparse.eye_array(n) in Python)"
            )
        if recipe.field != AUTO:
            self._learn_field(self.recipe(None, len(nodes.train), few), nodes, features, resume, self.checkpoint)
            return
        labelled = torch.cat([nodes.train, nodes.validation])
        choice = first_choice(nodes.graph, nodes.labels, labelled, validated=len(nodes.validation) > 0)
        if choice is not None:
            own = self.recipe(choice.field, len(nodes.train), few, choice.short)
            self._learn_field(own, nodes, features, resume, self.checkpoint, choice)
            return
        self._compare(nodes, features, resume)

    def _compare(self, nodes: LabelledNodes, features: sparse.csr_array, resume: bool) -> None:
        """Train each field, and keep the first, or the best of those that are clearly better on the validation nodes."""
        found, edges = assortativity(nodes.graph, nodes.labels, torch.cat([nodes.train, nodes.validation]))
        few, count = has_few_columns(features), len(nodes.train)
        accuracy: dict[str, float] = {}
        right: dict[str, torch.Tensor] = {}
        best: tuple[Rank, str, dict[str, Any]] | None = None
        seconds = 0.0
        for name in candidates(found, edges, count / nodes.graph.num_nodes):
            path = None if self.checkpoint is None else Path(f"{self.checkpoint}.{name}")
            rank = self._learn_field(self.recipe(name, count, few, comparing=True), nodes, features, resume, path)
            accuracy[name], seconds = rank[0], seconds + self.history_.seconds
            right[name] = (self.predict_proba().argmax(dim=1) == self.codes_)[nodes.validation.cpu()]
            first = next(iter(right.values()))
            if best is None or (rank > best[0] and clearly_better(right[name], first)):
                best = rank, name, {key: value for key, value in vars(self).items() if key.endswith("_")}
            if self.history_.stopped == "interrupted":
                best[2]["history_"].stopped = "interrupted"
                break
        assert best is not None
        _, taken, kept = best
        for key, value in kept.items():
            setattr(self, key, value)
        self.history_.seconds = seconds
        clear = "features" not in right or taken == "features" or clearly_better(right[taken], right["features"])
        self._chose(FieldChoice(str(self.recipe_.field), found, edges, accuracy, taken=taken, clear=clear))

    def _learn_field(
        self,
        recipe: ClassifierRecipe,
        nodes: LabelledNodes,
        features: sparse.csr_array,
        resume: bool,
        checkpoint: str | Path | None,
        choice: FieldChoice | None = None,
    ) -> Rank:
        """Train one field, and keep it; its rank on the validation nodes."""
        graph, labelled = nodes.graph, torch.cat([nodes.train, nodes.validation])
        if recipe.similar and not telling(features, nodes.labels, labelled, recipe.similar):
            recipe = replace(recipe, similar=0)
        over = with_similar(unit_weights(graph) if recipe.unit_weights else graph, features, recipe.similar)
        nodes = replace(nodes, table=self._table(features, recipe), graph=over)
        model = self._build(recipe, features.shape[1], len(nodes.classes))
        history = History()
        task = ClassifierTask(model, nodes, recipe, int(self.seed))
        try:
            self._train(task, recipe, self.patience, history, resume, checkpoint)
        except (TrainingError, TrainingInterrupted) as error:
            if error.steps:
                self._keep(task, recipe, history, graph, features, choice)
            raise
        self._keep(task, recipe, history, graph, features, choice)
        with torch.no_grad():
            return task.score().rank if task.held_out else ()

    def _keep(
        self,
        task: ClassifierTask,
        recipe: ClassifierRecipe,
        history: History,
        graph: Graph,
        features: sparse.csr_array,
        choice: FieldChoice | None,
    ) -> None:
        nodes = task.data
        self.model_: DiffusionClassifier = task.model
        self.recipe_ = replace(recipe, hidden=recipe.hidden * recipe.members, members=1)  # they are one network now
        self.probability_temperature_ = task.temperature()
        self.history_ = history
        self.classes_, self.codes_, self.split_ = nodes.classes, nodes.labels.cpu(), nodes.split()
        self.graph_: Graph = graph
        self.flow_graph_: Graph = nodes.graph
        self.features_: sparse.csr_array = features
        self._chose(choice)

    def _chose(self, choice: FieldChoice | None) -> None:
        added = self.flow_graph_.num_edges - self.graph_.num_edges
        self.choice_ = None if choice is None else replace(choice, similar=added)

    def _build(self, recipe: ClassifierRecipe, features: int, classes: int) -> DiffusionClassifier:
        if isinstance(recipe.field, nn.Module):
            recipe = replace(recipe, field=copy.deepcopy(recipe.field))
        model = build(recipe, features, classes, self.learn_T, self.learn_alpha, int(self.seed))
        return model.to(device_named(self.device), dtype_named(self.dtype)).eval()

    def predict_proba(self, *, graph: Graph | None = None, features: Any = None) -> torch.Tensor:
        """Probabilities of the classes, shape (n, c), in the order of ``classes_``: of the training graph, or of another.

        With validation nodes they are calibrated: softmax(logits / t), t being the ``probability_temperature_``.

        Raises:
            NotFittedError: before fit.
            ValueError: only one of graph and features, or shapes that do not fit.
        """
        self._fitted()
        if (graph is None) != (features is None):
            raise ValueError("another graph comes with its features, and other features with their graph: give both")
        if graph is None:
            graph, table = self.flow_graph_, self.features_
        else:
            check_graph(graph)
            table = checked_features(features, graph.num_nodes)
            d = self.features_.shape[1]
            if table.shape[1] != d:
                raise ValueError(f"there are {table.shape[1]} features, the model was trained on {d}")
            graph = unit_weights(graph) if self.recipe_.unit_weights else graph
            graph = with_similar(graph, table, self.recipe_.similar)
        with torch.no_grad(), threads_for(graph.num_nodes * self.model_.encoder.out_features):
            logits = self.model_(self._table(table, self.recipe_, like=self.features_), graph)[0] / (
                self.probability_temperature_ or 1.0
            )
            return logits.softmax(dim=1).cpu()

    def predict(self, *, graph: Graph | None = None, features: Any = None) -> Any:
        """The likeliest class of each node, shape (n,): a tensor, or an array of strings if the labels were strings."""
        return self._likeliest(self.predict_proba(graph=graph, features=features))

    def explain(self, node: Hashable) -> Explanation:
        """Which nodes, labelled or not, the probability of a node came from: log(p_c / p_r) as a sum over all nodes.

        The diffusion is linear, X(T) = g(Phi) X(0), so that node j adds exactly g_ij ((X(0) W_d)_jc - (X(0) W_d)_jr) to the
        log-odds of the likeliest class c of node i against the runner-up r, divided by the temperature of the probabilities.
        One row of g is computed, never the matrix.

        Args:
            node: its name, or what its name reads as.

        Raises:
            NotFittedError: before fit.
            ValueError: there is no such node, or the field is not linear (``preset="paper"``, a field of your own, a solver).

        Example:
            >>> import ndcn
            >>> data = ndcn.datasets.karate_club()
            >>> clf = ndcn.NodeClassifier(T=2.0, hidden=16, epochs=60)
            >>> why = clf.fit(data.graph, data.features, data.labels, data.train_mask).explain(5)
            >>> bool(abs(why.table.contribution.sum() + why.bias - why.log_odds) < 1e-5)
            True
        """
        self._fitted()
        return explained(self, node)

    def report(self, path: str | Path, mask: Any = None) -> None:
        """Write an interactive page about the classes into one HTML file; see ``ndcn.report.write_class_report``.

        Args:
            path: the file.
            mask: the nodes that the classifier is judged by, shape (n,), bool; those held out by default.

        Raises:
            NotFittedError: before fit.
            ValueError: ``path`` is a folder, or the mask is empty or holds a node without a class.
        """
        self._fitted()
        CALLS_UPWARDS["page of a classifier"](self, path, mask)

    def save(self, path: str | Path) -> None:
        """Write the trained classifier with its graph, features and labels into one file: safetensors and JSON, no pickle."""
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
        return classifier_files.load(Path(path), field)
