"""``ndcn fit``: learn a model from data."""

from __future__ import annotations

import sys
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .guard import FAILED, note
from .options import Json, Loss, ModelName, Precision, Preset, check_output, print_json

if TYPE_CHECKING:
    from ..estimators import DynamicsRegressor
    from ..sampling import Split


def fit(
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="Folder with data, as `ndcn simulate` or Trajectory.save write it.")
    ],
    model: Annotated[ModelName, typer.Option(help="What to learn: the paper's model or one of its ablations.")] = (
        ModelName.ndcn
    ),
    preset: Annotated[Preset, typer.Option(help="Training recipe; paper is the published one.")] = Preset.default,
    epochs: Annotated[
        int | None, typer.Option(min=1, help="Full-batch gradient steps. Default: 2000.", show_default=False)
    ] = None,
    learning_rate: Annotated[
        float | None,
        typer.Option(help="Learning rate of Adam at the start. Default: 0.06; paper 0.01.", show_default=False),
    ] = None,
    weight_decay: Annotated[
        float | None, typer.Option(help="l2 penalty on the weights. Default: 0; paper 0.001.", show_default=False)
    ] = None,
    hidden: Annotated[int, typer.Option(min=1, help="Width of the hidden state.")] = 20,
    objective: Annotated[Loss, typer.Option(help="Loss at each observed time.")] = Loss.l1,
    validation: Annotated[
        float, typer.Option(help="Share of the training times, in [0, 1), to choose the best weights on.")
    ] = 0.0,
    patience: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="With --validation: stop after so many epochs without a better loss there. Default: never.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the initial weights and of the validation times.")] = 0,
    device: Annotated[str, typer.Option(help="Where to compute: cpu, cuda, cuda:1, ...")] = "cpu",
    dtype: Annotated[Precision, typer.Option(help="Precision to compute in.")] = Precision.float32,
    interpolation: Annotated[
        float,
        typer.Option(
            help="Share of the snapshots, in [0, 1), held back between the training times.", show_default="1/6"
        ),
    ] = 1 / 6,
    extrapolation: Annotated[
        float,
        typer.Option(
            help="Share of the snapshots, in [0, 1), held back at the end. 0 and 0 train on all.", show_default="1/6"
        ),
    ] = 1 / 6,
    split_seed: Annotated[int, typer.Option(min=0, help="Seed of which snapshots are held back.")] = 0,
    out: Annotated[Path, typer.Option(help="File to write the model to.")] = Path("model.ndcn"),
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Go on from OUT.checkpoint if it is there; the result is that of a run never interrupted.",
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Learn the dynamics of a network from snapshots.

    Some snapshots are held back, so that `ndcn evaluate` can judge the model on them. While it trains, a checkpoint is
    kept beside the model about every 20 seconds. Ctrl-C ends after the current epoch and saves the best weights so far.

    Example: ndcn fit data --epochs 1000 --out model.ndcn
    """
    check_output(out)
    checkpoint = out.with_name(out.name + ".checkpoint")
    import ndcn

    parts = ndcn.split(
        ndcn.Trajectory.load(data), interpolation=interpolation, extrapolation=extrapolation, seed=split_seed
    )
    estimator = ndcn.DynamicsRegressor(
        model=model.value,
        preset=preset.value,
        hidden=hidden,
        objective=objective.value,
        epochs=epochs,
        learning_rate=learning_rate,
        weight_decay=weight_decay,
        validation=validation,
        patience=patience,
        checkpoint=checkpoint,
        seed=seed,
        device=device,
        dtype=dtype.value,
    )
    again = resume and checkpoint.exists()
    if checkpoint.exists() and not resume:
        note(f"note: {checkpoint} is from an earlier run and will be overwritten; --resume would go on from it")
    if not sys.stderr.isatty():
        note(f"{'resuming' if again else 'training'} {model.value} on {parts.train!r}")
    try:
        estimator.fit(parts.train, resume=resume)
    except ndcn.TrainingError:
        if estimator.history_.loss:
            estimator.save(out)
            note(f"note: the last good weights are in {out}")
        raise
    except KeyboardInterrupt:
        kept = f"; {checkpoint} is kept: go on with --resume" if checkpoint.exists() else ""
        note(f"stopped at once: {out} was not written{kept}")
        raise
    estimator.save(out)
    interrupted = estimator.history_.stopped == "interrupted"
    if not interrupted:
        checkpoint.unlink(missing_ok=True)
    _report(estimator, parts, out, as_json)
    if interrupted:
        note(f"error: interrupted; {out} holds the best weights so far. Go on with the same command and --resume")
        raise typer.Exit(FAILED)


def _report(estimator: DynamicsRegressor, parts: Split, out: Path, as_json: bool) -> None:
    history = estimator.history_
    if as_json:
        print_json(
            {
                "out": str(out),
                "model": estimator.model,
                "parameters": sum(p.numel() for p in estimator.model_.parameters()),
                "epochs": len(history.loss),
                "loss": history.loss[-1],
                "validation_loss": min((value for _, value in history.validation if isfinite(value)), default=None),
                "stopped": history.stopped,
                "seconds": history.seconds,
                "snapshots": {name: 0 if part is None else len(part) for name, part in parts._asdict().items()},
            }
        )
        return
    ended = {"early": ", stopped early", "interrupted": ", interrupted"}.get(history.stopped, "")
    typer.echo(
        f"{estimator.model}: {len(history.loss)} epochs in {history.seconds:.1f} s{ended}, "
        f"last training loss {history.loss[-1]:.4g}\nwritten to {out}"
    )
