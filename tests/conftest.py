"""Settings and fixtures that all tests share."""

from __future__ import annotations

import signal

import hypothesis
import pytest
import torch
from threadpoolctl import threadpool_limits

from finding import Cooperation, data_of
from ndcn import DynamicsRegressor, Graph, Interaction, Trajectory, laws
from problems import GRAPHS, SIGNED_GRAPHS

hypothesis.settings.register_profile("ndcn", deadline=None, derandomize=True, max_examples=25)
hypothesis.settings.load_profile("ndcn")

# The matrices of tests are tiny: on a busy machine a second thread makes each product a thousand times slower.
torch.set_num_threads(1)
threadpool_limits(limits=1, user_api="blas")

# A shell lets what it starts in the background ignore Ctrl-C, and so would the commands that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(params=list(GRAPHS))
def graph(request: pytest.FixtureRequest) -> Graph:
    """Every kind of graph with weights >= 0: self-loops, isolated nodes, directed, a single node, no edges."""
    return GRAPHS[request.param]


@pytest.fixture(params=list(SIGNED_GRAPHS))
def any_graph(request: pytest.FixtureRequest) -> Graph:
    """Every kind of graph, also with negative weights."""
    return SIGNED_GRAPHS[request.param]


@pytest.fixture(scope="session")
def heat_data() -> tuple[Trajectory, Trajectory]:
    """Heat on a grid, to its end and as far as it was seen."""
    return data_of(laws.Heat(0.8), count=18)


@pytest.fixture(scope="session")
def heat(heat_data: tuple[Trajectory, Trajectory]) -> DynamicsRegressor:
    """Its law, found."""
    return DynamicsRegressor(model="interaction").fit(heat_data[1])


@pytest.fixture(scope="session")
def cooperation() -> tuple[DynamicsRegressor, Trajectory]:
    """A law that no library holds, found in free form, and the truth."""
    truth, seen = data_of(Cooperation())
    return DynamicsRegressor(model=Interaction("free")).fit(seen), truth
