"""All that goes by a name, and where it lives: a new one is a file in its package and a line here.

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
        "metapopulation_sir": "ndcn.laws.epidemics:MetapopulationSIR",
        "kuramoto": "ndcn.laws.agreement:Kuramoto",
        "consensus": "ndcn.laws.agreement:Consensus",
        "lotka_volterra": "ndcn.laws.populations:LotkaVolterra",
        "wilson_cowan": "ndcn.laws.neurons:WilsonCowan",
        "fitzhugh_nagumo": "ndcn.laws.neurons:FitzHughNagumo",
        "michaelis_menten": "ndcn.laws.kinetics:MichaelisMenten",
        "swing": "ndcn.laws.power:Swing",
    },
)
NETWORKS = Registry(
    "network",
    {name: f"ndcn.graph.networks:{name}" for name in ("grid", "random", "power_law", "small_world", "community")},
)
DATASETS = Registry(
    "data set",
    {
        "epidemic": "ndcn.datasets.us_epidemic:epidemic",
        "power_grid": "ndcn.datasets.ieee30:power_grid",
        "opinions": "ndcn.datasets.karate_opinions:opinions",
    },
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
    {"DynamicsRegressor": "ndcn.regressor.loading:load_regressor", "NodeClassifier": "ndcn.classify.files:load"},
)
MODELS = Registry(
    "model",
    {
        **{
            name: f"ndcn.regressor.kinds.trained:{name.upper()}"
            for name in (
                "ndcn",
                "no_encode",
                "no_graph",
                "no_control",
                "residual_gnn",
                "rnn_gnn",
                "gru_gnn",
                "lstm_gnn",
            )
        },
        **{name: f"ndcn.regressor.kinds.curve:{name.upper()}" for name in ("persistence", "linear", "spline")},
        **{
            name: f"ndcn.regressor.kinds.interaction:{name.upper()}"
            for name in ("interaction", "closed_form", "free_form")
        },
        "auto": "ndcn.regressor.kinds.forecast:AUTO",
    },
)
# What can be passed as a model besides a name; the first kind that accepts it takes it.
MODEL_OBJECTS = Registry(
    "model",
    {
        "Interaction": "ndcn.regressor.kinds.interaction:INTERACTION",
        "Auto": "ndcn.regressor.kinds.forecast:AUTO",
        "Law": "ndcn.regressor.kinds.known_law:KNOWN_LAW",
        "Curve": "ndcn.regressor.kinds.curve:READY_CURVE",
        "Module": "ndcn.regressor.kinds.module:MODULE",
    },
)
# What a package calls in one above it; docs/decisions.md says why.
CALLS_UPWARDS = Registry(
    "call upwards",
    {
        "compared model": "ndcn.regressor.compared:ComparedModel",
        "page": "ndcn.report:write_report",
        "page of a classifier": "ndcn.report:write_class_report",
        "page of a reconstruction": "ndcn.report:write_network_report",
    },
)
ACTIVATIONS = Registry(
    "activation", {"relu": "torch:relu", "tanh": "torch:tanh", "softplus": "torch.nn.functional:softplus"}
)
NODE_MODELS = Registry(
    "node model",
    {
        "ndcn": "ndcn.classify.classifier:NodeClassifier",
        **dict.fromkeys(("gcn", "gat", "agnn", "mlp", "label_propagation"), "ndcn.classify.baselines:NodeBaseline"),
    },
)
NEED_PYG = ("gcn", "gat", "agnn")  # of NODE_MODELS, those with layers of PyTorch Geometric
NOT_TRAINED = ("label_propagation",)  # of NODE_MODELS, those without weights, and so without chance
TABLES = Registry(
    "table",
    {
        **dict.fromkeys(("extrapolation", "interpolation", "regular"), "ndcn.experiments.targets:Errors"),
        "classification": "ndcn.experiments.targets:Accuracies",
        "parameters": "ndcn.experiments.targets:Parameters",
    },
)
FIGURES = Registry(
    "figure", {"figures": "ndcn.experiments.targets:DynamicsFigures", "sweep": "ndcn.experiments.targets:AccuracySweep"}
)
SECTIONS = Registry(
    "section of the page",
    {
        name: f"ndcn.report.sections.{name}:SECTION"
        for name in ("inputs", "errors", "forecast", "law", "node_values", "training", "repeat")
    },
)
CLASS_SECTIONS = Registry(
    "section of the page of a classifier",
    {
        **{
            name: f"ndcn.report.sections.{name}:SECTION" for name in ("unsure", "confusion", "reliability", "over_time")
        },
        **{name: f"ndcn.report.sections.{name}:OF_CLASSIFIER" for name in ("training", "repeat")},
    },
)
# Names alone, which the command line offers; tests compare them with what goes by them.
SERIES_KINDS = ("totals", "counts", "values")
PRESETS = ("default", "paper")  # of RECIPES in training/recipes.py and classify/training.py
LOSSES = ("l1", "l2", "huber")  # of PENALTIES in training/objective.py
# File formats, by the ending of the file's name. A table holds edges, states, features or labels; a graph holds edges.
TABLE_FORMATS = Registry(
    "table format",
    {
        **dict.fromkeys(
            (".csv", ".tsv", ".txt", ".tab", ".dat", ".edges", ".edgelist", ".ssv", ".psv"),
            "ndcn.io.formats.text:TextTable",
        ),
        **dict.fromkeys((".parquet", ".pq"), "ndcn.io.formats.parquet_netcdf:read_parquet"),
        **dict.fromkeys((".xlsx", ".xlsm", ".xls"), "ndcn.io.formats.spreadsheets:read_excel"),
        **dict.fromkeys((".nc", ".nc4", ".netcdf"), "ndcn.io.formats.parquet_netcdf:read_netcdf"),
    },
)
GRAPH_FORMATS = Registry(
    "graph format",
    {
        ".graphml": "ndcn.io.formats.networkx_graphs:read_graphml",
        ".gml": "ndcn.io.formats.networkx_graphs:read_gml",
        ".json": "ndcn.io.formats.networkx_graphs:read_json",
        ".npz": "ndcn.io.formats.matrices:read_npz",
        ".mtx": "ndcn.io.formats.matrices:read_mtx",
    },
)
