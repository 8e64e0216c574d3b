"""What a cell means: a name, a number, or missing; and columns of names as codes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

# words for a missing value: of R and pandas, of databases, of statistical offices (- . ..), of spreadsheets (#N/A)
MISSING = (
    *("", "NA", "N/A", "n/a", "na", "NaN", "nan", "NAN", "null", "NULL", "Null", "None", "none", "nil", "missing"),
    *("-", "--", "?", ".", "..", "...", "#N/A", "#NA", "#VALUE!", "#DIV/0!", "#REF!", "NaT", "<NA>", "-nan", "*"),
)
_MISSING = frozenset(MISSING)
_WHOLE = re.compile(r"0|-?[1-9]\d{0,17}")  # fits into int64
_POINT_ZERO = re.compile(r"(0|-?[1-9]\d{0,14})\.0+")  # exact as float64
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eEdD][-+]?\d{1,4})?|[-+]?(inf|infinity|∞)", re.IGNORECASE | re.ASCII)
_BLANKS = re.compile(r"[ \u00a0\u2009\u202f'\u2019]")
_SPACED = re.compile(r"[-+]?\d{1,3}([ \u00a0\u2009\u202f'\u2019]\d{3})+([.,]\d*)?|[-+]?[\u00a0\d.,]+", re.ASCII)
_GROUPED = {mark: re.compile(rf"[-+]?\d{{1,3}}({re.escape(mark)}\d{{3}})+", re.ASCII) for mark in ",."}


@dataclass(frozen=True)
class Names:
    """A column of names: ``labels[codes[row]]``; the code is -1 where the cell is empty."""

    codes: np.ndarray
    labels: list[str]

    @classmethod
    def of(cls, codes: np.ndarray, labels: Sequence[Any]) -> Names:
        """With labels made plain: without blanks around them, in Unicode's composed form, 3 instead of 3.0."""
        texts = [plain(label) for label in labels]
        zeros = [_POINT_ZERO.fullmatch(text) for text in texts]
        pairs = list(zip(zeros, texts, strict=True))
        if any(zeros) and all(zero or not text or _WHOLE.fullmatch(text) for zero, text in pairs):
            texts = [zero[1] if zero else text for zero, text in pairs]
        known: dict[str, int] = {}
        to = np.array([known.setdefault(text, len(known)) if text else -1 for text in texts] + [-1], dtype=np.int32)
        return cls(codes, texts) if len(known) == len(texts) else cls(to[codes], list(known))

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: np.ndarray) -> Names:
        return Names(self.codes[rows], self.labels)

    def texts(self, rows: np.ndarray) -> list[str]:
        """The names in some rows; "" where there is none."""
        return [self.labels[code] if code >= 0 else "" for code in self.codes[rows].tolist()]


def plain(value: Any) -> str:
    """A name as text."""
    if value is None or value != value:
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = str(value).strip().strip("\ufeff\u200b\x00").strip()
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def is_whole(name: str) -> bool:
    """Whether a name is a whole number, written as Python writes it (7, not 007)."""
    return _WHOLE.fullmatch(name) is not None


def is_missing(cell: str) -> bool:
    """Whether a cell says that there is no value."""
    return cell.strip() in _MISSING


def unspaced(text: str) -> str:
    """A number without the blanks or apostrophes between its digits; another text as it is."""
    return _BLANKS.sub("", text) if not text.isalnum() and _SPACED.fullmatch(text) else text


def number(cell: str, decimal: str = ".", thousands: str = "") -> float | None:
    """What number a cell holds: NaN if it is missing, None if it is something else.

    Blanks and apostrophes may separate groups of three digits; another sign is given as ``thousands``.
    """
    text = cell.strip().strip("\ufeff")
    if text in _MISSING:
        return float("nan")
    text = unspaced(text.replace("\u2212", "-"))
    if thousands and thousands in text:
        whole = text.partition(decimal)[0]
        if not _GROUPED[thousands].fullmatch(whole):
            return None
        text = whole.replace(thousands, "") + text[len(whole) :]
    if decimal != ".":
        if "." in text:
            return None
        text = text.replace(decimal, ".")
    if not _NUMBER.fullmatch(text):
        return None
    if text[-1] in "∞":
        text = text.replace("∞", "inf")
    return float(text.replace("d", "e").replace("D", "e"))


def labels_for(names: Collection[str]) -> list[Any]:
    """Names as labels of a graph: sorted, and whole numbers where all are (1, 2, 10), else texts."""
    return sorted(int(name) for name in names) if all(map(is_whole, names)) else sorted(names)
