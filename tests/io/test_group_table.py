"""Tables of groups: which columns hold them, and what is said about names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ndcn.io import read_groups

NODES = ["ann", "bob", "cem", "dot"]


def simple(source: object, **more: object) -> list[tuple[str, list[str], list[int]]]:
    return [(level, names, where.tolist()) for level, names, where in read_groups(source, NODES, **more).columns]  # type: ignore[arg-type]


def test_mappings_series_tables_and_files_say_the_same(tmp_path: Path) -> None:
    groups = {"dot": "north", "bob": "south", "cem": "south", "ann": "north"}
    wanted = [("group", ["north", "south"], [0, 1, 1, 0])]
    assert simple(groups) == simple(pd.Series(groups)) == wanted
    table = pd.DataFrame({"node": list(groups), "group": list(groups.values())})
    table.to_csv(tmp_path / "groups.csv", index=False)
    table.to_csv(tmp_path / "german.csv", index=False, sep=";")
    assert simple(table) == simple(tmp_path / "groups.csv") == simple(str(tmp_path / "german.csv")) == wanted
    assert simple(table.set_index("node")) == wanted


def test_numbers_are_names_too() -> None:
    found = read_groups({3: 1, 7: 2}, [3, 7])
    assert [(names, where.tolist()) for _, names, where in found.columns] == [(["1", "2"], [0, 1])]
    codes = pd.DataFrame({"id": NODES, "code": [11, 11, 12, 12]})
    assert simple(codes) == [("code", ["11", "12"], [0, 0, 1, 1])]


def test_of_a_table_of_nodes_columns_of_repeated_text_are_groups() -> None:
    table = pd.DataFrame(
        {
            "city": NODES,
            "lat": [1.0, 1.0, 2.0, 2.0],
            "lon": [3, 3, 4, 4],
            "rank": [1, 1, 2, 2],
            "full name": ["Ann A", "Bob B", "Cem C", "Dot D"],
            "region": ["n", "n", "s", "s"],
            "land": ["x"] * 4,
        }
    )
    found = read_groups(table, NODES)
    assert [level for level, _, _ in found.columns] == ["region", "land"]
    assert "'lat', 'lon', 'rank', 'full name'" in found.notes[-1]
    assert [level for level, _, _ in read_groups(table, NODES, by=["full name", "rank"]).columns] == [
        "full name",
        "rank",
    ]
    with pytest.raises(ValueError, match=r"no column 'county' \(--by\); its columns are 'city'"):
        read_groups(table, NODES, by=["county"])
    with pytest.raises(ValueError, match="'city' holds the nodes"):
        read_groups(table, NODES, by=["city"])


def test_names_that_do_not_match_are_said() -> None:
    found = read_groups(pd.DataFrame({"node": ["Ann", "bob", "cem"], "region": ["n", "n", None]}), NODES)
    assert [where.tolist() for _, _, where in found.columns] == [[-1, 0, -1, -1]]
    first, second = found.notes
    assert first.startswith("the table of groups: 1 name that the model does not have, left out: 'Ann'; ")
    assert "may be the same node" in first
    assert second == "the table of groups: 3 nodes without a region, in the total alone: 'ann', 'cem', 'dot'"


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"node": NODES}, "no column of groups beside 'node'"),
        ({"node": NODES, "lat": [1, 1, 2, 2], "lon": [1, 1, 2, 2]}, "no column of groups"),
        ({"node": NODES, "other": ["a", "b", "c", "d"]}, "in which the names of groups repeat, or name it with --by"),
        ({"node": NODES, "size": [1.5, 1.5, 2.5, 2.5]}, "no column of groups"),
        ({"node": ["ann", "ann"], "region": ["n", "s"]}, "'ann' has a row already"),
        ({"node": ["Rome", "Bern"], "region": ["n", "n"]}, "none of its names is a node of the data"),
        ({"node": ["ann", None], "region": ["n", "n"]}, "must name a node and is empty"),
        ({"name": NODES, "total": ["n", "n", "s", "s"]}, "no column of groups can be called 'total'"),
    ],
)
def test_tables_that_cannot_be_used(table: dict[str, list[object]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_groups(pd.DataFrame(table), NODES)


def test_nothing_is_no_grouping() -> None:
    with pytest.raises(ValueError, match=r"there are none; give \{node: group\}"):
        read_groups({}, NODES)
    with pytest.raises(TypeError, match="groups must be the name of a file or a pandas table, got ndarray"):
        read_groups(np.zeros(4), NODES)
