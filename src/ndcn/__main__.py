"""``ndcn`` and ``python -m ndcn``: the command line, also where the script is not on the path."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; the entry point of the ``ndcn`` script. Ctrl-C while it is being loaded ends it in words too."""
    try:
        from .cli import main as command_line

        command_line()
    except KeyboardInterrupt:
        print("error: interrupted", file=sys.stderr)
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
