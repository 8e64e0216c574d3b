"""Adam without torch's compiler."""

from __future__ import annotations

import torch

from ndcn.training.adam import Adam


def test_it_is_torchs_to_the_last_bit() -> None:
    ends = []
    for kind in (torch.optim.Adam, Adam):
        torch.manual_seed(0)
        weight = torch.nn.Parameter(torch.randn(5, 3))
        optimizer = kind([{"params": [weight], "weight_decay": 0.01}], lr=0.05, fused=True)
        for _ in range(7):
            optimizer.zero_grad(set_to_none=True)
            (weight.square() * weight).sum().backward()
            optimizer.step()
            again = kind([{"params": [weight], "weight_decay": 0.01}], lr=0.05, fused=True)
            again.load_state_dict(optimizer.state_dict())
            optimizer = again
        ends.append(weight.detach())
        assert not optimizer.state_dict()["state"][0]["exp_avg"].requires_grad
    assert torch.equal(*ends)


def test_groups_and_weights_without_gradients_are_as_torchs() -> None:
    ends = []
    for kind in (torch.optim.Adam, Adam):
        torch.manual_seed(0)
        weights = [torch.nn.Parameter(torch.randn(4)) for _ in range(3)]
        groups = [{"params": weights[:2], "weight_decay": 0.1}, {"params": weights[2:], "lr": 0.2}]
        optimizer = kind(groups, lr=0.05, fused=True)
        for epoch in range(12):
            optimizer.zero_grad()
            sum((w**4).sum() for k, w in enumerate(weights) if k != 1 or epoch not in (0, 1, 6, 9)).backward()
            optimizer.step()
        steps = [int(optimizer.state[w]["step"]) for w in weights]
        assert steps == [12, 8, 12]
        ends.append(torch.stack([w.detach() for w in weights]))
    assert torch.equal(*ends)


def test_other_kinds_of_steps_are_torchs() -> None:
    ends = []
    for kind in (torch.optim.Adam, Adam):
        found = []
        for options in ({"fused": True, "amsgrad": True}, {"fused": True, "maximize": True}, {"fused": None}):
            weight = torch.nn.Parameter(torch.linspace(-1, 1, 5))
            optimizer = kind([weight], lr=0.1, **options)
            for _ in range(4):
                loss = optimizer.step(lambda weight=weight: _backward(weight))
            found += [weight.detach(), loss.detach().reshape(1)]
        ends.append(torch.cat(found))
    assert torch.equal(*ends)


def _backward(weight: torch.Tensor) -> torch.Tensor:
    weight.grad = None
    loss = weight.square().sum()
    loss.backward()
    return loss


def test_weights_that_make_their_steps_together_count_them_together() -> None:
    weights = [torch.nn.Parameter(torch.ones(2)) for _ in range(3)]
    optimizer = Adam(weights, lr=0.1, fused=True)
    for epoch in range(4):
        optimizer.zero_grad()
        sum(w.sum() for w in weights[: 2 if epoch == 2 else 3]).backward()
        optimizer.step()
    assert [int(optimizer.state[w]["step"]) for w in weights] == [4, 4, 3]
    again = Adam(weights, lr=0.1, fused=True)
    again.load_state_dict(optimizer.state_dict())
    again.step()
    assert [int(again.state[w]["step"]) for w in weights] == [5, 5, 4]
