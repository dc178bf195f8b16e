"""`make benchmark`: every speed that the project claims, in one run, as ratios."""

from __future__ import annotations

from pathlib import Path

from benchmarks import bandits, linear, streams, traffic, values

RESULTS = Path(__file__).with_name("results.md")


def main() -> None:
    sections = [values.run(), bandits.run(), streams.run(), linear.run(), traffic.run()]
    preface = "Made by `make benchmark`, in one run; times are the best of several, ratios are what counts."
    text = "\n\n".join(["# Benchmarks", preface, *sections]) + "\n"
    RESULTS.write_text(text, encoding="utf-8")
    print(text)
    print(f"written to {RESULTS.relative_to(Path.cwd())}")


if __name__ == "__main__":
    main()
