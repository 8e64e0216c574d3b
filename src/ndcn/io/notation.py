"""How the numbers of a column are written: 1234.5, 1234,5, 1,234.5, 1.234,5."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from .cells import unspaced

_SIGN = r"[-+\u2212]?"
_NUMERIC = re.compile(_SIGN + r"[\d.,]*\d[\d.,]*")
_PLAIN = re.compile(_SIGN + r"(0|[1-9]\d*)")
_EITHER = {
    mark: re.compile(rf"{_SIGN}[1-9]\d{{0,2}}{re.escape(mark)}\d{{3}}") for mark in ",."
}  # 1,234: both are possible
_GROUPS = {
    mark: re.compile(rf"{_SIGN}[1-9]\d{{0,2}}(({m}\d{{3}})+{o}\d+|({m}\d{{3}}){{2,}})")  # 1,234.5 or 1,234,567
    for mark, m, o in ((",", ",", r"\."), (".", r"\.", ","))
}
_DECIMAL = {mark: re.compile(rf"{_SIGN}\d*{re.escape(mark)}\d*([eEdD][-+]?\d+)?") for mark in ",."}
WORDS = {",": "commas", ".": "points"}


@dataclass(frozen=True)
class Notation:
    """Marks of the numbers in a column.

    Attributes:
        decimal: "." or ",".
        thousands: the sign between groups of three digits, "," or "."; empty for none. Blanks and apostrophes may always
            stand there, as they have no other meaning.
        example: a cell that shows the thousands, or one that could be read in two ways.
        doubtful: whether nothing in the column or the file decides between the two ways.
    """

    decimal: str = "."
    thousands: str = ""
    example: str = ""
    doubtful: bool = False

    @property
    def remark(self) -> str:
        """What to say about it; empty if nothing."""
        if self.doubtful:
            whole = self.example.replace(",", "").replace(".", "")
            other = "." if self.decimal == "," else ","
            return (
                f"{self.example!r} could be {whole} or {self.example.replace(',', '.')}, and is read as the second; if it is the "
                f'first, write it so, or say decimal="{other}" (--decimal {other})'
            )
        return f"thousands are separated by {WORDS[self.thousands]} ({self.example!r})" if self.thousands else ""


def decimal_mark(cells: Collection[str]) -> str:
    """ "," or "." if some cell can only be read with that decimal mark and none with the other; else ""."""
    texts = [unspaced(cell.strip()) for cell in cells]
    sure = [mark for mark in ",." if any(mark in text and _shows_decimal(text, mark) for text in texts)]
    return sure[0] if len(sure) == 1 else ""


def notation_of(cells: Collection[str], file: str = "", usual: str = ".") -> Notation:
    """The notation of a column, by its cells.

    A cell such as 1,234 is one thousand if the column or the file has numbers that can only be read with a decimal point,
    and a little more than one if they need a decimal comma. Where neither is found, it is one thousand if all numbers without
    a mark are below 1000 (three decimals throughout would mark them all) and some marked one ends in 0 (decimals as
    programs write them do not).

    Args:
        cells: distinct cells; those that are no numbers are passed over.
        file: the decimal mark that other columns show, or that the user named; empty if not known.
        usual: the decimal mark where nothing decides.

    Example:
        >>> notation_of(["987", "1,230", "12,345,678"])
        Notation(decimal='.', thousands=',', example='12,345,678', doubtful=False)
        >>> notation_of(["1.234", "5,5"]).thousands, notation_of(["1,234", "1.5"]).thousands
        ('.', ',')
    """
    if file and not any(("." if file == "," else ",") in cell for cell in cells):
        return Notation(file)  # the most common case, in short
    texts = [
        text for cell in cells if ("," in cell or "." in cell) and _NUMERIC.fullmatch(text := unspaced(cell.strip()))
    ]
    if not texts:
        return Notation(file or usual)
    decimal = decimal_mark(texts) or file
    for mark, other in ((",", "."), (".", ",")):
        grouped = next((text for text in texts if _GROUPS[mark].fullmatch(text)), "")
        if grouped and decimal != mark:
            return Notation(other, mark, grouped)
    for mark, other in ((",", "."), (".", ",")):
        either = [text for text in texts if _EITHER[mark].fullmatch(text)]
        if not either:
            continue
        if decimal:
            return Notation(decimal, mark if decimal == other else "", either[0])
        plain = [abs(int(text.replace("\u2212", "-"))) for cell in cells if _PLAIN.fullmatch(text := cell.strip())]
        small = bool(plain) and max(plain) < 1000
        if small and any(text.endswith("0") for text in either):
            return Notation(other, mark, either[0])
        if mark != usual:
            return Notation(usual, mark, either[0])
        return Notation(mark, "", either[0], doubtful=small or mark == ",")
    return Notation(decimal or usual)


def _shows_decimal(text: str, mark: str) -> bool:
    """Whether a text can only be read with this decimal mark: 0,5 or 1.234,5, but not 1,234."""
    other = "." if mark == "," else ","
    if _DECIMAL[mark].fullmatch(text):
        return text[-1] != mark and not _EITHER[mark].fullmatch(text)
    return other in text and _GROUPS[other].fullmatch(text) is not None
