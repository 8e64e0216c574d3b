"""Train one model on a partitioned network with Ray Train: the workers of a Ray cluster take the place of torchrun.

    pip install 'ndcn[ray]'
    ndcn partition data --parts 2 --out parts
    python examples/cluster/ray_train.py parts model.ndcn

Every worker must see the folder of parts and the folder of the model under these paths. Run again, it resumes from the checkpoint; Ray
does so by itself when a worker or its machine is lost, three times here.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from ray.train import FailureConfig, RunConfig, ScalingConfig
from ray.train.torch import TorchConfig, TorchTrainer


def train(config: dict[str, Any]) -> None:
    """What each worker does; Ray has initialised the process group."""
    import ndcn

    data = ndcn.distributed.read_part(config["parts"])
    checkpoint = config["out"] + ".checkpoint"
    reg = ndcn.DynamicsRegressor(epochs=config["epochs"], checkpoint=checkpoint, progress=False).fit(data, resume=True)
    reg.save(config["out"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--epochs", type=int, default=500)
    options = parser.parse_args()
    workers = json.loads((options.parts / "partition.json").read_text())["parts"]
    config = {"parts": str(options.parts.resolve()), "out": str(options.out.resolve()), "epochs": options.epochs}
    trainer = TorchTrainer(
        train,
        train_loop_config=config,
        torch_config=TorchConfig(backend="gloo", timeout_s=300),
        scaling_config=ScalingConfig(num_workers=workers),
        run_config=RunConfig(storage_path=tempfile.mkdtemp(), failure_config=FailureConfig(max_failures=3)),
    )
    trainer.fit()
    Path(config["out"] + ".checkpoint").unlink(missing_ok=True)
    print(f"written to {options.out}")


if __name__ == "__main__":
    main()
