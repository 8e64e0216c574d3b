"""Which command a mistyped or unknown word may mean."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

# words that people try, and the commands that do it
MEANT = {
    "forecast": ("fit", "predict"), "train": ("fit",), "learn": ("fit",), "model": ("fit",), "discover": ("fit",),
    "check": ("inspect",), "read": ("inspect",), "validate": ("inspect",), "describe": ("inspect",), "info": ("inspect",),
    "score": ("evaluate",), "test": ("evaluate", "network-test"), "backtest": ("evaluate",), "what-if": ("predict",),
    "plot": ("report", "inspect"), "page": ("report",), "html": ("report",), "show": ("report",), "generate": ("simulate",),
    "network": ("network-test",), "paper": ("reproduce",), "tables": ("reproduce",), "version": ("--version",),
    "help": ("--help",), "example": ("demo",), "start": ("demo",),
}  # fmt: skip


def suggested(word: str, commands: Sequence[str]) -> list[str]:
    """Commands that a word may mean, the likeliest first; those that no longer exist are left out.

    Example:
        >>> suggested("inspct", ["fit", "inspect"]), suggested("forcast", ["fit", "predict"])
        (['inspect'], ['fit', 'predict'])
    """
    near = get_close_matches(word.lower(), [*commands, *MEANT], n=2)
    found = [command for name in near for command in ((name,) if name in commands else MEANT[name])]
    return [command for command in dict.fromkeys(found) if command in commands or command.startswith("--")]
