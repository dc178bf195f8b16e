"""`make benchmark`: every figure that the project claims; `python -m benchmarks NAME...` for some of them."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path

RESULTS = Path(__file__).with_name("results.md")
PREFACE = "Made by `make benchmark`: what is compared is measured in one run, times are the best of several."
SECTIONS = (
    "values", "cold", "bandits", "streams", "memory", "sharper", "rare", "identify", "joint", "percentiles",
    "sampling", "budgets", "coverage", "screening", "linear", "context", "executors", "search", "proofs", "verdicts",
    "logs", "many", "coordinator", "forecasts", "studies", "people", "interview", "shared", "own_preferences",
    "worlds", "serve", "serve_limits", "serve_long", "traffic", "networks", "scenario", "censored", "tail_routing",
)  # fmt: skip  # each is a module with a function `run`


def main() -> None:
    wanted = sys.argv[1:] or SECTIONS
    strange = [name for name in wanted if name not in SECTIONS]
    if strange:
        raise SystemExit(f"a benchmark must be one of {', '.join(SECTIONS)}; got {strange[0]!r}. Check the name.")
    for name in wanted:  # written as they are done, so that an interruption loses nothing
        text = import_module(f"benchmarks.{name}").run()
        print(text, flush=True)
        _replace(text)
    print(f"written to {RESULTS.relative_to(Path.cwd())}")


def _replace(section: str) -> None:
    """Put a section in the place of the one with its title, or at the end."""
    old = RESULTS.read_text(encoding="utf-8") if RESULTS.exists() else ""
    sections = {text.partition("\n")[0]: text.strip() for text in re.split(r"^(?=## )", old, flags=re.MULTILINE)[1:]}
    sections[section.partition("\n")[0]] = section.strip()
    text = "\n\n".join(["# Benchmarks", PREFACE, *sections.values()]) + "\n"
    RESULTS.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
