"""A kind of model in one file, as an outsider would write it: each node keeps its mean, with its standard deviation."""

from __future__ import annotations

from typing import Any

import torch

from ndcn.regressor import Ahead, Can, Fitted, InitialCondition, Kind, Prediction, Query, Stored, TrainingData


class FittedMean(Fitted):
    def __init__(self, can: Can, initial: list[Any], mean: torch.Tensor, std: torch.Tensor) -> None:
        super().__init__(can, initial)
        self.mean, self.std = mean, std

    def predict(self, query: Query, *, spread: bool) -> Prediction:
        features = self.initial[0].features
        mean, std = (query.answer(x.expand(len(query.times), *x.shape), features) for x in (self.mean, self.std))
        return Prediction(mean, std if spread else None)

    def state(self) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
        return {"toy": "mean of each node"}, {"toy.mean": self.mean, "toy.std": self.std}

    def summary(self) -> str:
        return "each node keeps its mean"


class Mean(Kind):
    name = "toy_mean"
    can = Can(any_start=False, any_graph=False, spread=True)

    def fit(self, data: TrainingData, settings: Any) -> FittedMean:
        seen = data.trajectories[0]
        std, mean = torch.std_mean(seen.states, dim=0)
        return FittedMean(self.can, [InitialCondition.of(seen)], mean, std)

    def restore(self, stored: Stored, settings: Any) -> FittedMean:
        assert stored.about["toy"] == "mean of each node"
        return FittedMean(self.can, stored.initial, stored.tensors["toy.mean"], stored.tensors["toy.std"])


class SteppedMean(Mean):
    """Knows no times between those of equal steps; `ensemble` is an argument that it takes and cannot use."""

    name = "toy_stepped"
    can = Can(any_time=False, any_start=False, any_graph=False, spread=True)
    uses = frozenset({"ensemble"})


class MeanAhead(Mean):
    """Says nothing about the past, only about two steps after the last snapshot."""

    name = "toy_ahead"

    def fit(self, data: TrainingData, settings: Any) -> FittedMean:
        return self._ahead(super().fit(data, settings))

    def restore(self, stored: Stored, settings: Any) -> FittedMean:
        return self._ahead(super().restore(stored, settings))

    def _ahead(self, fitted: FittedMean) -> FittedMean:
        times = fitted.initial[0].times.tolist()
        fitted.ahead = Ahead(times[-1], times[-1] - times[-2], 2)
        return fitted


MEAN, STEPPED, AHEAD = Mean(), SteppedMean(), MeanAhead()
