"""The small tables of facts from which data sets are made."""

from __future__ import annotations

from importlib import resources

import pandas as pd


def table(name: str) -> pd.DataFrame:
    """One of the CSV files beside this one."""
    with (resources.files(__package__) / f"{name}.csv").open(encoding="utf-8") as file:
        return pd.read_csv(file, keep_default_na=False)
