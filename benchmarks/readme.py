"""The numbers and the picture of README.md that come from the demos and from its first example.

    python benchmarks/readme.py              # writes benchmarks/results/readme.json and docs/assets/epidemic.png; two minutes
    python benchmarks/readme.py epidemic     # only this part: heat, epidemic or law

tests/test_readme.py compares README.md with the file.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "readme.json"
PICTURE = ROOT / "docs" / "assets" / "epidemic.png"
COMMANDS = {"heat": "ndcn demo --json", "epidemic": "ndcn demo epidemic --json"}


def demo(name: str, folder: Path) -> dict[str, object]:
    words = [*COMMANDS[name].split()[1:], "--out", str(folder)]
    done = subprocess.run([sys.executable, "-m", "ndcn", *words], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    return {"command": COMMANDS[name], **{key: found[key] for key in found if key not in ("files", "seconds")}}


def law_lines() -> list[str]:
    """What the first Python block of README.md prints."""
    block = re.search(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    assert block is not None
    done = subprocess.run([sys.executable, "-c", block[1]], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def main(parts: list[str]) -> None:
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    with tempfile.TemporaryDirectory() as scratch:
        for name in parts:
            if name == "law":
                results[name] = {"command": "the first Python block of README.md", "printed": law_lines()}
            else:
                results[name] = demo(name, Path(scratch) / name)
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
        if "epidemic" in parts:
            shutil.copy(Path(scratch) / "epidemic" / "forecast.png", PICTURE)


if __name__ == "__main__":
    main(sys.argv[1:] or [*COMMANDS, "law"])
