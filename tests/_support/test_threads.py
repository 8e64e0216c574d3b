from __future__ import annotations

import torch

from ndcn._support.threads import WORTH_TWO, threads_for


def test_small_problems_take_one_thread_and_the_setting_comes_back() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with threads_for(WORTH_TWO - 1):
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 2
        with threads_for(WORTH_TWO):
            assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
