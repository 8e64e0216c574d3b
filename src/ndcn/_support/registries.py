"""All that goes by a name, and where it lives: a new one is a file in its room and a line here.

Nothing is imported: the command line builds its choices from these names without loading torch.
"""

from __future__ import annotations

from .registry import Registry

LAWS = Registry(
    "law",
    {
        "heat": "ndcn.laws.paper:Heat",
        "mutualistic": "ndcn.laws.paper:Mutualistic",
        "gene": "ndcn.laws.paper:Gene",
        "sis": "ndcn.laws.epidemics:SIS",
        "sir": "ndcn.laws.epidemics:SIR",
        "kuramoto": "ndcn.laws.agreement:Kuramoto",
        "consensus": "ndcn.laws.agreement:Consensus",
        "lotka_volterra": "ndcn.laws.populations:LotkaVolterra",
        "wilson_cowan": "ndcn.laws.neurons:WilsonCowan",
        "fitzhugh_nagumo": "ndcn.laws.neurons:FitzHughNagumo",
        "michaelis_menten": "ndcn.laws.kinetics:MichaelisMenten",
    },
)
NETWORKS = Registry(
    "network",
    {name: f"ndcn.graph.networks:{name}" for name in ("grid", "random", "power_law", "small_world", "community")},
)
OPERATORS = Registry(
    "operator",
    {
        name: f"ndcn.graph.operators:{name}"
        for name in (
            "normalized_laplacian",
            "signed_laplacian",
            "laplacian",
            "normalized_adjacency",
            "adjacency",
            "kipf",
        )
    },
)
MODEL_FILES = Registry(
    "model file",
    {"DynamicsRegressor": "ndcn.regressor.files:load", "NodeClassifier": "ndcn.classify.files:load"},
)
# File formats, by the ending of the file's name. A table holds edges, states, features or labels; a graph holds edges.
TABLE_FORMATS = Registry(
    "table format",
    {
        **dict.fromkeys(
            (".csv", ".tsv", ".txt", ".tab", ".dat", ".edges", ".edgelist", ".ssv", ".psv"),
            "ndcn.io.formats.text:TextTable",
        ),
        **dict.fromkeys((".parquet", ".pq"), "ndcn.io.formats.parquet:read"),
        **dict.fromkeys((".nc", ".nc4", ".netcdf"), "ndcn.io.formats.netcdf:read"),
    },
)
GRAPH_FORMATS = Registry(
    "graph format",
    {
        ".graphml": "ndcn.io.formats.graphml:read",
        ".gml": "ndcn.io.formats.gml:read",
        ".json": "ndcn.io.formats.node_link_json:read",
        ".npz": "ndcn.io.formats.npz:read",
        ".mtx": "ndcn.io.formats.matrix_market:read",
    },
)
