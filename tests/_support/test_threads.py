from __future__ import annotations

import pytest
import torch

from ndcn._support.threads import WORTH_TWO, one_thread, threads_for


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


def test_the_number_of_threads_comes_back_after_an_error() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        with pytest.raises(RuntimeError), one_thread():
            torch.rand(4).view(5)
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)
