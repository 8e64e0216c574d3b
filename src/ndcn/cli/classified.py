"""What ``ndcn classify`` says and writes."""

from __future__ import annotations

from pathlib import Path
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any

import typer

from .._support.wording import percent
from .checkpoints import Files, unfinished_table
from .guard import FAILED, note
from .options import write_table

if TYPE_CHECKING:
    import pandas as pd

    from ..classify import NodeBaseline, NodeClassifier, NodeDataset, NodeRun


def written(
    done: list[NodeRun], asked: int, data: NodeDataset, out: Path | None, files: Files | None
) -> dict[str, str | None]:
    """Write the table and the classifier of the first run that finished, beside those that were there if others did not; where."""
    table = out if out is None or len(done) == asked else unfinished_table(out)
    if table is not None:
        write_table(_table(done[0].estimator, data), table)
    save = None if files is None else _save(done, data, files)
    return {"out": None if table is None else str(table), "save": None if save is None else str(save)}


def end_runs(facts: dict[str, Any], out: Path | None, files: Files | None) -> None:
    """Remove the checkpoints, or say how many runs Ctrl-C left, and end with the exit code of a failure."""
    finished, asked = facts["runs"], facts["runs_asked"]
    if finished == asked:
        if files is not None:
            files.remove_checkpoints()
        return
    places = ((facts["out"], out), (facts["save"], None if files is None else files.out))
    kept = "".join(
        f"; {new} is of the first of them" + (f"; {path} is as it was" if new != str(path) else "")
        for new, path in places
        if new is not None
    )
    again = "" if files is None else ". Continue with the same command and --resume"
    note(f"error: interrupted; {finished} of {asked} runs finished, which are reported{kept}{again}")
    raise typer.Exit(FAILED)


def _save(done: list[NodeRun], data: NodeDataset, files: Files) -> Path:
    """Write the classifier of the first run that finished; beside one that was there if others did not."""
    import torch

    from ..classify import TEST

    estimator = done[0].estimator
    estimator.split_ = torch.where(data.test_mask, TEST, estimator.split_)
    path = files.out if len(done) == files.members else files.unfinished
    estimator.save(path)
    return path


def _table(estimator: NodeClassifier | NodeBaseline, data: NodeDataset) -> pd.DataFrame:
    """For each node: the predicted class, the probability of each, the class if it is known, and what the node was for."""
    import numpy as np
    import pandas as pd

    classes = np.array([*data.classes, ""], dtype=object)
    probabilities = estimator.predict_proba().numpy()
    part = np.full(len(probabilities), "", dtype=object)
    for word, mask in (("train", data.train_mask), ("validation", data.val_mask), ("test", data.test_mask)):
        part[mask.numpy()] = word
    columns = {f"p({name})": probabilities[:, k] for k, name in enumerate(data.classes)}
    return pd.DataFrame(
        {
            "node": list(data.graph.nodes),
            "predicted": classes[probabilities.argmax(axis=1)],
            **columns,
            "known": (data.labels >= 0).numpy(),
            "label": classes[data.labels.numpy()],  # -1 is the last: none
            "split": part,
        }
    )


def measured(data: NodeDataset, done: list[NodeRun]) -> dict[str, Any]:
    """Accuracies on the test and validation nodes, and what they were measured on."""
    accuracies = [run.accuracy for run in done if run.accuracy is not None]
    chosen = [run.validation for run in done if run.validation is not None]
    recall = {name: mean(run.recall[name] for run in done) for name in done[0].recall}
    common = data.labels[data.train_mask].bincount().argmax()
    masks = {"train": data.train_mask, "validation": data.val_mask, "test": data.test_mask}
    return {
        "accuracy": mean(accuracies) if accuracies else None,
        "std": stdev(accuracies) if len(accuracies) > 1 else None,
        "runs": len(done),
        "accuracies": accuracies,
        "validation_accuracy": mean(chosen) if chosen else None,
        "commonest_class": (data.labels[data.test_mask] == common).double().mean().item() if accuracies else None,
        "balanced_accuracy": mean(recall.values()) if recall else None,
        "recall": recall,
        "ece": mean(run.ece for run in done if run.ece is not None) if accuracies else None,
        "temperature": done[0].temperature,
        "field": None if done[0].choice is None else done[0].choice.field,
        "assortativity": None if done[0].choice is None else done[0].choice.assortativity,
        "verdict": None if done[0].choice is None else str(done[0].choice),
        "nodes": data.graph.num_nodes,
        "edges": data.graph.num_edges,
        "features": int(data.features.shape[1]),
        "classes": list(data.classes),
        "split": {name: int(mask.sum()) for name, mask in masks.items()},
    }


def print_classified(facts: dict[str, Any], data: NodeDataset) -> None:
    """Print the facts as lines of text."""
    paper, recall = facts["paper"], facts["recall"]
    published = ", the paper's preset" if facts["preset"] == "paper" else ""
    typer.echo(f"{facts['model']}{published} on {data!r}")
    if facts["accuracy"] is None:
        typer.echo("no test nodes: the accuracy is not known")
    else:
        several = f" over {facts['runs']} runs" if facts["runs"] > 1 else ", one run"
        theirs = "" if paper is None else f"; the paper: {percent(paper['accuracy'], paper['std'])}"
        ours = percent(facts["accuracy"], facts["std"])
        typer.echo(f"test accuracy {ours} of {facts['split']['test']} nodes{several}{theirs}")
        worst = min(recall, key=lambda name: recall[name])
        balanced = percent(facts["balanced_accuracy"])
        typer.echo(f"balanced accuracy {balanced}; lowest recall: {worst}, {percent(recall[worst])}")
        how = "not calibrated" if facts["split"]["validation"] else "probabilities as trained, without validation nodes"
        if facts["temperature"] is not None:
            how = f"calibrated on the validation nodes, temperature {facts['temperature']:.2g}"
        typer.echo(f"expected calibration error {percent(facts['ece'])} ({how})")
        typer.echo(f"(always the most common class of training: {percent(facts['commonest_class'])})")
    if facts["verdict"] is not None:
        typer.echo(facts["verdict"])
    written = [path for path in (facts["out"], facts["save"]) if path is not None]
    typer.echo(f"{facts['seconds']:.1f} s" + "".join(f"\nwritten to {path}" for path in written))
