"""Kinds of models, one file each; ``_support/registries.py`` names them."""
