from __future__ import annotations

import pytest
import torch
from threadpoolctl import threadpool_info, threadpool_limits

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


def test_numpy_and_scipy_compute_with_one_thread_too() -> None:
    def threads() -> list[int]:
        return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]

    with threadpool_limits(limits=2, user_api="blas"):
        before = threads()
        assert len(before) >= 1
        with one_thread():
            assert threads() == [1] * len(before)
        assert threads() == before
