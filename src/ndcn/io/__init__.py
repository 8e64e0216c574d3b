"""From the files people have to a Dataset: edges, states, features and labels, in any format and layout."""

from __future__ import annotations

from ..data import Calendar, Dataset
from . import column_names as column_names
from .cells import (
    Names as Names,
    is_missing as is_missing,
    is_whole as is_whole,
    labels_for as labels_for,
    number as number,
    plain as plain,
)
from .doubts import doubts as doubts
from .edge_list import EdgeList as EdgeList
from .edges import read_edges as read_edges
from .files import file_and_sheet as file_and_sheet, open_table as open_table
from .graph_building import build_graph as build_graph
from .group_table import GroupTable as GroupTable, read_groups as read_groups
from .input_table import read_inputs as read_inputs
from .inspection import GAP as GAP, Inspection, inspect
from .listing import problems
from .node_matching import (
    isolated_note as isolated_note,
    labels_as_in as labels_as_in,
    refuse_strangers as refuse_strangers,
    spelling_hint as spelling_hint,
)
from .node_table import read_nodes as read_nodes
from .reading import read
from .table import HeaderHint as HeaderHint, Table as Table, refuse_unnamed as refuse_unnamed

__all__ = ["Calendar", "Dataset", "Inspection", "inspect", "problems", "read"]
