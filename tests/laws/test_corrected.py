"""Laws as names and numbers: every named law comes back from JSON, and nothing else is taken for one."""

from __future__ import annotations

import json

import pytest
import torch

from ndcn import laws
from ndcn.laws.corrected import described, law_from
from problems import GRAPHS, states


@pytest.mark.parametrize("name", laws.NAMED)
def test_every_named_law_comes_back(name: str) -> None:
    law, graph = laws.NAMED[name](), GRAPHS["weighted"]
    law = law.with_values(**{key: 1.1 * getattr(law, key) + 0.01 for key in law._names})
    again = law_from(json.loads(json.dumps(described(law))))
    assert type(again) is type(law)
    x, t = states(graph, len(law.features or ("x",))), torch.tensor(0.0, dtype=torch.float64)
    assert torch.equal(again(t, x, graph), law(t, x, graph))


def test_values_of_nodes_come_back() -> None:
    law = laws.Heat([0.5, 1.5, 2.5])
    assert described(law) == {"name": "heat", "parameters": {"k": [0.5, 1.5, 2.5]}}
    assert torch.equal(law_from(described(law)).k, law.k)


def test_laws_of_ones_own_are_refused() -> None:
    class Warm(laws.Heat):
        pass

    bent = laws.Heat()
    bent.node = lambda x: -x
    for law in (Warm(), laws.Law(), bent):
        with pytest.raises(ValueError, match=f"{type(law).__name__} is a law of your own"):
            described(law)
    with pytest.raises(ValueError, match="unknown parameters"):
        described(laws.Heat(None))


@pytest.mark.parametrize(
    "about",
    [
        None,
        "heat",
        {"name": "heat"},
        {"name": "cold", "parameters": {}},
        {"name": ["heat"], "parameters": {"k": 1.0}},
        {"name": "heat", "parameters": {}},
        {"name": "heat", "parameters": {"k": 1.0, "j": 1.0}},
        {"name": "heat", "parameters": [1.0]},
        *({"name": "heat", "parameters": {"k": k}} for k in (None, "1", True, float("nan"), 10**400, [1.0, [2.0]], {})),
    ],
    ids=str,
)
def test_what_describes_no_law_is_refused(about: object) -> None:
    with pytest.raises(ValueError):
        law_from(about)
