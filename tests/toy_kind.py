"""A kind of model in one file, as an outsider would write it: each node keeps its mean, with its standard deviation."""

from __future__ import annotations

from typing import Any

import torch

from ndcn.regressor import Can, Fitted, InitialCondition, Kind, Prediction, Query, Stored, TrainingData


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


MEAN = Mean()
