"""``python -m ndcn``: the command line, also where the script ``ndcn`` is not on the path."""

from .cli import main

if __name__ == "__main__":
    main()
