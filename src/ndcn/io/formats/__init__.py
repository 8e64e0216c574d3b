"""File formats. ``_support/registries.py`` says which ending belongs to which.

A table format is a function ``(path, HeaderHint) -> Table``; a graph format is a function ``path -> EdgeList``.
"""
