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
