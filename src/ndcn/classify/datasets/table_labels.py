"""A table of labels: the classes, the class of each node, and a split of one's own."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from ..._support.wording import counted, some
from ...io import Table, column_names
from ..node_data import UNKNOWN
from .node_rows import NodeRows, read_node_rows

PARTS = {"train": 0, "training": 0, "validation": 1, "val": 1, "test": 2}
WHOLE = re.compile(r"(0|-?[1-9]\d*)(\.0*)?")
NUMBER = re.compile(r"-?\d*\.?\d+(e[+-]?\d+)?", re.IGNORECASE)


@dataclass(frozen=True)
class Labels:
    """Rows of labels."""

    rows: NodeRows  # the node of each row, and the table they come from
    heading: str | None  # of the column of labels; None where the table has no header
    labels: list[str | None]  # as text; None where the class is not known
    parts: list[int] | None  # 0 training, 1 validation, 2 test, -1 none of them; None if the table has no split
    cautions: tuple[str, ...]  # what may be an oversight


def read_labels(source: Any, known: Collection[str], node: str | None, label: str | None) -> Labels:
    """Labels from a file or a pandas table.

    Raises:
        FileNotFoundError, TypeError, ValueError: see ``read_node_rows``; also labels that are no classes, or another split.
    """
    found: dict[str, int] = {}

    def roles(table: Table, at: int) -> dict[int, str]:
        found.update(_label_columns(table, at, label))
        return dict.fromkeys(found.values(), "name")

    rows = read_node_rows(source, "labels", column_names.LABELS, known, node, roles)
    labels, cautions = _plain_labels(rows, rows.texts(found["label"]))
    heading = rows.headings[found["label"]] if rows.headings else None
    parts = [_part(word, rows.title) for word in rows.texts(found["split"])] if "split" in found else None
    return Labels(rows, heading, labels, parts, tuple(cautions))


def _label_columns(table: Table, node: int, label: str | None) -> dict[str, int]:
    """Which column holds the labels, and which the split, if there is one."""
    split = column_names.find(table.columns, column_names.SPLIT, taken=[node])
    found = {} if split is None else {"split": split}
    if label is not None:
        return {**found, "label": column_names.chosen(table.columns, label, table.title, "--label")}
    free = [k for k in range(len(table.columns)) if k not in (node, split)]
    for names in ({"label"}, column_names.LABEL):
        named = column_names.find(table.columns, names, taken=(node, split))
        if named is not None:
            return {**found, "label": named}
    needed = f'{table.title} needs the columns "node" and "label"; beside nodes it has'
    if table.headed:
        free = [k for k in free if table.columns[k].strip().lower() not in column_names.INDEX]
        if len(free) != 1:
            others = ", ".join(table.name(k) for k in free) or "none"
            raise ValueError(f"{needed} {others}: name the one of labels with --label")
    if not free:
        raise ValueError(f"{needed} none")
    return {**found, "label": free[0]}


def class_codes(labels: Labels, place: Mapping[str, int]) -> tuple[tuple[str, ...], torch.Tensor, torch.Tensor | None]:
    """The classes, the class of each node, and which part it is in if the table says so.

    Raises:
        ValueError: rows that disagree, fewer than two classes, or a part of the split without a label.
    """
    title = labels.rows.title
    said: dict[str, tuple[str | None, int]] = {}
    parts = labels.parts or [UNKNOWN] * len(labels.labels)
    for name, label, part in zip(labels.rows.names, labels.labels, parts, strict=True):
        if said.setdefault(name, (label, part)) != (label, part):
            raise ValueError(f"{title} has rows that disagree about node {name!r}; keep one of them")
    known = {label for label in labels.labels if label is not None}
    classes = sorted(known, key=int) if all(map(WHOLE.fullmatch, known)) else sorted(known)
    if len(classes) < 2:
        raise ValueError(f"{title} must have two classes or more, but has {some(classes) or 'none'}")
    code = {label: k for k, label in enumerate(classes)}
    codes = torch.full((len(place),), UNKNOWN)
    split = None if labels.parts is None else torch.full((len(place),), UNKNOWN)
    for name, (label, part) in said.items():
        if label is not None:
            codes[place[name]] = code[label]
        if split is not None:
            if label is None and part != UNKNOWN:
                raise ValueError(f"{title}: node {name!r} has a part in the split, but no label")
            split[place[name]] = part
    return tuple(classes), codes, split


def _plain_labels(rows: NodeRows, labels: list[str | None]) -> tuple[list[str | None], list[str]]:
    """Labels as text, whole numbers without a decimal point; None where there is none; and what to warn about."""
    known = [label for label in labels if label is not None]
    if not all(map(WHOLE.fullmatch, known)):
        if all(map(NUMBER.fullmatch, known)) and any("." in label for label in known):
            wrong = next(label for label in known if not WHOLE.fullmatch(label))
            what = f"classes are whole numbers or text, got {wrong}"
            raise ValueError(f"{rows.title}: {what}; round or bin such numbers first")
        return labels, []
    negative = [name for name, label in zip(rows.names, labels, strict=True) if label is not None and label[0] == "-"]
    why = f"{rows.title}: negative labels mean that the class is not known"
    cautions = [f"{why}: {counted(len(negative), 'node')}, {some(negative)}"] if negative else []
    return [None if label is None or label[0] == "-" else label.partition(".")[0] for label in labels], cautions


def _part(word: str | None, title: str) -> int:
    if word is None:
        return UNKNOWN
    if word.lower() not in PARTS:
        raise ValueError(f"{title}: split is train, validation, test or empty, got {word!r}")
    return PARTS[word.lower()]
