"""Pictures of a fit: weights with bands, the utility, observed against predicted rates, and trade-offs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from allais._checks import FloatArray
from allais._system.extras import extra
from allais.people.data.choices import Choices
from allais.people.data.design import ALPHA, AVERSION, CERTAINTY_EQUIVALENT
from allais.people.inference.summary import TRADING, correlations

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from allais.people.inference.fitted import Fitted

DRAWS = 200  # enough for a band
BINS = 10  # of predicted rates
FARTHEST = 8.0  # utilities of the stake that a picture shows
GAINS, LOSSES = "tab:blue", "tab:red"


class _Seen(NamedTuple):
    """What the choices hold: probabilities strictly between 0 and 1, and outcomes as gains and losses."""

    of_gains: FloatArray
    of_losses: FloatArray
    outcomes: FloatArray


def draw(fitted: Fitted, choices: Choices | None) -> Figure:
    """One panel each: weights, utility, rates if choices are given, and the pair of parameters that trade off most.

    With choices, curves are drawn where these are: beyond them a weight is dotted, and a utility is not drawn.
    """
    with extra("plot", "a picture"):
        from matplotlib.figure import Figure
    seen = None if choices is None else _seen(fitted, choices)
    panels: list[Any] = [lambda ax, one: _weights(ax, one, seen)]
    if fitted.family.utility is not None:
        panels.append(lambda ax, one: _utility(ax, one, seen))
    if choices is not None and (choices.chosen != CERTAINTY_EQUIVALENT).any():
        panels.append(lambda ax, one: _rates(ax, one, choices))
    if len(fitted.family.names) > 1:
        panels.append(_trade_off)
    figure = Figure(figsize=(4.3 * len(panels), 4.0), layout="constrained")
    for ax, panel in zip(figure.subplots(1, len(panels), squeeze=False).flat, panels, strict=True):
        panel(ax, fitted)
        ax.spines[["top", "right"]].set_visible(False)
    return figure


def _seen(fitted: Fitted, choices: Choices) -> _Seen:
    design = choices.compact(fitted.family.reference, fitted.family.costs, False).design
    p = np.exp(design.log_p)
    inside = [np.unique(p[which]) for which in (design.gain_probability, design.loss_probability)]
    of_gains, of_losses = (one[(one > 0.0) & (one < 1.0)] for one in inside)
    return _Seen(of_gains, of_losses, design.outcomes[design.block_outcome])


def _band(ax: Axes, x: FloatArray, curves: FloatArray, middle: FloatArray, colour: str, label: str) -> None:
    low, high = np.quantile(curves, [0.05, 0.95], axis=0)
    ax.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0)
    ax.plot(x, middle, color=colour, linewidth=2, label=label)


def _titled(what: str, fitted: Fitted, places: range) -> str:
    """A fitted curve, or one without free parameters."""
    free = (fitted.family.transforms.index[list(places)] >= 0).any()
    return f"{what}, with 90 % of draws" if free else f"{what}, as assumed"


def _weights(ax: Axes, fitted: Fitted, seen: _Seen | None) -> None:
    family, p = fitted.family, np.linspace(0.0, 1.0, 201)
    ax.plot(p, p, "--", color="0.6", linewidth=1)
    drawn, point = fitted.draws(DRAWS, seed=0), fitted.preference
    shared = family.losses is None
    sides = [(GAINS, "both" if shared else "gains", [one.gains for one in drawn], point.gains)]
    if not shared:
        sides.append((LOSSES, "losses", [one.losses for one in drawn], point.losses))
    for colour, label, curves, middle in sides:
        if seen is None:
            told = p
        else:
            there = {"gains": seen.of_gains, "losses": seen.of_losses}.get(label, np.union1d(*seen[:2]))
            ax.plot(p, middle(p), ":", color=colour, linewidth=1.5)
            if not there.size:
                continue
            ax.plot(there, middle(there), "o", color=colour, markersize=4)  # what was offered
            told = np.union1d(p[(p >= there[0]) & (p <= there[-1])], there)
        _band(ax, told, np.array([curve(told) for curve in curves]), middle(told), colour, label)
    if not shared:
        ax.legend(frameon=False, loc="upper left")
    title = _titled("weight", fitted, range(ALPHA))
    ax.set(xlabel="probability p", ylabel="weight w(p)", xlim=(0, 1), ylim=(0, 1), title=title)


def _utility(ax: Axes, fitted: Fitted, seen: _Seen | None) -> None:
    """In units of the family's stake, whose gain feels like 1: so that curves of other powers can be compared."""
    stake = fitted.family.stake
    low, high = (-stake, stake) if seen is None else (min(0.0, *seen.outcomes), max(0.0, *seen.outcomes))
    x = np.linspace(low, high, 201)
    shift = -1.0 if fitted.family.costs else 1.0

    def utility(preference: Any) -> FloatArray:
        whole = float(preference.utilities(preference.reference + shift * stake))
        return np.asarray(preference.utilities(preference.reference + shift * x)) / whole

    curves = np.array([utility(one) for one in fitted.draws(DRAWS, seed=0)])
    _band(ax, x, curves, utility(fitted.preference), "tab:green", "utility")
    ax.axhline(0.0, color="0.8", linewidth=1)
    ax.axvline(0.0, color="0.8", linewidth=1)
    bottom, top = 1.05 * np.quantile(curves[:, 0], 0.05), 1.05 * np.quantile(curves[:, -1], 0.95)
    ax.set(
        xlabel="gain or loss", ylabel=f"utility (that of {stake:g} is 1)",
        title=_titled("utility", fitted, range(ALPHA, AVERSION + 1)),
        ylim=(max(bottom, -FARTHEST) if low < 0.0 else 0.0, min(top, FARTHEST) if high > 0.0 else 0.0),
    )  # fmt: skip


def predicted(fitted: Fitted, choices: Choices) -> FloatArray:
    """The chance of the first option in each choice, each by its own person's point."""
    first = replace(choices, chosen=np.zeros_like(choices.chosen))
    chances = np.empty(len(choices))
    for place, name in enumerate(choices.people):
        mine = choices.person == place
        who = fitted.people.get(name, fitted)
        chances[mine] = np.exp(who.family.log_chances(who.family.natural(who.place[None]), first.where(mine))[0])
    return chances


def _rates(ax: Axes, fitted: Fitted, choices: Choices) -> None:
    """How often the first option was taken, where it should have been with about the same chance."""
    plain = choices.where(choices.chosen != CERTAINTY_EQUIVALENT).one_by_one()
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
    """The two parameters with the strongest correlation."""
    names = fitted.family.names
    together = np.abs(correlations(fitted.places) - np.eye(len(names)))
    i, j = sorted(np.unravel_index(int(np.argmax(together)), together.shape))
    values = fitted.sample(len(fitted.places), 0)
    ax.plot(values[:, i], values[:, j], ".", color="tab:orange", markersize=3, alpha=0.5)
    ax.plot(fitted.parameters[names[i]], fitted.parameters[names[j]], "+", color="black", markersize=12)
    for set_scale, k in ((ax.set_xscale, i), (ax.set_yscale, j)):
        if values[:, k].min() > 0.0 and values[:, k].max() > 20.0 * values[:, k].min():
            set_scale("log")
    told = "not identified separately" if together[i, j] > TRADING else "the strongest trade-off"
    ax.set(xlabel=names[i], ylabel=names[j], title=told)
