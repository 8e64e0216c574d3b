"""What a new interpreter says of ndcn, as JSON: tests of one start, which takes seconds, share it (tests/test_fresh.py)."""

from __future__ import annotations

import json
import sys

import ndcn

HEAVY = ["pandas", "sklearn", "matplotlib", "networkx", "torchdiffeq", "rich", "pyarrow", "torch"]
MODULES = ("datasets", "fields", "metrics", "models", "networks", "operators", "sampling", "tables")

said: dict[str, object] = {"heavy": [name for name in HEAVY if name in sys.modules]}

said["modules"] = []
for name in MODULES:
    exec(f"import ndcn.{name} as place; said['modules'].append(place is ndcn.{name})")

import ndcn.plot  # noqa: E402

said["pyplot"] = "matplotlib.pyplot" in sys.modules

said["estimator"] = ndcn.DynamicsRegressor.__module__
said["error"] = ndcn.TrainingError.__module__

from ndcn.experiments.spec import load_table  # noqa: E402
from ndcn.laws.formula import Formula  # noqa: E402

said["parameters"] = Formula("ab*x + a + abc*b").parameters
said["key"] = next(load_table("regular").all_runs()).key

import torch  # noqa: E402

from ndcn.training.adam import Adam  # noqa: E402

weight = torch.nn.Parameter(torch.ones(2))
optimizer = Adam([weight], lr=0.1, fused=True)
weight.sum().backward()
optimizer.step()
optimizer.zero_grad()
optimizer.load_state_dict(optimizer.state_dict())
said["compiler"] = "torch._dynamo" in sys.modules

print(json.dumps(said))
