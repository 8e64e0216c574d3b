"""What trained weights come to after another time of diffusion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch

from .._support.threads import threads_for
from .explanation import check_linear, start_of

if TYPE_CHECKING:
    from .classifier import NodeClassifier


def accuracies_over(classifier: NodeClassifier, times: Sequence[float], masks: Sequence[torch.Tensor]) -> np.ndarray:
    """The share of right classes in each mask, read out at each time, shape (len(times), len(masks)).

    The weights stay as they were trained. At time 0 nothing has diffused: that is what features alone tell.

    Args:
        classifier: fitted, with a linear field.
        times: >= 0.
        masks: nodes of known class, shape (n,), bool, none empty.

    Raises:
        ValueError: the field is not linear.

    Example:
        >>> import ndcn
        >>> data = ndcn.datasets.karate_club()
        >>> clf = ndcn.NodeClassifier(T=2.0, hidden=16, epochs=60)
        >>> clf = clf.fit(data.graph, data.features, data.labels, data.train_mask)
        >>> bool(accuracies_over(clf, [2.0], [data.test_mask])[0, 0] == clf.score(data.test_mask))
        True
    """
    model, graph, codes = classifier.model_, classifier.flow_graph_, classifier.codes_
    check_linear(model)
    start, device = start_of(classifier), model.decoder.weight.device
    bias = model.decoder.bias.detach().cpu().double()
    found = np.empty((len(times), len(masks)))
    with torch.no_grad(), threads_for(start.numel()):
        for k, time in enumerate(times):
            there = start.sum(dim=1) if time == 0 else model.diffused(start.to(device), graph, time).cpu()
            right = (there + bias).argmax(dim=1) == codes
            found[k] = [right[mask].double().mean().item() for mask in masks]
    return found
