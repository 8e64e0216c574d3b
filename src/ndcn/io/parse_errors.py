"""Errors of other libraries' parsers, as one line that names the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def parsing(path: Path, form: str, remedy: str = "correct it, or export it again") -> Iterator[None]:
    """Around a call of another library: whatever it raises becomes a ValueError that says which file is damaged.

    Keep our own checks outside, so that their messages stay as they are.

    Example:
        >>> import json
        >>> with parsing(Path("edges.json"), "JSON"):
        ...     json.loads("[1, 2")
        Traceback (most recent call last):
        ...
        ValueError: edges.json cannot be read as JSON: Expecting ',' delimiter: line 1 column 6 (char 5); correct it, or export it again
    """
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:  # parsers raise whatever comes
        raise ValueError(f"{path.name} cannot be read as {form}: {one_line(error)}; {remedy}") from None


def one_line(error: BaseException, width: int = 200) -> str:
    """The message of an error, in one line."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= width else text[:width] + "..."
