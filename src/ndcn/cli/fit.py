"""``ndcn fit``: learn a model from data."""

from __future__ import annotations

import sys
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import automatic, reading
from .guard import FAILED, note
from .options import Activation, Json, Loss, ModelName, OperatorName, Precision, Preset, check_output, print_json

if TYPE_CHECKING:
    from ..data import Split
    from ..regressor import DynamicsRegressor


@reading.reads_files
def fit(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="Folder with data, as `ndcn simulate` or Trajectory.save write it; or, with STATES, a file of edges.",
        ),
    ],
    states: Annotated[
        Path | None,
        typer.Argument(metavar="STATES", help="File of states, if DATA is a file of edges; see `ndcn inspect`."),
    ] = None,
    model: Annotated[
        ModelName | None,
        typer.Option(
            help="What to learn: auto compares forecasts by their past errors and keeps the best; ndcn is the paper's "
            "model, no_* are its ablations; interaction, closed_form and free_form find the law; the others are baselines. "
            "Default: auto for two files, ndcn for a folder.",
            show_default=False,
        ),
    ] = None,
    horizon: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Of auto: how many steps ahead to forecast. Default: 14, or a quarter of the snapshots if that is less.",
            show_default=False,
        ),
    ] = None,
    compare_learned: Annotated[
        bool,
        typer.Option(
            "--compare-learned",
            help="Of auto: train ndcn, interaction and gru_gnn on past windows and compare them too; minutes.",
        ),
    ] = False,
    preset: Annotated[Preset, typer.Option(help="Training recipe; paper is the published one.")] = Preset.default,
    epochs: Annotated[
        int | None, typer.Option(min=1, help="Full-batch gradient steps. Default: 2000.", show_default=False)
    ] = None,
    learning_rate: Annotated[
        float | None,
        typer.Option(
            help="Learning rate of Adam at the start. Default: 0.06; of residual_gnn 0.01, of temporal GNNs 0.001; "
            "paper 0.01.",
            show_default=False,
        ),
    ] = None,
    weight_decay: Annotated[
        float | None, typer.Option(help="l2 penalty on the weights. Default: 0; paper 0.001.", show_default=False)
    ] = None,
    hidden: Annotated[
        int | None,
        typer.Option(min=1, help="Width of the hidden state. Default: 20; of temporal GNNs 10.", show_default=False),
    ] = None,
    operator: Annotated[
        OperatorName, typer.Option(help="How the graph enters the field; signed_laplacian takes negative weights too.")
    ] = OperatorName.signed_laplacian,
    activation: Annotated[Activation, typer.Option(help="Activation of the field.")] = Activation.relu,
    objective: Annotated[Loss, typer.Option(help="Loss at each observed time.")] = Loss.l1,
    clip_norm: Annotated[
        float | None, typer.Option(help="Limit of the gradient's norm. Default: none.", show_default=False)
    ] = None,
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
    ensemble: Annotated[
        int,
        typer.Option(
            min=1, help="Models to train, from SEED, SEED + 1, ...; predictions are their mean, with its spread."
        ),
    ] = 1,
    jobs: Annotated[
        int | None,
        typer.Option(min=1, help="With --ensemble: processes. Default: one for each core.", show_default=False),
    ] = None,
    device: Annotated[str, typer.Option(help="Where to compute: cpu, cuda, cuda:1, ...")] = "cpu",
    dtype: Annotated[Precision, typer.Option(help="Precision to compute in.")] = Precision.float32,
    interpolation: Annotated[
        float | None,
        typer.Option(
            help="Share of the snapshots, in [0, 1), held back between the training times. Default: 1/6; of auto none.",
            show_default=False,
        ),
    ] = None,
    extrapolation: Annotated[
        float | None,
        typer.Option(
            help="Share of the snapshots, in [0, 1), held back at the end; 0 and 0 train on all. Default: 1/6; of auto "
            "none.",
            show_default=False,
        ),
    ] = None,
    split_seed: Annotated[int, typer.Option(min=0, help="Seed of which snapshots are held back.")] = 0,
    out: Annotated[
        Path,
        typer.Option(help="File to write the model to; a file that is there is replaced once training is finished."),
    ] = Path("model.ndcn"),
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Go on from OUT.checkpoint if it is there; the result is that of a run never interrupted.",
        ),
    ] = False,
    how: reading.How = reading.PLAIN,
    as_json: Json = False,
) -> None:
    """Learn the dynamics of a network from snapshots.

    Some snapshots are held back, so that `ndcn evaluate` can judge the model on them. While it trains, a checkpoint is
    kept beside the model about every 20 seconds. Ctrl-C ends after the current epoch and saves the best weights so far,
    as OUT.partial where OUT was there before.

    Your own network is two files, one of edges and one of states: `ndcn inspect` tells how they are understood. Of them
    auto makes a forecast: it learns from all snapshots, and is judged by what it would have said in the past.

    Example: ndcn fit edges.csv states.csv --horizon 28 --out model.ndcn, or: ndcn fit data --epochs 1000
    """
    check_output(out)
    unfinished = out.with_name(out.name + ".partial") if out.exists() else out
    checkpoint = out.with_name(out.name + ".checkpoint")
    name = model.value if model is not None else "ndcn" if states is None else "auto"
    automatic.check_options(
        name, horizon, compare_learned, resume=resume, interpolation=interpolation, extrapolation=extrapolation
    )
    import ndcn

    known = how.read(data, states)
    for line in known.notes:
        note(f"note: {line}")
    estimator = ndcn.DynamicsRegressor(
        model=automatic.model_named(name, horizon, compare_learned),
        preset=preset.value,
        hidden=hidden,
        operator=operator.value,
        activation=activation.value,
        objective=objective.value,
        epochs=epochs,
        learning_rate=learning_rate,
        weight_decay=weight_decay,
        clip_norm=clip_norm,
        validation=validation,
        patience=patience,
        checkpoint=checkpoint,
        seed=seed,
        device=device,
        dtype=dtype.value,
        ensemble=ensemble,
        jobs=jobs,
    )
    if name == "auto":
        automatic.fit(estimator, known, out, as_json)
        return
    between, after = (1 / 6 if share is None else share for share in (interpolation, extrapolation))
    parts = [ndcn.split(one, interpolation=between, extrapolation=after, seed=split_seed) for one in known.runs]
    train = replace(known, runs=tuple(part.train for part in parts))
    checkpoints = [checkpoint] if ensemble == 1 else [Path(f"{checkpoint}.{k}") for k in range(ensemble)]
    found = [path for path in checkpoints if path.exists()]
    if found and not resume:
        note(f"note: {found[0]} is from an earlier run and will be overwritten; --resume would go on from it")
    if not sys.stderr.isatty():
        note(f"{'resuming' if found and resume else 'training'} {name} on {train!r}")
    try:
        estimator.fit(train if states is not None else parts[0].train, resume=resume)
    except ndcn.TrainingError:
        if hasattr(estimator, "models_") and estimator.history_.loss:
            estimator.save(unfinished)
            note(f"note: the last good weights are in {unfinished}{_unchanged(out, unfinished)}")
        raise
    except KeyboardInterrupt:
        kept = [path for path in checkpoints if path.exists()]
        note(f"stopped at once: {out} was not written" + (f"; {kept[0]} is kept: go on with --resume" if kept else ""))
        raise
    if len(estimator.models_) < ensemble or any(h.stopped == "interrupted" for h in estimator.histories_):
        estimator.save(unfinished)
        _report(estimator, parts, unfinished, as_json)
        note(
            f"error: interrupted; {unfinished} holds the best weights so far{_unchanged(out, unfinished)}. "
            "Go on with the same command and --resume"
        )
        raise typer.Exit(FAILED)
    estimator.save(out)
    for path in (*checkpoints, unfinished if unfinished != out else None):
        if path is not None:
            path.unlink(missing_ok=True)
    _report(estimator, parts, out, as_json)


def _unchanged(out: Path, unfinished: Path) -> str:
    return "" if unfinished == out else f"; {out} is as it was"


def _report(estimator: DynamicsRegressor, parts: list[Split], out: Path, as_json: bool) -> None:
    histories = estimator.histories_
    history, members = histories[0], len(histories)
    loss = sum(h.loss[-1] for h in histories) / members if history.loss else None
    seconds = sum(h.seconds for h in histories)
    law = _law(estimator)
    if as_json:
        validated = (value for h in histories for _, value in h.validation if isfinite(value))
        print_json(
            {
                "out": str(out),
                "model": estimator.model,
                "members": members,
                "parameters": sum(p.numel() for p in estimator.model_.parameters()),
                "epochs": len(history.loss),
                "loss": loss,
                "validation_loss": min(validated, default=None),
                "stopped": history.stopped,
                "seconds": seconds,
                "law": law,
                "snapshots": {
                    name: sum(len(part) for split in parts if (part := getattr(split, name)) is not None)
                    for name in ("train", "interpolation", "extrapolation")
                },
                **({} if estimator.calendar_ is None else {"calendar": estimator.calendar_.to_json()}),
            }
        )
        return
    if law is not None:
        found = law["equation"] or "f and g are smooth functions without a formula"
        typer.echo(f"{found}\n{law['reason']}\n{seconds:.1f} s; written to {out}")
        return
    if loss is None:
        typer.echo(f"{estimator.model}: nothing to learn\nwritten to {out}")
        return
    ended = {"early": ", stopped early", "interrupted": ", interrupted"}.get(history.stopped, "")
    count = "" if members == 1 else f"{members} members, "
    typer.echo(
        f"{estimator.model}: {count}{len(history.loss)} epochs in {seconds:.1f} s{ended}, "
        f"last training loss {loss:.4g}\nwritten to {out}"
    )


def _law(estimator: DynamicsRegressor) -> dict[str, str | None] | None:
    """Of a law that was identified: its form, its equation, and why it was chosen."""
    if not hasattr(estimator, "learned_"):
        return None
    evidence = estimator.evidence_
    equation = str(estimator.equations()) if evidence.form == "closed" else None
    return {"form": evidence.form, "equation": equation, "reason": evidence.reason}
