"""Random tables of edges and states, from a seed: sensible ones, and sensible ones in which much went wrong."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from datetime import date, timedelta

WORDS = [
    *(
        "",
        " ",
        "NaN",
        "nan",
        "inf",
        "-inf",
        "N/A",
        "null",
        "None",
        "True",
        "-",
        ".",
        "e",
        "1e",
        "+",
        "--1",
        "1,5",
        "1_000",
    ),
    *(
        "1e308",
        "-1e308",
        "1e-320",
        "1e400",
        "-0",
        "0x10",
        "1 000",
        "99999999999999999999999",
        "-999",
        "1e-400",
        "5%",
        "$3",
    ),
    *(
        "2021-01-01",
        "2021-13-45",
        "2021-02-30",
        "01/02/2021",
        "31.12.1999",
        "12:00",
        "2021-W05",
        "0000-00-00",
        "9999-12-31",
    ),
    *(
        "10000-01-01",
        "2021-01-01T00:00:00Z",
        "1969-12-31T23:59:59+14:00",
        "Mar 5",
        "1e9",
        "1609459200",
        "NaT",
        "-1",
        "2021",
    ),
    *(
        "É",
        "日本",
        "\u202e",
        "😀",
        "\u200b",
        "\ufeff",
        "١٢",
        "½",
        "２",
        "ß",
        "İ",
        "\x07",
        "\x1b[31m",
        "\x85",
        "\u2028",
        "a\x0bb",
    ),
    *("=cmd()", "<script>", "'", "\\", "#", "%s", "{}", "../x", "x" * 300, "a->b", "node", "time", "source", "x_lower"),
]
BROKEN = ['"', '"a\nb"', '"a""b"', "a\rb", "a\x00b", '"a,b"', '"unclosed']  # cells that break lines and quotes
DELIMITERS = [",", ",", ",", ";", "\t", "|", " "]
NAMES = (
    ["a", "b", "c", "d", "e", "f"],
    ["1", "2", "3", "4", "5", "6"],
    ["São Paulo", "Île", "日本", "n'd", "New York", "x"],
)
KINDS = ["counts", "counts", "normal", "normal", "constant", "wild", "few"]
Rows = list[list[str]]


def tables(seed: int) -> tuple[bytes, bytes]:
    """A file of edges and a file of states, of at most 6 nodes and 20 times."""
    rng = random.Random(seed)
    names = rng.choice(NAMES)[: rng.randint(1, 6)]
    edges, states = _edges(rng, names), _states(rng, names)
    if rng.random() < 0.03:
        edges, states = states, edges
    wrong = rng.choice([0, 0, 0, 1, 1, 1, 2, 4])
    for _ in range(wrong):
        rng.choice(FAULTS)(rng, rng.choice([edges, states]))
    if rng.random() < 0.03:
        states = [[rng.choice(WORDS + BROKEN) for _ in range(rng.randint(0, 4))] for _ in range(rng.randint(0, 6))]
    return tuple(_encoded(rng, rows, rng.random() < 0.1) for rows in (edges, states))  # type: ignore[return-value]


def number(rng: random.Random) -> str:
    """A number over 600 decades."""
    return repr(rng.choice([-1, 1]) * rng.random() * 10.0 ** rng.uniform(-300, 300))


def _edges(rng: random.Random, names: list[str]) -> Rows:
    if rng.random() < 0.1:
        return [["", *names], *([a, *[str(rng.randint(0, 2)) for _ in names]] for a in names)]
    pairs = [[rng.choice(names), rng.choice(names)] for _ in range(rng.randint(0, 12))]
    pairs += [[a, b] for a, b in itertools.pairwise(names)]
    heads = rng.choice([["source", "target"], ["from", "to"], ["a", "b"]])
    if rng.random() < 0.4:
        kind = rng.choice(["counts", "counts", "normal", "wild", "few"])
        heads, pairs = [*heads, "weight"], [[*pair, _value(rng, kind)] for pair in pairs]
    return [heads, *pairs] if rng.random() < 0.9 else pairs


def _times(rng: random.Random, count: int) -> list[str]:
    kind = rng.choice(["step", "step", "step", "date", "date", "date", "uneven", "clock", "wild"])
    if kind == "date":
        first, gap = date(rng.choice([1, 1900, 2020, 9000]), 1, 28), rng.choice([1, 7, 30])
        style = rng.choice(["%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%Y%m%d", "%b %d %Y"])
        return [(first + timedelta(days=gap * k)).strftime(style) for k in range(count)]
    if kind == "clock":
        return [f"2021-03-28T{k % 24:02d}:00:00" for k in range(count)]
    if kind == "uneven":
        return [repr(t) for t in sorted(rng.uniform(0, 10) for _ in range(count))]
    return [number(rng) for _ in range(count)] if kind == "wild" else [str(k) for k in range(count)]


def _value(rng: random.Random, kind: str) -> str:
    if kind == "wild":
        return number(rng)
    if kind == "few":
        return rng.choice(["0", "1", "-1", "2.5", "1e300", "1e-300", "nan", ""])
    if kind == "constant":
        return "3"
    return str(rng.randint(0, 50)) if kind == "counts" else f"{rng.gauss(0, 1):.3f}"


def _states(rng: random.Random, names: list[str]) -> Rows:
    count, kind = rng.choice([0, 1, 2, 3, *[12, 14, 16, 20] * 3]), rng.choice(KINDS)
    times = _times(rng, count)
    if rng.random() < 0.6:
        return [["time", *names], *([t, *[_value(rng, kind) for _ in names]] for t in times)]
    values = ["x", "y"][: rng.randint(1, 2)]
    return [["node", "time", *values], *([a, t, *[_value(rng, kind) for _ in values]] for t in times for a in names)]


def _cell(rng: random.Random, rows: Rows) -> tuple[list[str], int] | None:
    full = [row for row in rows if row]
    if not full:
        return None
    row = rng.choice(full)
    return row, rng.randrange(len(row))


def _some_words(rng: random.Random, rows: Rows) -> None:
    for _ in range(rng.choice([1, 1, 3, 10])):
        if (place := _cell(rng, rows)) is not None:
            place[0][place[1]] = rng.choice(WORDS if rng.random() < 0.8 else BROKEN)


def _some_numbers(rng: random.Random, rows: Rows) -> None:
    for _ in range(rng.choice([1, 3])):
        if (place := _cell(rng, rows[1:])) is not None:
            place[0][place[1]] = number(rng)


def _ragged(rng: random.Random, rows: Rows) -> None:
    if (place := _cell(rng, rows)) is not None:
        place[0][place[1] :] = [] if rng.random() < 0.5 else ["1"] * rng.randint(1, 30)


def _twice(rng: random.Random, rows: Rows) -> None:
    if rows:
        rows.insert(rng.randrange(len(rows) + 1), list(rng.choice(rows)))


def _gone(rng: random.Random, rows: Rows) -> None:
    if rows:
        del rows[rng.randrange(len(rows)) : rng.randrange(len(rows)) + 1]


def _no_header(rng: random.Random, rows: Rows) -> None:
    del rows[:1]


def _headers_alike(rng: random.Random, rows: Rows) -> None:
    if rows:
        rows[0] = [rng.choice(rows[0] or ["x"]) for _ in rows[0]]


def _shuffled(rng: random.Random, rows: Rows) -> None:
    rng.shuffle(rows)


def _column_of_words(rng: random.Random, rows: Rows) -> None:
    word = rng.choice(WORDS)
    for row in rows:
        row.insert(min(len(row), 1), word)


def _turned(rng: random.Random, rows: Rows) -> None:
    width = max((len(row) for row in rows), default=0)
    rows[:] = [[row[k] if k < len(row) else "" for row in rows] for k in range(width)]


def _blank_lines(rng: random.Random, rows: Rows) -> None:
    for _ in range(3):
        rows.insert(rng.randrange(len(rows) + 1), rng.choice([[], ["", ""], ["# comment"], ["%"]]))


FAULTS: list[Callable[[random.Random, Rows], None]] = [
    *(_some_words, _some_words, _some_numbers, _ragged, _twice, _gone, _no_header, _headers_alike),
    *(_shuffled, _column_of_words, _turned, _blank_lines),
]


def _encoded(rng: random.Random, rows: Rows, odd: bool) -> bytes:
    """As text; ``odd`` has a rare encoding, mark, line end or noise."""
    comma = rng.choice(DELIMITERS)
    quote = rng.random() < 0.1
    cells = [[f'"{cell}"' if quote or (comma in cell and rng.random() < 0.9) else cell for cell in row] for row in rows]
    end = rng.choice(["\n", "\r\n", "\r"]) if odd else "\n"
    text = end.join(comma.join(row) for row in cells) + (end if rng.random() < 0.9 else "")
    raw = text.encode(rng.choice(["utf-16", "utf-8-sig", "utf-32", "latin-1", "cp1252"]) if odd else "utf-8", "replace")
    if odd and rng.random() < 0.3:
        at = rng.randrange(len(raw) + 1)
        raw = raw[:at] + rng.choice([b"\x00", b"\xff\xfe", rng.randbytes(20)]) + raw[at:]
    return raw
