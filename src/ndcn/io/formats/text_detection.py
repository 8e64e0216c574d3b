"""How a text table is written, detected from its beginning: encoding, separator, header, comments, decimal sign."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import itertools
import zlib
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from ..._support.limits import check_width
from ..cells import number
from ..files import open_bytes
from ..notation import decimal_mark
from ..table import HeaderHint

HEAD = 1 << 18  # bytes of the beginning that are looked at: some thousand short rows
MOST_HEAD = 1 << 26  # the same where lines are long, until there are 20 of them
ROWS = 500  # rows of the beginning that are looked at: more do not change what is detected, and take time
BLANKS = "blanks"  # columns separated by any number of spaces or tabs
SEPARATORS = {"\t": "tab", ",": "comma", ";": "semicolon", "|": "bar", " ": "space", BLANKS: "blanks"}
MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
csv.field_size_limit(1 << 27)  # cells may be long: Python's own limit of 128 kB refuses texts of whole articles


@dataclass(frozen=True)
class TextForm:
    """What is known of a text file before it is read."""

    encoding: str  # a Python codec
    separator: str  # one character, or BLANKS
    skip: int  # lines before the first row of data
    header: tuple[str, ...] | None  # the names of the columns
    width: int  # how many columns there are
    decimal: str  # "." or ","
    sure: str  # the same if some cell can only be read with it, or the user says so, else ""
    sample: list[list[str]]  # the first rows of data
    invalid: bool  # whether the beginning is not in this encoding


def detect(path: Path, hint: HeaderHint, encoding: str | None = None) -> TextForm:
    """The form of a file; .gz is decompressed.

    Raises:
        ValueError: it is empty, not text, or has only one column.
    """
    head = _head(path)
    if not head.strip(b" \t\r\n\x00"):
        raise ValueError(f"{path.name} is empty; expected a table with a line for each row")
    encoding = encoding or _encoding(head, path)
    invalid = not _decodes(head, encoding)
    text = head.decode(encoding, errors="replace")
    if len(head) >= HEAD and text.count("\n") > 2:
        text = text[: text.rindex("\n") + 1]  # the last line may be cut
    text = text.lstrip("\ufeff")
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    skip = 0
    while skip < len(lines) and (not lines[skip].strip() or lines[skip].lstrip().startswith(("#", "%"))):
        skip += 1
    body = "\n".join(lines[skip:])
    if not body.strip():
        raise ValueError(f"{path.name} has no rows, only {skip} lines of comments or blanks")
    if body.lstrip().lower().startswith("sep=") and "\n" in body:  # what Excel writes and reads
        skip, body = skip + 1, body.split("\n", 1)[1]
    separator = _separator(body, path)
    filled = ((line, row) for line, row in _split(io.StringIO(body), separator) if any(cell.strip() for cell in row))
    beginning = list(itertools.islice(filled, ROWS + 1))
    if not beginning:
        raise ValueError(f"{path.name} has no rows, only separators; export it again")
    first_lines, rows = beginning[0][0], [row for _, row in beginning]
    width = _width(rows[1:] or rows)
    check_width(max(width, len(rows[0])), path.name)
    cells = [cell for row in rows[1:] for cell in row if "," in cell or "." in cell]
    sure = hint.decimal or decimal_mark(cells)
    decimal = sure or ("," if separator not in (",", " ", BLANKS) and _has_decimal_commas(cells) else ".")
    header = None if hint.absent else header_of(rows, hint.names, width, decimal)
    if header is None:
        return TextForm(encoding, separator, skip, None, _width(rows), decimal, sure, rows, invalid)
    if any(cell.strip() for row in rows[1:] for cell in row[len(header) : width]):
        differ = f"the header names {len(header)} columns, but rows have {width}"
        raise ValueError(f"{path.name}: {differ}; name each column in the header, and remove lines above it")
    skip, width = skip + first_lines, max(width, len(header))
    return TextForm(encoding, separator, skip, header, width, decimal, sure, rows[1:], invalid)


def rows_of(path: Path, form: TextForm) -> Iterator[tuple[int, list[str]]]:
    """(line number, cells) of each row of data that is not blank, one after the other."""
    with open_bytes(path) as raw, io.TextIOWrapper(raw, form.encoding, errors="replace", newline=None) as file:
        for _ in range(form.skip):
            file.readline()
        before = 0
        for line, row in _split(file, form.separator):
            if row and (len(row) > 1 or row[0].strip()):
                yield form.skip + before + 1, row
            before = line


def _split(file: IO[str], separator: str) -> Iterator[tuple[int, list[str]]]:
    """(number of the last line, cells) of each row, blank ones too; NUL characters are left out."""
    if separator == BLANKS:
        yield from ((count, line.split()) for count, line in enumerate(file, start=1))
        return
    reader = csv.reader((line.replace("\x00", "") for line in file), delimiter=separator)
    try:
        for row in reader:
            yield reader.line_num, row
    except csv.Error as error:
        raise ValueError(f"line {reader.line_num}: {error}; is a quote never closed?") from None


def _head(path: Path) -> bytes:
    try:
        with open_bytes(path) as file:
            head = file.read(HEAD)
            while head.count(b"\n") < 20 and len(head) < MOST_HEAD and (more := file.read(len(head))):
                head += more
            return head
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{path.name} is not a complete gzip file ({error}); copy it again or unpack it") from None


def _encoding(head: bytes, path: Path) -> str:
    for mark, encoding in MARKS:
        if head.startswith(mark):
            return encoding
    if b"\x00" in head:
        even, odd = head[0::2].count(0), head[1::2].count(0)
        if odd > len(head) // 8 and even < odd // 8:
            return "utf-16-le"
        if even > len(head) // 8 and odd < even // 8:
            return "utf-16-be"
        raise ValueError(f"{path.name} is not text: it holds zero bytes; give CSV, or the right ending (.parquet)")
    return "utf-8"


def _decodes(head: bytes, encoding: str) -> bool:
    try:
        codecs.getincrementaldecoder(encoding)().decode(head)  # not final: the last character may be cut
    except UnicodeDecodeError:
        return False
    return True


def _separator(body: str, path: Path) -> str:
    lines = [line for line in body.split("\n")[:200] if line.strip()]
    best, found = (0.0, 0.0), ""
    for separator in ("\t", ",", ";", "|", " ", BLANKS):
        try:
            widths = Counter(len(row) for _, row in _split(io.StringIO("\n".join(lines)), separator) if row)
        except ValueError:
            continue
        width, count = max(widths.items(), key=lambda item: (item[1], item[0]))
        score = (round(count / sum(widths.values()), 2), float(width))
        if separator in (" ", BLANKS) and found and best[0] > 0.5:
            break  # blanks separate only where nothing else does
        if width > 1 and score > best:
            best, found = score, separator
    if not found:
        unknown = f"{path.name} has only one column, or its separator is none of tab, comma, semicolon, bar and blanks"
        raise ValueError(f"{unknown}; its first line is {lines[0][:60]!r}")
    return found


def _width(rows: list[list[str]]) -> int:
    widths = Counter(len(row) for row in rows)
    return max(widths.items(), key=lambda item: (item[1], item[0]))[0]


def _has_decimal_commas(cells: list[str]) -> bool:
    """Whether commas stand in numbers and points do not."""
    points = sum("." in cell and number(cell) is not None and number(cell) == number(cell) for cell in cells)
    return any("," in cell and number(cell, ",") is not None for cell in cells) and not points


def _number(cell: str, decimal: str) -> float | None:
    """The number in a cell, with or without separated thousands."""
    found = number(cell, decimal)
    return number(cell, decimal, "," if decimal == "." else ".") if found is None else found


def _counts_up(first: list[str], known_names: Collection[str], decimal: str) -> bool:
    """Whether a row is a heading such as Country Name, 1960, 1961: times in order beside a column of names."""
    numbers = [x for cell in first if (x := _number(cell, decimal)) is not None and x == x]
    names = any(word in known_names for cell in first for word in cell.lower().split())
    return names and len(numbers) > 1 and all(a < b for a, b in itertools.pairwise(numbers))


def header_of(rows: list[list[str]], known_names: Collection[str], width: int, decimal: str) -> tuple[str, ...] | None:
    """The first row, if it is a header: it has usual names of columns, or text above numbers, or names that do not come again."""
    first, rest = [cell.strip() for cell in rows[0]], rows[1:]
    known = sum(cell.lower() in known_names for cell in first)
    heads = known >= 2 or (known == 1 and len(first) <= 3)
    if rest and not heads:
        texts = [_number(cell, decimal) is None or not cell for cell in first]
        below = [[_number(row[k], decimal) for row in rest if k < len(row)] for k in range(len(first))]
        numeric = [bool(column) and sum(x is not None for x in column) * 2 > len(column) for column in below]
        if any(numeric):
            text_above_numbers = any(text and below for text, below in zip(texts, numeric, strict=True))
            heads = known > 0 or text_above_numbers or _counts_up(first, known_names, decimal)
        else:
            heads = known > 0 or {cell.strip() for row in rest for cell in row}.isdisjoint(first)
    if not heads:
        return None
    if len(first) == width - 1:  # a column of row names, as R writes it, or an empty column at the end
        empty_end = all(len(row) < width or not row[width - 1].strip() for row in rest)
        first = [*first, ""] if empty_end else ["", *first]
    return tuple(first)
