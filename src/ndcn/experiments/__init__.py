"""The paper's tables and figures as experiments: specified in TOML, run in parallel, kept in a store, reported."""
