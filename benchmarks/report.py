"""How large the page of a model is, how soon it can be used and how long a step of its slider takes, in Chromium.

    python benchmarks/report.py                    # 400 nodes, 120 snapshots, and 5,000 nodes, 20,000 edges
    python benchmarks/report.py --picture FILE     # also the picture of docs/report.md

Needs Chromium and `pip install ndcn[test]`. Limits: 3 MB and 2 s, 15 MB and 100 ms.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

import torch

import ndcn
from ndcn.report import write_report

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from browser import opened

STEP = """async () => {
  const slider = document.getElementById("time"), seconds = [];
  for (let k = 0; k < 30; k++) {
    slider.value = Number(slider.min) + ((k * 7) % 30) / 30 * (slider.max - slider.min);
    const began = performance.now();
    slider.dispatchEvent(new Event("input"));
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));  // drawn, and handed to the screen
    seconds.push(performance.now() - began);
  }
  return seconds;
}"""


def trained(graph: ndcn.Graph, epochs: int) -> tuple[ndcn.DynamicsRegressor, ndcn.Trajectory]:
    times = ndcn.sampling.irregular_times(5.0, seed=0)
    data = ndcn.simulate(ndcn.laws.Heat(), graph, ndcn.laws.initial_state(graph), times)
    parts = ndcn.split(data, seed=0)
    return ndcn.DynamicsRegressor(epochs=epochs, seed=0, progress=False).fit(parts.train), data


def measure(name: str, graph: ndcn.Graph, epochs: int, folder: Path) -> dict[str, object]:
    model, data = trained(graph, epochs)
    file = folder / f"{name}.html"
    began = time.perf_counter()
    size = write_report(model, file, data)
    seconds = time.perf_counter() - began
    with opened(file, width=1440, height=900) as page:
        ready = float(page.evaluate("document.documentElement.dataset.ready"))
        steps = page.evaluate(STEP)
    return {
        "page": name,
        "nodes": graph.num_nodes,
        "edges": graph.num_edges,
        "megabytes": round(size / 1e6, 2),
        "seconds_to_write": round(seconds, 1),
        "seconds_until_ready": round(ready / 1000, 2),
        "step_ms_median": round(statistics.median(steps), 1),
        "step_ms_largest": round(max(steps), 1),
    }


def picture(file: Path, folder: Path) -> None:
    """The picture of docs/report.md: heat on a grid, three nodes compared, in few colours to keep the file small."""
    from PIL import Image

    model, data = trained(ndcn.networks.grid(400), 2000)
    write_report(model, folder / "picture.html", data)
    with opened(folder / "picture.html", width=1160, height=1080) as page:
        page.evaluate("""() => { const slider = document.getElementById("time"); slider.value = 0.45;
          slider.dispatchEvent(new Event("input")); }""")
        for node in ("66", "154"):
            page.fill("#search", node)
            page.keyboard.press("Enter")
            page.keyboard.press("p")
        page.fill("#search", "270")
        page.keyboard.press("Enter")
        page.fill("#search", "")
        page.evaluate("document.activeElement.blur()")
        page.wait_for_timeout(500)
        page.screenshot(path=str(folder / "picture.png"))
    Image.open(folder / "picture.png").convert("RGB").quantize(256, kmeans=1).save(file, optimize=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--picture", type=Path, help="write the picture of docs/report.md here")
    wanted = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        if wanted.picture:
            picture(wanted.picture, Path(folder))
            return
        for name, graph, epochs in (
            ("grid", ndcn.networks.grid(400), 50),
            ("power law", ndcn.networks.power_law(5000, m=4, order=None), 5),
        ):
            print(json.dumps(measure(name.replace(" ", "_"), graph, epochs, Path(folder))), flush=True)


if __name__ == "__main__":
    main()
