"""Tables whose columns have types: Parquet (.parquet, .pq), and NetCDF (.nc, .nc4, .netcdf) as a long table.

Such a file names its columns itself, so that the hint about a header is not used.
"""

from __future__ import annotations

from pathlib import Path

from ..._support import parquet
from ..arrow_table import ArrowTable
from ..cells import plain
from ..files import parsing
from ..table import HeaderHint


def read_parquet(path: Path, hint: HeaderHint) -> ArrowTable:
    """The table in a Parquet file."""
    with parsing(path, "Parquet", "write it again"):
        table = parquet.read_parquet(path, path.name)
    return ArrowTable(table, path.name)


def read_netcdf(path: Path, hint: HeaderHint) -> ArrowTable:
    """A row for each combination of coordinates: columns of the dimensions, and of the variables that have all of them.

    Raises:
        ModuleNotFoundError: xarray is not installed.
        ValueError: it cannot be read, or no variable has two dimensions.
    """
    try:
        import xarray  # noqa: PLC0415  # an extra
    except ImportError:
        raise ModuleNotFoundError(f"{path.name}: NetCDF needs xarray: pip install 'ndcn[xarray]'") from None
    with parsing(path, "NetCDF"), xarray.open_dataset(path) as data:
        full = [name for name in data.data_vars if len(data[name].dims) >= 2]
        if not full:
            raise ValueError("no variable has dimensions time and node")
        dims = set(data[full[0]].dims)
        frame = data[[name for name in full if set(data[name].dims) == dims]].to_dataframe().reset_index()
    decoded = frame.map(lambda cell: plain(cell.decode()) if isinstance(cell, bytes) else cell)
    return ArrowTable.from_pandas(decoded, path.name)
