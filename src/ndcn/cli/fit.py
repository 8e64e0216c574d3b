"""``ndcn fit``: learn a model from data."""

from __future__ import annotations

import sys
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import parts as parts_of_network, reading
from .checkpoints import Files
from .guard import FAILED, data_notes, note, notes
from .options import (
    EPOCHS,
    HORIZON,
    KEEP_OUTLIERS,
    KIND,
    LAW,
    PERIOD,
    Activation,
    Data,
    Json,
    KindOfData,
    Loss,
    ModelName,
    OperatorName,
    Precision,
    Preset,
    States,
    check_model_output,
    option,
    print_json,
    time_text,
)

if TYPE_CHECKING:
    from ..data import Dataset, Split, Trajectory
    from ..regressor import DynamicsRegressor, Kind

MODEL = (
    "What to learn: auto looks for a law that explains the data to their noise, and without one compares forecasts by their past errors "
    "and keeps the best; ndcn is the paper's model, no_* are "
    "its ablations; interaction, closed_form and free_form find the law; the others are baselines. Default: auto for two "
    "files, ndcn for a folder."
)
COMPARE_LEARNED = "auto only: train ndcn, interaction and gru_gnn on past windows and compare them too; minutes."
SECONDS = (
    "Laws: seconds after which the best law so far is taken, with a warning. Default: none. auto: seconds after which a search for a "
    "law ends, of which there are two. Default: 30."
)
LEARNING_RATE = (
    "Initial learning rate of Adam. Default: 0.06; of residual_gnn 0.01, of temporal GNNs 0.001; paper 0.01."
)
WEIGHT_DECAY = "l2 penalty on the weights. Default: 0; paper 0.001."
HIDDEN = "Width of the hidden state. Default: 20; of temporal GNNs 10."
PATIENCE = "With --validation: stop after so many epochs without a better loss there. Default: never."
HELD_BACK = "Share of the snapshots, in [0, 1), held back"
SHARE = "Default: 1/6; auto: none."
RESUME = "Continue from OUT.checkpoint if it is there; the result is that of a run never interrupted."


@reading.reads_files
def fit(
    data: Data,
    states: States = None,
    model: Annotated[ModelName | None, option(MODEL)] = None,
    horizon: Annotated[int | None, option(f"auto only. {HORIZON}", min=1)] = None,
    compare_learned: Annotated[bool, option(COMPARE_LEARNED, "--compare-learned")] = False,
    law: Annotated[bool, option(f"auto only. {LAW}", "--law/--no-law")] = True,
    seconds: Annotated[float | None, option(SECONDS)] = None,
    kind_of_data: Annotated[KindOfData | None, option(f"auto only. {KIND}", "--kind")] = None,
    period: Annotated[int | None, option(f"auto only. {PERIOD}", min=2)] = None,
    keep_outliers: Annotated[bool, option(f"auto only. {KEEP_OUTLIERS}", "--keep-outliers")] = False,
    preset: Annotated[Preset, option("Training recipe; paper is the published one.")] = Preset.default,
    epochs: Annotated[int | None, option(EPOCHS, min=1)] = None,
    learning_rate: Annotated[float | None, option(LEARNING_RATE)] = None,
    weight_decay: Annotated[float | None, option(WEIGHT_DECAY)] = None,
    hidden: Annotated[int | None, option(HIDDEN, min=1)] = None,
    operator: Annotated[
        OperatorName, option("How the graph enters the field; signed_laplacian takes negative weights too.")
    ] = OperatorName.signed_laplacian,
    activation: Annotated[Activation, option("Activation of the field.")] = Activation.relu,
    objective: Annotated[Loss, option("Loss at each observed time.")] = Loss.l1,
    clip_norm: Annotated[float | None, option("Limit of the gradient's norm. Default: none.")] = None,
    validation: Annotated[float, option("Share of training times, in [0, 1), to choose the best weights on.")] = 0.0,
    patience: Annotated[int | None, option(PATIENCE, min=1)] = None,
    seed: Annotated[int, option("Seed of the initial weights and of the validation times.", min=0)] = 0,
    ensemble: Annotated[
        int, option("Models to train, from SEED, SEED + 1, ...; predictions are their mean.", min=1)
    ] = 1,
    jobs: Annotated[
        int | None, option("With --ensemble or --compare-learned: processes. Default: one for each core.", min=1)
    ] = None,
    ray: Annotated[
        str,
        option(
            "With --ensemble or --compare-learned: a Ray cluster, auto or its address.",
            metavar="ADDRESS",
            show_default="none",
        ),
    ] = "",
    device: Annotated[str, option("Where to compute: cpu, cuda, cuda:1, ...")] = "cpu",
    dtype: Annotated[Precision, option("Precision to compute in.")] = Precision.float32,
    interpolation: Annotated[float | None, option(f"{HELD_BACK} between the training times. {SHARE}")] = None,
    extrapolation: Annotated[float | None, option(f"{HELD_BACK} at the end; 0 and 0 train on all. {SHARE}")] = None,
    split_seed: Annotated[int, option("Seed of which snapshots are held back.", min=0)] = 0,
    out: Annotated[Path, option("Model file; an existing one is replaced once training is finished.")] = Path(
        "model.ndcn"
    ),
    resume: Annotated[bool, option(RESUME, "--resume")] = False,
    how: reading.How = reading.PLAIN,
    as_json: Json = False,
) -> None:
    """Learn the dynamics of a network from snapshots.

    Some snapshots are held back, so that `ndcn evaluate` can judge the model on them. While it trains, a checkpoint is
    kept beside the model about every 20 seconds. Ctrl-C ends after the current epoch and saves the best weights so far,
    as OUT.partial where OUT was there before; with --model interaction it saves the best law so far; auto stops at once
    and writes nothing.

    Your own network is two files, one of edges and one of states: `ndcn inspect` tells how they are understood. In them
    auto looks for a law. Where none explains the data, it makes a forecast. Either learns from all snapshots: a law is
    judged by the last quarter of them, a forecast by a rolling-origin backtest.

    Example: ndcn fit edges.csv states.csv --horizon 28 --out model.ndcn, or: ndcn fit data --epochs 1000
    """
    check_model_output(out)
    import ndcn

    from .._support.wording import Listed, counted
    from ..regressor import kind_for

    kind = kind_for(model.value if model is not None else "ndcn" if states is None else "auto")
    options: dict[str, Any] = {
        "horizon": horizon,
        "compare_learned": compare_learned or None,
        "law": law and None,
        "period": period,
        "seconds": seconds,
    }
    options |= {"kind": kind_of_data and kind_of_data.value, "keep_outliers": keep_outliers or None}
    asked = kind.configured({name: value for name, value in options.items() if value is not None})
    _check_held_out(kind, interpolation, extrapolation)
    files = Files(out, ensemble)
    estimator = ndcn.DynamicsRegressor(
        model=asked, preset=preset.value, hidden=hidden, operator=operator.value, activation=activation.value,
        objective=objective.value, epochs=epochs, learning_rate=learning_rate, weight_decay=weight_decay,
        clip_norm=clip_norm, validation=validation, patience=patience, checkpoint=files.checkpoint, seed=seed,
        device=device, dtype=dtype.value, ensemble=ensemble, jobs=ray or jobs,
    )  # fmt: skip
    if resume and not kind.can.resume:
        raise ValueError(f"`{kind.name}` does not use `--resume`, for it keeps no checkpoints; remove it")
    shared = parts_of_network.is_shared(data, kind)
    known = how.read(data, states)
    resume = resume or (kind.can.resume and shared and parts_of_network.restarted())
    said = ["--kind", kind_of_data.value] if kind_of_data else []
    said += ["--period", str(period)] if period else []
    held = kind.holds_out(asked, known)
    data_notes(known, [data, states, *how.words(), *said], held)
    between, after = (1 / 6 if share is None else share for share in (interpolation, extrapolation))
    runs = () if kind.can.judges_itself else known.runs
    parts = [ndcn.split(run, interpolation=between, extrapolation=after, seed=split_seed) for run in runs]
    train = replace(known, runs=tuple(part.train for part in parts)) if parts else known
    _announce(kind, train, files, resume, law)
    if shared and not resume and parts_of_network.writes():  # a restart must not take one of another run for its own
        files.remove_checkpoints()
    _learn(estimator, train if states is not None or not parts else parts[0].train, files, resume)
    interrupted = len(estimator.models_) < ensemble or any(h.stopped == "interrupted" for h in estimator.histories_)
    written = files.unfinished if interrupted else out
    estimator.save(written)
    notes(line for line in estimator.fitted_.notes if not isinstance(line, Listed))  # counted above
    choice = estimator.choice_
    if held and estimator.fitted_.forecast is None and not (choice is not None and choice.outliers):
        note(f"note: the law explains the data with {counted(held, 'cell')} that would be held out of a forecast")
    if as_json:
        _print_json(estimator, known, parts, written)
    else:
        _print(estimator, written)
    if interrupted:
        note(
            f"error: interrupted; {written} holds the best weights so far{files.unchanged}. "
            "Continue with the same command and --resume"
        )
        raise typer.Exit(FAILED)
    if parts_of_network.writes():
        files.remove_checkpoints()


def _check_held_out(kind: Kind, interpolation: float | None, extrapolation: float | None) -> None:
    """Refuse to hold out snapshots from a model that is judged by its own past forecasts."""
    for name, share in (("--interpolation", interpolation), ("--extrapolation", extrapolation)):
        if share and kind.can.judges_itself:
            raise ValueError(
                f"{name}: {kind.name} learns from all snapshots and is judged by its past forecasts: drop it, or name a model that "
                "is trained, as --model ndcn"
            )


def _announce(kind: Kind, train: Dataset, files: Files, resume: bool, law: bool) -> None:
    """Say what begins, where no progress bar does, and what will be overwritten."""
    from .._support.wording import counted

    found = files.found(resume)
    if not sys.stderr.isatty():
        compare = f"{'looking for a law, then ' * law}comparing forecasts of"
        doing = "resuming" if found and resume else compare if kind.can.judges_itself else "training"
        of = f"{counted(len(train.runs[0]), 'snapshot')} of {parts_of_network.nodes_of(train.runs[0].graph)}"
        runs = f"{len(train.runs)} runs, the first " if len(train.runs) > 1 else ""
        note(f"{doing}{'' if kind.can.judges_itself else f' {kind.name} on'} {runs}{of} ...")


def _learn(estimator: DynamicsRegressor, train: Trajectory | Dataset, files: Files, resume: bool) -> None:
    """Fit; what is left of a fit that failed is kept."""
    import ndcn

    try:
        estimator.fit(train, resume=resume)
    except ndcn.TrainingError as error:
        if error.fitted is not None and estimator.history_.loss:
            estimator.save(files.unfinished)
            note(f"note: the last good weights are in {files.unfinished}{files.unchanged}")
        raise
    except KeyboardInterrupt:
        files.say_stopped()
        raise


def _print_json(estimator: DynamicsRegressor, known: Dataset, parts: list[Split], out: Path) -> None:
    fitted, calendar = estimator.fitted_, estimator.calendar_
    history, losses = fitted.histories[0], [h.loss[-1] for h in fitted.histories if h.loss]
    validated = [value for h in fitted.histories for _, value in h.validation if isfinite(value)]
    held_out = {
        name: sum(len(part) for split in parts if (part := getattr(split, name)) is not None)
        for name in ("train", "interpolation", "extrapolation")
    }
    print_json(
        {
            "out": str(out),
            "model": estimator.title_,
            "members": len(fitted.modules),
            "parameters": sum(p.numel() for p in fitted.modules[0].parameters()),
            "epochs": len(history.loss),
            "loss": sum(losses) / len(losses) if losses else None,
            "validation_loss": min(validated, default=None),
            "stopped": history.stopped,
            "seconds": sum(h.seconds for h in fitted.histories),
            "snapshots": held_out if parts else {"train": len(fitted.initial[0].times)},
            "notes": [*known.notes, *fitted.notes],
            **fitted.facts(),
            **({} if calendar is None else {"calendar": calendar.to_json()}),
        }
    )


def _print(estimator: DynamicsRegressor, out: Path) -> None:
    fitted = estimator.fitted_
    history, members = fitted.histories[0], len(fitted.modules)
    seconds, summary, ahead = sum(h.seconds for h in fitted.histories), fitted.summary(), fitted.steps
    if summary is not None:
        first, last = (
            (time_text(t, estimator.calendar_) for t in (ahead.times[0], ahead.times[-1])) if ahead else ("", "")
        )
        made = f"forecasts of {ahead.steps} steps, {first} to {last}, " if ahead else ""
        typer.echo(f"{summary}\n{seconds:.1f} s; {made}written to {out}")
    elif not history.loss:
        typer.echo(f"{estimator.title_}: nothing to learn\nwritten to {out}")
    else:
        ended = {"early": ", stopped early", "interrupted": ", interrupted"}.get(history.stopped, "")
        count = "" if members == 1 else f"{members} members, "
        loss = sum(h.loss[-1] for h in fitted.histories) / members
        typer.echo(
            f"{estimator.title_}: {count}{len(history.loss)} epochs in {seconds:.1f} s{ended}, "
            f"last training loss {loss:.4g}\nwritten to {out}"
        )
