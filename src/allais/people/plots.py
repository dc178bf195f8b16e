"""Pictures of what was fitted: weights with bands, the utility, observed against predicted rates, and trade-offs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from allais._checks import FloatArray
from allais._system.extras import extra
from allais.people.arrays import CERTAINTY_EQUIVALENT
from allais.people.choices import Choices
from allais.people.summary import TRADING, correlations

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from allais.people.fitted import Fitted

DRAWS = 200  # enough for a band
BINS = 10  # of predicted rates
GAINS, LOSSES = "tab:blue", "tab:red"


def draw(fitted: Fitted, choices: Choices | None) -> Figure:
    """One panel each: weights, utility, rates if choices are given, and the pair of parameters that trade off most."""
    with extra("plot", "a picture"):
        from matplotlib.figure import Figure
    panels: list[Any] = [_weights]
    if fitted.family.utility is not None:
        panels.append(_utility)
    if choices is not None and (choices.chosen != CERTAINTY_EQUIVALENT).any():
        panels.append(lambda ax, one: _rates(ax, one, choices))
    if len(fitted.family.names) > 1:
        panels.append(_trade_off)
    figure = Figure(figsize=(4.3 * len(panels), 4.0), layout="constrained")
    for ax, panel in zip(figure.subplots(1, len(panels), squeeze=False).flat, panels, strict=True):
        panel(ax, fitted)
        ax.spines[["top", "right"]].set_visible(False)
    return figure


def _band(ax: Axes, x: FloatArray, curves: FloatArray, middle: FloatArray, colour: str, label: str) -> None:
    low, high = np.quantile(curves, [0.05, 0.95], axis=0)
    ax.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0)
    ax.plot(x, middle, color=colour, linewidth=2, label=label)


def _weights(ax: Axes, fitted: Fitted) -> None:
    p = np.linspace(0.0, 1.0, 201)
    ax.plot(p, p, "--", color="0.6", linewidth=1)
    drawn = fitted.draws(DRAWS, seed=0)
    point = fitted.preference
    _band(ax, p, np.array([one.gains(p) for one in drawn]), point.gains(p), GAINS, "gains")
    if fitted.family.losses is not None:
        _band(ax, p, np.array([one.losses(p) for one in drawn]), point.losses(p), LOSSES, "losses")
        ax.legend(frameon=False, loc="upper left")
    ax.set(xlabel="probability p", ylabel="weight w(p)", xlim=(0, 1), ylim=(0, 1), title="weight, with 90 % of draws")


def _utility(ax: Axes, fitted: Fitted) -> None:
    """Of a stake of the family's size, whose gain feels like 1: so that curves of other powers can be compared."""
    stake = fitted.family.stake
    x = np.linspace(-stake, stake, 201)
    shift = -1.0 if fitted.family.costs else 1.0

    def felt(preference: Any) -> FloatArray:
        whole = float(preference.felt(preference.reference + shift * stake))
        return np.asarray(preference.felt(preference.reference + shift * x)) / whole

    curves = np.array([felt(one) for one in fitted.draws(DRAWS, seed=0)])
    _band(ax, x, curves, felt(fitted.preference), "tab:green", "utility")
    ax.axhline(0.0, color="0.8", linewidth=1)
    ax.axvline(0.0, color="0.8", linewidth=1)
    ax.set(
        xlabel="gain or loss", ylabel=f"utility (that of {stake:g} is 1)", title="utility, with 90 % of draws",
        ylim=(max(min(1.05 * float(np.quantile(curves, 0.02)), -1.1), -8.0), 1.1),
    )  # fmt: skip


def predicted(fitted: Fitted, choices: Choices) -> FloatArray:
    """The chance of the first option in each choice, each by its own person's point."""
    first = Choices(
        choices.people,
        choices.lotteries,
        choices.person,
        choices.offered,
        np.zeros_like(choices.chosen),
        choices.amount,
    )
    chances = np.empty(len(choices))
    for place, name in enumerate(choices.people):
        mine = choices.person == place
        who = fitted.people.get(name, fitted)
        chances[mine] = np.exp(who.family.log_chances(who.family.natural(who.place[None]), first.where(mine))[0])
    return chances


def _rates(ax: Axes, fitted: Fitted, choices: Choices) -> None:
    """How often the first option was taken, where it should have been with about the same chance."""
    plain = choices.where(choices.chosen != CERTAINTY_EQUIVALENT)
    chances, took = predicted(fitted, plain), plain.chosen == 0
    order = np.argsort(chances, kind="stable")
    ax.plot([0, 1], [0, 1], "--", color="0.6", linewidth=1)
    for part in np.array_split(order, min(BINS, len(order))):
        rate, n = float(took[part].mean()), part.size
        # Wilson's interval, which holds at 0 and at 1, too
        centre, half = (rate + 1.35 / n) / (1 + 2.71 / n), 1.645 * np.sqrt(rate * (1 - rate) / n + 0.68 / n**2)
        half /= 1 + 2.71 / n
        ax.plot(chances[part].mean(), rate, "o", color="tab:purple", markersize=6)
        ax.vlines(chances[part].mean(), max(centre - half, 0), min(centre + half, 1), color="tab:purple")
    ax.set(
        xlabel="predicted rate",
        ylabel="observed rate",
        xlim=(-0.03, 1.03),
        ylim=(-0.03, 1.03),
        title="the first option",
    )


def _trade_off(ax: Axes, fitted: Fitted) -> None:
    """The two parameters that the data tell apart least."""
    names = fitted.family.names
    together = np.abs(correlations(fitted.places) - np.eye(len(names)))
    i, j = sorted(np.unravel_index(int(np.argmax(together)), together.shape))
    values = fitted.sample(len(fitted.places), 0)
    ax.plot(values[:, i], values[:, j], ".", color="tab:orange", markersize=3, alpha=0.5)
    ax.plot(fitted.parameters[names[i]], fitted.parameters[names[j]], "+", color="black", markersize=12)
    for set_scale, k in ((ax.set_xscale, i), (ax.set_yscale, j)):
        if values[:, k].min() > 0.0 and values[:, k].max() > 20.0 * values[:, k].min():
            set_scale("log")
    told = "not told apart" if together[i, j] > TRADING else "what the data tell least apart"
    ax.set(xlabel=names[i], ylabel=names[j], title=told)
