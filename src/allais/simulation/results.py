"""What happened in a simulation, and what it cost."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from allais._checks import FloatArray, IntArray
from allais.files import read_arrays, write_arrays
from allais.policies.core.guardrails import BREAKS, KEEPS
from allais.preferences.showing import Rows, as_frame, as_html, curve_of, in_a_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FORMAT, VERSION = "allais results", 1
# what a file holds besides the header; the last three may be missing
ARRAYS = ("checkpoints", "pulls", "recommended", "samples", "stopped", "choices", "values", "bound", "kept")


def standard_error(numbers: FloatArray) -> FloatArray:
    """The standard error of a mean over runs; NaN for a single run."""
    runs = len(numbers)
    return numbers.std(axis=0, ddof=1) / np.sqrt(runs) if runs > 1 else np.full(numbers.shape[1:], np.nan)


@dataclass(frozen=True, eq=False)
class Results:
    """Runs of one policy on one problem, at checkpoints.

    Attributes:
        policy: The policy's name.
        label: The policy and its settings, in words.
        arms: The names of the arms.
        checkpoints: Rounds, (checkpoints,).
        pulls: T_k, (runs, checkpoints, arms); constant after a policy has stopped.
        recommended: An arm's index, (runs, checkpoints).
        samples: How many samples each run used, (runs,).
        stopped: Whether the policy stopped by itself, (runs,).
        choices: Every choice, (runs, rounds), if the run was traced.
        values: The true value of each arm, or None where it is not known.
        bound: What theory says about the mean regret, (checkpoints,); None where it says nothing.
        judge: Whose regret it is, in words; empty in files of version 0.2.0.
        kept: Of a policy with guardrails, whether each arm truly keeps them: 1 if it does, -1 if not, 0 if it misses a
            limit by no more than its tolerance; None where there are none, or it is not known. Regret and errors are
            then beside the best arm that keeps them, and a run that finds none recommends -1.

    >>> problem = Bandit([Bernoulli(0.4), Bernoulli(0.6)])
    >>> results = simulate(UCB1(Bounded(0, 1)), problem, n_rounds=1_000, n_runs=10, seed=1)
    >>> results.pulls.shape, float(results.error_rate[-1])
    ((10, 131, 2), 0.0)
    """

    policy: str
    label: str
    arms: tuple[Hashable, ...]
    checkpoints: IntArray
    pulls: IntArray
    recommended: IntArray
    samples: IntArray
    stopped: Any
    choices: IntArray
    values: FloatArray | None
    bound: FloatArray | None = None
    judge: str = ""
    kept: IntArray | None = None

    _repr_html_, to_frame = as_html, as_frame
    headline = property(in_a_line)

    def rows(self) -> Rows:
        """One row per arm: its true value, pulls by the end on average, and the share of runs that recommend it."""
        pulls, last = self.pulls[:, -1].mean(axis=0).tolist(), self.recommended[:, -1]
        worth = [None] * len(self.arms) if self.values is None else self.values.tolist()
        return [
            {"arm": arm, "true value": worth[k], "pulls": pulls[k], "recommended in": float((last == k).mean())}
            for k, arm in enumerate(self.arms)
        ]

    def __repr__(self) -> str:
        return f"<Results of {self.label}: {self.samples.size} runs, {self.checkpoints[-1]} rounds>"

    @property
    def regret(self) -> FloatArray:
        """R_n of each run at each checkpoint: what the pulls so far lost to the best arm (equation 3)."""
        if self.values is None:
            raise ValueError("regret needs the true values of the arms; this problem has none. Give true_values.")
        return self.pulls @ (self.values[self.best] - self.values)

    @property
    def mean_regret(self) -> FloatArray:
        """The mean of `regret` over runs."""
        return self.regret.mean(axis=0)

    @property
    def regret_error(self) -> FloatArray:
        """The standard error of `mean_regret`; NaN for a single run."""
        return standard_error(self.regret)

    @property
    def best(self) -> int:
        """The index of the truly best arm: of those that keep the guardrails, if there are such."""
        if self.values is None:
            raise ValueError("the best arm needs the true values; this problem has none. Give true_values.")
        return int(np.argmax(self._of_keepers if np.isfinite(self._of_keepers).any() else self.values))

    @property
    def _of_keepers(self) -> FloatArray:
        assert self.values is not None
        return self.values if self.kept is None else np.where(self.kept == KEEPS, self.values, -np.inf)

    @property
    def error_rate(self) -> FloatArray:
        """The share of runs that recommend an arm below the best value, or that breaks a guardrail, per checkpoint.

        To recommend none is right where no arm keeps the guardrails.
        """
        if self.values is None:
            raise ValueError("an error rate needs the true values; this problem has none. Give true_values.")
        wrong = np.append(self.values, -np.inf)[self.recommended] < self._of_keepers.max()  # -1 is none
        if self.kept is not None:
            wrong |= np.append(self.kept, KEEPS)[self.recommended] == BREAKS
        return wrong.mean(axis=0)

    def save(self, path: str | Path) -> None:
        """Write everything to one file; a crash while saving leaves the old one.

        Arms whose names are neither strings nor whole numbers are saved by their text.

        Args:
            path: The file.
        """
        arms = [name if isinstance(name, str | int) else str(name) for name in self.arms]
        about = {"policy": self.policy, "label": self.label, "arms": arms, "judge": self.judge}
        header = {"format": FORMAT, "version": VERSION, **about}
        arrays = {name: getattr(self, name) for name in ARRAYS if getattr(self, name) is not None}
        write_arrays(Path(path), header, arrays)

    @staticmethod
    def load(path: str | Path) -> Results:
        """Read results that were saved.

        Args:
            path: The file.
        """
        header, arrays = read_arrays(Path(path), FORMAT, VERSION)
        known: dict[str, Any] = {name: arrays.get(name) for name in ARRAYS}
        wanted = {"policy", "label", "arms"} - header.keys() | {name for name in ARRAYS[:6] if known[name] is None}
        if wanted:
            raise ValueError(f"saved results must be whole; {path} lacks {', '.join(sorted(wanted))}. Use a backup.")
        shape = (known["samples"].size, known["checkpoints"].size, len(header["arms"]))
        fits = known["pulls"].shape == shape and known["recommended"].shape == shape[:2]
        fits = fits and all(known[name] is None or known[name].shape == shape[2:] for name in ("values", "kept"))
        fits = fits and np.isin(known["recommended"], np.arange(-1, shape[2])).all()  # an arm, or none yet
        if not fits:
            raise ValueError(f"saved results must be whole; the tables of {path} do not fit together. Use a backup.")
        judge = str(header.get("judge", ""))
        return Results(header["policy"], header["label"], tuple(header["arms"]), **known, judge=judge)

    def plot(self, ax: Axes | None = None, *, bound: bool = True, lower_slope: float | None = None) -> Axes:
        """Draw the mean regret on a log axis, with a band of two standard errors.

        Args:
            ax: Where to draw; by default a new figure.
            bound: Whether to draw the proven bound, if there is one.
            lower_slope: The growth per log n that no consistent policy beats, from `theory.regret_slope`; it is drawn,
                too.
        """
        mean = self.mean_regret
        label = self.label.replace("$", r"\$")  # a name is no formula
        if label.startswith("_"):  # which a legend would leave out
            label = f"\N{ZERO WIDTH SPACE}{label}"
        columns = {"round": self.checkpoints, label: mean}
        if self.samples.size > 1:
            spread = 2.0 * self.regret_error
            columns |= {f"{label} low": mean - spread, f"{label} high": mean + spread}
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        ax = curve_of(ax, rows, "round", [label])
        color = ax.lines[-1].get_color()
        if bound and self.bound is not None:
            assert self.values is not None
            vacuous = self.bound[-1] >= self.checkpoints[-1] * np.ptp(self.values)
            named = f"{label}, bound{' (more than can be lost)' if vacuous else ''}"
            ax.plot(self.checkpoints, self.bound, linestyle=":", color=color, label=named)
            ax.set_yscale("log")  # the bound is far above
            ax.set_ylim(bottom=max(float(mean[mean > 0.0].min(initial=1.0)), 1e-3))
        if lower_slope is not None:
            limit = lower_slope * np.log(self.checkpoints)
            ax.plot(self.checkpoints, limit, linestyle="--", color="0.5", label="limit")
        ax.set_xscale("log")
        ax.set_ylabel(f"regret by {self.judge}".replace("$", r"\$") if self.judge else "regret")
        ax.legend(frameon=False)
        return ax
