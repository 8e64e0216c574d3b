"""AutoETS of statsforecast for every column of a table; runs in an environment of its own (``make .venv-autoets``).

.venv-autoets/bin/python benchmarks/autoets.py PAST.npy HORIZON SEASON FORECAST.npy
"""

import sys

import numpy as np
from statsforecast.models import AutoETS


def main() -> None:
    past, horizon, season, out = np.load(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    said = np.empty((horizon, past.shape[1]))
    for i, series in enumerate(past.T):
        try:
            said[:, i] = AutoETS(season_length=season).forecast(y=series.astype(float), h=horizon)["mean"]
        except Exception:  # a series that it cannot fit, as one of zeros: the last value
            said[:, i] = series[-1]
    np.save(out, said)


if __name__ == "__main__":
    main()
