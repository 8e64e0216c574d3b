"""A fit that fails or is stopped before it has learned anything leaves the estimator as it was."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
import torch

import ndcn
from small_runs import DATA, DECAY, Decay, Interrupting, decay, regressor, same, weights


class Exploding(Decay):
    """NaN once it is trained, so that it passes the check of the model."""

    def forward(self, t: torch.Tensor, x: torch.Tensor, graph: ndcn.Graph) -> torch.Tensor:
        return super().forward(t, x, graph) * (torch.nan if torch.is_grad_enabled() else 1.0)


def test_a_first_fit_that_fails_is_no_fit() -> None:
    reg = decay(model=Exploding())
    with pytest.raises(ndcn.TrainingError, match=r"epoch 1 of 30.*nothing was learned"):
        reg.fit(DECAY)
    assert not hasattr(reg, "fitted_")
    with pytest.raises(ValueError, match="call fit first"):
        reg.predict([1.0])


def test_two_interrupts_in_the_first_epoch() -> None:
    reg = decay(model=Interrupting(1, times=2))
    with pytest.raises(KeyboardInterrupt):
        reg.fit(DECAY)
    assert not hasattr(reg, "fitted_")


def test_two_interrupts_later_keep_the_best_weights() -> None:
    reg = decay(model=Interrupting(5, times=2))
    with pytest.raises(KeyboardInterrupt):
        reg.fit(DECAY)
    assert reg.history_.stopped == "interrupted"
    assert len(reg.history_.loss) == 4
    assert reg.model_.field.k.item() > 0.1


def test_one_interrupt_in_the_first_epoch_leaves_one_epoch_of_training() -> None:
    reg = decay(model=Interrupting(1))
    with pytest.warns(RuntimeWarning, match="interrupted after 1 of 30"):
        reg.fit(DECAY)
    assert reg.history_.stopped == "interrupted"
    assert reg.model_.field.k.item() == pytest.approx(0.15)  # the initial weight is 0.1


def test_a_damaged_checkpoint_does_not_lose_the_model(tmp_path: Path) -> None:
    path = tmp_path / "run"
    reg = regressor(epochs=3, checkpoint=path).fit(DATA)
    before = weights(reg)
    path.write_bytes(b"damaged")
    with pytest.raises(ValueError, match="not a checkpoint"):
        reg.fit(DATA, resume=True)
    assert same(weights(reg), before)
    assert len(reg.history_.loss) == 3
    assert reg.data_ is DATA


def test_an_interrupt_before_training_keeps_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    reg = regressor(epochs=3).fit(DATA)
    before = weights(reg)

    def pressed(*_: object, **__: object) -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("ndcn.regressor.kinds.trained_module.check_model", pressed)
    with pytest.raises(KeyboardInterrupt):
        reg.fit(DECAY)
    assert same(weights(reg), before)
    assert reg.data_ is DATA


def test_a_classifier_keeps_what_it_had(tmp_path: Path) -> None:
    karate = ndcn.datasets.karate_club()
    data = (karate.graph, karate.features, karate.labels, karate.train_mask)
    path = tmp_path / "run"
    clf = ndcn.NodeClassifier(hidden=4, epochs=3, checkpoint=path).fit(*data)
    before = clf.predict_proba()
    path.write_bytes(b"damaged")
    with pytest.raises(ValueError, match="not a checkpoint"):
        clf.fit(*data, resume=True)
    assert clf.predict_proba().equal(before)
    assert len(clf.history_.loss) == 3
