"""The version of this ndcn."""

__version__ = "0.2.0"
