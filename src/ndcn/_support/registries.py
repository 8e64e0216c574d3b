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
MODELS = Registry(
    "model",
    {
        "ndcn": "ndcn.regressor.kinds.trained:NDCN",
        "no_encode": "ndcn.regressor.kinds.trained:NO_ENCODE",
        "no_graph": "ndcn.regressor.kinds.trained:NO_GRAPH",
        "no_control": "ndcn.regressor.kinds.trained:NO_CONTROL",
        "residual_gnn": "ndcn.regressor.kinds.trained:RESIDUAL_GNN",
        "rnn_gnn": "ndcn.regressor.kinds.trained:RNN_GNN",
        "gru_gnn": "ndcn.regressor.kinds.trained:GRU_GNN",
        "lstm_gnn": "ndcn.regressor.kinds.trained:LSTM_GNN",
        "persistence": "ndcn.regressor.kinds.curve:PERSISTENCE",
        "linear": "ndcn.regressor.kinds.curve:LINEAR",
        "spline": "ndcn.regressor.kinds.curve:SPLINE",
        "interaction": "ndcn.regressor.kinds.interaction:INTERACTION",
        "closed_form": "ndcn.regressor.kinds.interaction:CLOSED_FORM",
        "free_form": "ndcn.regressor.kinds.interaction:FREE_FORM",
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
