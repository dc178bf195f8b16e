"""Results in notebooks: a result states its rows once, and has a table in HTML, a data frame and a picture of them.

A class takes these functions as its methods: `_repr_html_, to_frame = as_html, as_frame`. It inherits nothing.
"""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol

from allais._checks import brief
from allais._system.extras import extra, missing_extra
from allais.preferences.valuation import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from allais.preferences.preference import Preference
    from allais.weights import Weight

Rows = list[dict[str, Any]]
FRAMES = ("pandas", "polars", "pyarrow")  # the first that is installed makes a frame, unless one is named
MOST_ROWS = 20  # of a table in a notebook
MOST_DRAWN = 40  # intervals in a picture
SHOWN_PROBABILITIES = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)


class Tabular(Protocol):
    """What has rows, and a sentence above them."""

    def rows(self) -> Rows:
        """The rows, by the names of the columns."""

    @property
    def headline(self) -> str:
        """The sentence above the table; empty for none."""


class Framed(Protocol):
    """The same, where `rows` is something else."""

    def frame_rows(self) -> Rows:
        """The rows, by the names of the columns."""

    @property
    def headline(self) -> str:
        """The sentence above the table; empty for none."""


def rows_of(self: Tabular | Framed) -> Rows:
    """The rows that are shown."""
    return self.frame_rows() if hasattr(self, "frame_rows") else self.rows()


def as_html(self: Tabular | Framed) -> str:
    """What a notebook shows: a sentence and the first rows of a table."""
    return html_table(self.headline, rows_of(self))


def in_words(self: object) -> str:
    """The sentences above the table in a notebook."""
    return str(self)


def in_a_line(self: object) -> str:
    """The line above the table in a notebook."""
    return repr(self).strip("<>")


def html_table(headline: str, rows: Rows) -> str:
    """A sentence and a table in HTML.

    >>> html_table("1 < 2", [{"arm": "<b>", "value": 0.123456}])
    '<p>1 &lt; 2</p><table><thead><tr><th>arm</th><th>value</th></tr></thead><tbody><tr><td>&lt;b&gt;</td><td...
    """
    lines = [f"<p>{html.escape(line)}</p>" for line in headline.splitlines() if line]
    if rows:
        head = "".join(f"<th>{html.escape(name)}</th>" for name in rows[0])
        body = "".join(f"<tr>{''.join(map(_cell, row.values()))}</tr>" for row in rows[:MOST_ROWS])
        lines.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
    if len(rows) > MOST_ROWS:
        lines.append(f"<p>{len(rows) - MOST_ROWS:,} more rows: <code>.to_frame()</code> has all of them.</p>")
    return "".join(lines)


def _cell(given: Any) -> str:
    if isinstance(given, float):
        shown = "" if math.isnan(given) else plain(given)
        return f'<td style="text-align: right">{shown}</td>'
    if isinstance(given, int) and not isinstance(given, bool):
        return f'<td style="text-align: right">{given:,}</td>'
    return f"<td>{'' if given is None else html.escape(str(given))}</td>"


def as_frame(self: Tabular | Framed, backend: str | None = None) -> Any:  # noqa: D417
    """All rows as a data frame. Needs narwhals, and pandas, polars or pyarrow.

    Args:
        backend: 'pandas', 'polars' or 'pyarrow'; by default the first of them that is installed.
    """
    if backend is not None and backend not in FRAMES:
        raise ValueError(f"a frame is made by {', '.join(FRAMES)}; got {brief(backend)}. Name one of them.")
    made: Any = backend or next((name for name in FRAMES if find_spec(name)), FRAMES[0])
    if not find_spec(made):
        raise missing_extra("frame", "a data frame", made)
    with extra("frame", "a data frame"):
        import narwhals

    rows = rows_of(self)
    return narwhals.from_dict(
        {name: _column([row[name] for row in rows]) for name in (rows[0] if rows else ())}, backend=made
    ).to_native()


def _column(cells: list[Any]) -> list[Any]:
    """A column of one type: names of different types, or of none that a frame has, become text."""
    known = {type(cell) for cell in cells if cell is not None}
    return (
        cells if len(known) < 2 and known <= {str, int, float, bool} else [None if c is None else str(c) for c in cells]
    )


def as_intervals(self: Tabular | Framed, ax: Axes | None = None) -> Axes:  # noqa: D417
    """Draw the value of each row, with its interval where it has one, from the top down. Needs `allais[plot]`.

    Args:
        ax: Where to draw; by default a new figure.

    Returns:
        The axes.
    """
    rows = _drawable(rows_of(self))
    value, named = _drawn(rows)
    shown = rows[:MOST_DRAWN]
    ax = _axes(ax, (6.4, 1.2 + 0.32 * len(shown)))
    known = [end for row in shown for part in ("", " low", " high")
             if (end := row.get(f"{value}{part}")) is not None and math.isfinite(end)] or [0.0]  # fmt: skip
    beyond = 0.1 * (max(known) - min(known)) or 1.0
    for place, row in enumerate(shown):
        low, high = row.get(f"{value} low"), row.get(f"{value} high")
        if low is not None and high is not None and low <= high:  # an open interval reaches beyond all others
            ends = [max(low, min(known) - beyond), min(high, max(known) + beyond)]
            ax.plot(ends, [place, place], color="C0", linewidth=3, alpha=0.4, solid_capstyle="butt")
        ax.plot([row[value]], [place], "o", color="C0")
    alike = [name for name in named[1:] if len(rows) > 1 and len({row[name] for row in rows}) == 1]  # said once, above
    names = [", ".join(str(row[name]) for name in named if name not in alike).replace("$", r"\$") for row in shown]
    ax.set_yticks(range(len(shown)), names)
    ax.set_ylim(len(shown) - 0.5, -0.5)
    ax.set_xlabel(value)
    above = [str(rows[0][name]) for name in alike] + [f"the first {len(shown)} of {len(rows):,}"] * (rows != shown)
    ax.set_title(", ".join(above).replace("$", r"\$"), fontsize="medium")
    return ax


def curve_of(ax: Axes | None, rows: Rows, along: str, values: Sequence[str]) -> Axes:
    """Draw columns along another one; where a column has ends, as a band."""
    rows, ax = _drawable(rows), _axes(ax, (6.4, 4.2))
    across = [row[along] for row in rows]
    for value in values:
        (line,) = ax.plot(across, [row[value] for row in rows], linewidth=2, label=value)
        if f"{value} low" in rows[0]:
            low, high = ([row[f"{value} {end}"] for row in rows] for end in ("low", "high"))
            ax.fill_between(across, low, high, alpha=0.2, color=line.get_color(), linewidth=0)
    ax.set_xlabel(along)
    ax.set_ylabel(values[0] if len(values) == 1 else "")
    if len(values) > 1:
        ax.legend(frameon=False)
    return ax


def _axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    with extra("plot", "a picture"):
        import matplotlib.pyplot as plt

    if ax is None:
        _, ax = plt.subplots(figsize=size, layout="constrained")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _drawable(rows: Rows) -> Rows:
    if not rows:
        raise ValueError("there is nothing to draw yet: it has no rows. Give it outcomes first.")
    return rows


def _drawn(rows: Rows) -> tuple[str, list[str]]:
    """The column that has ends, or else the first of numbers, and the columns of text before it: names of rows."""
    columns = list(rows[0])
    with_ends = [name for name in columns if f"{name} low" in rows[0]]
    value = (with_ends or [name for name in columns[1:] if isinstance(rows[0][name], float)])[0]
    return value, [columns[0], *(name for name in columns[1 : columns.index(value)] if isinstance(rows[0][name], str))]


def weight_rows(self: Preference) -> Rows:
    """The decision weights of some probabilities: of the best gains, and of the worst losses."""
    gains, losses = self.gains, self.losses
    return [{"probability": p, "of gains": float(gains(p)), "of losses": float(losses(p))} for p in SHOWN_PROBABILITIES]


def weights_drawn(self: Preference, ax: Axes | None = None) -> Axes:  # noqa: D417
    """Draw the decision weights of probabilities, of gains and of losses. Needs `allais[plot]`.

    Args:
        ax: Where to draw; by default a new figure.

    Returns:
        The axes.
    """
    if self.gains == self.losses:
        return weight_curves({"of the best gains, or the worst losses": self.gains}, ax)
    return weight_curves({"of the best gains": self.gains, "of the worst losses": self.losses}, ax)


def weight_curves(weights: Mapping[str, Weight], ax: Axes | None = None) -> Axes:
    """Draw the decision weights of probabilities by some weights, beside the probabilities themselves."""
    grid = [step / 400 for step in range(401)]
    rows = [{"probability": p, **{name: float(weight(p)) for name, weight in weights.items()}} for p in grid]
    ax = curve_of(ax, rows, "probability", list(weights))
    ax.plot([0, 1], [0, 1], color="0.6", linewidth=1, linestyle="--", zorder=1)
    ax.set_ylabel("counts like")
    ax.legend(frameon=False)
    return ax


def quantiles_drawn(self: Tabular, ax: Axes | None = None) -> Axes:  # noqa: D417
    """Draw the outcome that each share of the samples stays below. Needs `allais[plot]`.

    Args:
        ax: Where to draw; by default a new figure.

    Returns:
        The axes.
    """
    return curve_of(ax, self.rows(), "share", ["outcome"])


def in_a_sentence(preference: Preference) -> str:
    """A preference in a sentence, for the head of its table."""
    from allais.preferences import named

    words = named.in_words(preference)
    what = "costs, of which less is better," if preference.costs else "outcomes"
    return f"Values {what} by {words}, from the reference {plain(preference.reference)}: what probabilities count for."
