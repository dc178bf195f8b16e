"""Pilot runs are kept: they are the first runs of each option, with the seeds that a search gives them."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from allais._checks import FloatArray
from allais.cli.specs import SearchSpec
from allais.files.atomic import write_atomically
from allais.problems import Problem
from allais.searches.runs import Outcome, Run

FORMAT, VERSION = "allais pilot", 1

Known = dict[tuple[int, int], float]  # rewards, by arm and seed


class Piloted(Problem):
    """A problem with some known runs: a worker that gets one of them only looks it up."""

    def __init__(self, problem: Problem, known: Known) -> None:
        self._problem, self._known = problem, dict[int, dict[int, float]]()
        for (arm, seed), reward in known.items():
            self._known.setdefault(arm, {})[seed] = reward

    def __repr__(self) -> str:
        return repr(self._problem)  # a journal belongs to the same search, with pilot runs or without

    @property
    def arms(self) -> tuple[Hashable, ...]:
        return self._problem.arms

    @property
    def batch(self) -> int:
        return self._problem.batch

    def draw(self, arm: int, rng: np.random.Generator, size: int) -> FloatArray:
        return self._problem.draw(arm, rng, size)

    def part(self, arms: Sequence[int]) -> Problem:
        problem = self._problem.part(arms)
        if problem is self._problem:
            return self
        known = {(place, seed): one for place, arm in enumerate(arms) for seed, one in self._known.get(arm, {}).items()}
        return Piloted(problem, known)

    def run(self, arm: int, seed: int) -> float:
        reward = self._known.get(arm, {}).get(seed)
        return self._problem.run(arm, seed) if reward is None else reward


def require_ours(path: Path) -> None:
    """Refuse to replace a file that does not hold pilot runs."""
    if path.exists() and path.stat().st_size and _document(path).get("format") != FORMAT:
        raise ValueError(f"pilot runs are written to {path}, which exists and holds something else. Move it away.")


def keep(path: Path, spec: SearchSpec, finished: Iterable[tuple[Run, Outcome]]) -> None:
    """Write down the runs that gave a reward; failed ones are tried again by the search."""
    runs = [[run.arm, run.seed, out.reward, round(out.seconds, 6)] for run, out in finished if out.failure is None]
    write_atomically(path, json.dumps({**_of(spec), "runs": runs}) + "\n")


def kept(path: Path, spec: SearchSpec) -> Known:
    """The pilot runs of this very problem and seed; none where the file is missing, or of another problem."""
    found = _document(path)
    try:
        runs = {(int(arm), int(seed)): float(reward) for arm, seed, reward, _ in found.pop("runs")}
    except (ValueError, TypeError, KeyError):
        return {}
    return runs if found == _of(spec) else {}


def _document(path: Path) -> dict[str, Any]:
    """What a file holds; nothing where it is not JSON."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _of(spec: SearchSpec) -> dict[str, Any]:
    """What must be the same: the policy need not, since a forecast may be a reason to change it."""
    problem = spec.problem
    return {
        "format": FORMAT,
        "version": VERSION,
        "problem": repr(problem),
        "arms": list(problem.arms),
        "seed": spec.seed,
    }
