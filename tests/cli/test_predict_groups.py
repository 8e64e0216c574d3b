"""`ndcn predict --groups`: as a user runs it."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ndcn
from commands import parsed, refused, run

OLD = Path(__file__).parent.parent / "fixtures" / "v0_1" / "models"


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of 12 places over 60 days, and a forecast of them."""
    base, rng = tmp_path_factory.mktemp("groups"), np.random.default_rng(0)
    places = [f"place {k:02d}" for k in range(12)]
    pd.DataFrame({"source": places, "target": places[1:] + places[:1]}).to_csv(base / "edges.csv", index=False)
    level = 20 * np.exp(np.cumsum(0.05 * rng.normal(size=60)))[:, None] * rng.lognormal(sigma=2, size=12)
    days = pd.Index(pd.date_range("2021-01-01", periods=60).strftime("%Y-%m-%d"), name="date")
    pd.DataFrame(rng.poisson(level), columns=places, index=days).to_csv(base / "states.csv")
    table = pd.DataFrame(
        {"place": places, "lat": range(12), "region": ["north", "south", "west"] * 4, "land": ["A", "B"] * 6}
    )
    table.to_csv(base / "groups.csv", index=False)
    run("fit", base / "edges.csv", base / "states.csv", "--horizon", 7, "--out", base / "model.ndcn")
    return base


def test_groups_add_up_in_every_row_of_the_csv(folder: Path, base: Path) -> None:
    shown = run(
        "predict", base / "model.ndcn", "--groups", base / "groups.csv", "--level", 0.9, "--out", "forecast.csv"
    )
    assert "7 times from 2021-03-02 to 2021-03-08, 12 nodes: x, and groups" in shown.stdout
    assert "note: groups.csv: columns that hold no groups are not used ('lat')" in shown.stderr
    assert "median" not in run("predict", base / "model.ndcn", "--groups", base / "groups.csv").stderr
    table = pd.read_csv("forecast.csv", dtype=str)
    assert list(table) == ["time", "level", "node", "x", "x_lower", "x_upper"]
    assert len(table) == 7 * (12 + 3 + 2 + 1)
    groups = pd.read_csv(base / "groups.csv").set_index("place")
    for _, day in table.groupby("time"):
        value = day.set_index(["level", "node"])["x"].map(Decimal)
        for level in ("region", "land"):
            for name, places in groups.groupby(level).groups.items():
                assert value[level, name] == sum(value["node", place] for place in places)
        assert value["total", "all nodes"] == sum(value["node"])
        ends = day[["x_lower", "x", "x_upper"]].astype(float).to_numpy()
        assert (np.diff(ends, axis=1) >= 0).all()


def test_every_way_gives_the_same_digits(folder: Path, base: Path) -> None:
    words = ("predict", base / "model.ndcn", "--groups", base / "groups.csv", "--by", "region", "--level", "0.5,0.9")
    run(*words, "--out", "f.csv")
    run(*words, "--out", "f.parquet")
    printed = run(*words).stdout
    assert printed == Path("f.csv").read_text()
    csv, about = pd.read_csv("f.csv"), parsed(*words)
    pd.testing.assert_frame_equal(pd.read_parquet("f.parquet"), csv, check_dtype=False, check_exact=True)
    assert about["groups"][-1] == {"level": "total", "name": "all nodes"}
    assert [one["name"] for one in about["groups"]] == ["north", "south", "west", "all nodes"]
    words_of = {"states": "x", **{w: f"x_{w}" for w in ("lower_50", "upper_50", "lower_90", "upper_90")}}
    for word, column in words_of.items():
        both = np.concatenate([np.array(about[word]), np.array(about["sums"][word])], axis=1)
        np.testing.assert_array_equal(both.reshape(-1), csv[column].to_numpy())
    reg = ndcn.load(base / "model.ndcn")
    table = pd.read_csv(base / "groups.csv")[["place", "region"]]
    python = reg.table(level=[0.5, 0.9], groups=table)
    assert python["time"].dt.strftime("%Y-%m-%d").tolist() == csv["time"].tolist()
    pd.testing.assert_frame_equal(
        python.drop(columns="time"), csv.drop(columns="time"), check_dtype=False, check_exact=True
    )


def test_nodes_have_the_intervals_that_they_have_without_groups(base: Path) -> None:
    plain, both = (
        parsed("predict", base / "model.ndcn", "--level", "0.95", *more)
        for more in ((), ("--groups", base / "groups.csv"))
    )
    assert both["lower"] == plain["lower"]
    assert both["upper"] == plain["upper"]


def test_names_that_do_not_match_are_named(folder: Path, base: Path) -> None:
    Path("some.csv").write_text("node,region\nplace 00,north\nplace 01,north\nPlace 02,south\n")
    shown = run("predict", base / "model.ndcn", "--groups", "some.csv", "--until", "2021-03-02")
    assert "1 name that the model does not have, left out: 'Place 02'" in shown.stderr
    assert "10 nodes without a region, in the total alone: 'place 02', 'place 03'" in shown.stderr
    assert [line.split(",")[1:3] for line in shown.stdout.splitlines()[-2:]] == [
        ["region", "north"],
        ["total", "all nodes"],
    ]
    reg = ndcn.load(base / "model.ndcn")
    with pytest.warns(UserWarning, match="11 nodes without a group"):
        reg.table(groups={"place 00": "north"})


def test_refusals(folder: Path, base: Path, made: Path) -> None:
    Path("other.csv").write_text("node,region\nRome,n\nBern,n\n")
    model, groups = base / "model.ndcn", base / "groups.csv"
    assert "none of its names is a node" in refused("predict", model, "--groups", "other.csv")
    assert "no file nowhere.csv to read groups from" in refused("predict", model, "--groups", "nowhere.csv")
    assert "no column of groups beside" in refused("predict", model, "--groups", base / "edges.csv")
    assert "give --groups too" in refused("predict", model, "--by", "region")
    assert "--plot draws nodes" in refused("predict", model, "--groups", groups, "--plot", "p.png")
    assert "forecast goes from 2021-03-02" in refused("predict", model, "--groups", groups, "--times", "2022-01-01")
    message = refused("predict", made / "model.ndcn", "--groups", groups, "--times", 1)
    assert "groups need the past errors of a forecast" in message


def test_a_forecast_of_an_old_file_says_what_it_lacks(folder: Path) -> None:
    olds = [path for path in sorted(OLD.glob("*.ndcn")) if "forecast" in path.stem or "auto" in path.stem]
    assert olds
    for path in olds:
        nodes = parsed("predict", path)["nodes"]
        Path("groups.csv").write_text("node,group\n" + "".join(f"{node},a\n" for node in nodes))
        assert "written by ndcn 0.2 or earlier. Fit it again" in refused("predict", path, "--groups", "groups.csv")
