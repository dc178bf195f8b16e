"""`python tools/layers.py FOLDER`: the pictures of the packages and of compiled code, in docs/developer."""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch

# From the top down: who uses it, and the packages, side by side where neither imports the other.
FLOORS = [
    ("commands and studies", [["cli"], ["mcp", "serve"], ["paper"], ["traffic"], ["people"]]),
    ("what you read, extend and check", [["report", "extend", "testing"]]),
    ("policies at work", [["searches"], ["simulation"], ["evidence", "learner", "streams"]]),
    ("what to try next", [["linear"], ["policies", "problems"]]),
    ("what is known for certain", [["theory"], ["bands", "forests"]]),
    ("what was seen", [["samples"]]),
    ("what is maximised", [["preferences"], ["lotteries", "rewards"], ["numerics"], ["weights"]]),
    ("underneath", [["settings", "_kernels"], ["files", "_system"], ["_checks", "client", "errors"]]),
]
SHADES = ["#2a5da8", "#3f74b5", "#5489c0", "#6d9dca", "#86b1d4", "#a1c4de", "#bcd6e8", "#d8e6f1"]
ARROW = {"arrowstyle": "->", "color": "0.4", "lw": 1.6}
ROW, GAP, LEFT, WIDTH = 0.62, 0.22, 3.3, 6.2


def add_box(ax: Axes, place: tuple[float, float], width: float, height: float, corner: float, shade: str) -> None:
    """A box with round corners."""
    style = f"round,pad=0,rounding_size={corner:g}"
    ax.add_patch(FancyBboxPatch(place, width, height, boxstyle=style, linewidth=0, facecolor=shade))


def draw_layers(ax: Axes) -> None:
    """Boxes from the top down, a colour to each floor, and one arrow for the way of imports."""
    y = 0.0
    for (title, rows), shade in zip(FLOORS, SHADES, strict=True):
        height = ROW * len(rows)
        ax.text(LEFT - 0.25, y - height / 2, title, ha="right", va="center", fontsize=11, color="0.25")
        for names in rows:
            share = WIDTH / len(names)
            for k, name in enumerate(names):
                place = (LEFT + k * share + 0.05, y - ROW + 0.05)
                add_box(ax, place, share - 0.1, ROW - 0.1, 0.08, shade)
                dark = SHADES.index(shade) < 4
                where = (place[0] + share / 2 - 0.05, y - ROW / 2)
                ink = "white" if dark else "0.1"
                ax.text(*where, name, ha="center", va="center", fontsize=11, color=ink, family="monospace")
            y -= ROW
        y -= GAP
    right = LEFT + WIDTH + 0.45
    ax.annotate("", (right, y + GAP), (right, 0.0), arrowprops=ARROW)
    ax.text(LEFT + WIDTH + 0.65, y / 2, "imports go down only", rotation=270, va="center", fontsize=11, color="0.25")
    ax.set(xlim=(0.0, LEFT + WIDTH + 1.1), ylim=(y, 0.1))
    ax.axis("off")


# Boxes: left, top, width, title, what stands in it, shade.
BOXES = [
    (0.0, 0.0, 4.2, "learner", "ask and tell, one round at a time;\nbound: machine code, fetched once", "#2a5da8"),
    (4.8, 0.0, 4.2, "simulation/rollout.py", "loop: all rounds in compiled code;\nreads outcomes from tapes",
     "#2a5da8"),
    (1.6, -2.2, 5.8, "verb", "choose, learn, recommend, bracket, widen, refresh:\na kernel for each type of rule",
     "#5489c0"),
    (0.0, -4.4, 2.8, "kernel", "copied into its callers:\nwhat runs in every round", "#86b1d4"),
    (3.1, -4.4, 2.8, "routine", "compiled once, called\nby its address", "#86b1d4"),
    (6.2, -4.4, 2.8, "late routine", "compiled when a call\nfirst reaches it", "#86b1d4"),
    (0.0, -6.6, 4.2, "rule and state", "NamedTuples of arrays,\nby reference (@by_reference, held)", "#bcd6e8"),
    (4.8, -6.6, 4.2, "cache on disk", "under a digest of the sources\nof kernels (compiling.SOURCES)", "#bcd6e8"),
]  # fmt: skip
HEIGHT = 1.45
# Arrows: from, to, and what they say.
ARROWS = [
    ((2.1, -HEIGHT), (3.2, -2.2), "one call"),
    ((6.9, -HEIGHT), (5.8, -2.2), "   copied in"),
    ((2.6, -2.2 - HEIGHT), (1.4, -4.4), ""),
    ((4.5, -2.2 - HEIGHT), (4.5, -4.4), ""),
    ((6.4, -2.2 - HEIGHT), (7.6, -4.4), ""),
    ((2.1, -4.4 - HEIGHT), (2.1, -6.6), "read and write"),
    ((6.9, -4.4 - HEIGHT), (6.9, -6.6), "saved"),
]


def draw_kernels(ax: Axes) -> None:
    """Who calls at the top, what is called below, what it works on at the bottom."""
    for left, top, width, title, text, shade in BOXES:
        add_box(ax, (left, top - HEIGHT), width, HEIGHT, 0.1, shade)
        colour = "white" if shade in ("#2a5da8", "#5489c0") else "0.1"
        middle = left + width / 2
        ax.text(middle, top - 0.33, title, ha="center", va="center", fontsize=12, color=colour, family="monospace")
        ax.text(middle, top - 0.92, text, ha="center", va="center", fontsize=10, color=colour)
    for start, end, text in ARROWS:
        ax.annotate("", end, start, arrowprops=ARROW)
        place = (max(start[0], end[0]) - abs(start[0] - end[0]) / 2 + 0.2, (start[1] + end[1]) / 2)
        ax.text(*place, text, ha="left", va="center", fontsize=10, color="0.25")
    ax.set(xlim=(-0.1, 9.1), ylim=(-6.7 - HEIGHT, 0.1))
    ax.axis("off")


def main() -> None:
    """Draw the pictures into the folder that is named."""
    if len(sys.argv) != 2:
        raise SystemExit("one folder is needed for the pictures; usage: python tools/layers.py FOLDER")
    for name, draw, size in (("layers", draw_layers, (8.6, 9.4)), ("kernels", draw_kernels, (9.2, 8.2))):
        figure, ax = plt.subplots(figsize=size, layout="constrained")
        draw(ax)
        figure.savefig(Path(sys.argv[1]) / f"{name}.png", dpi=90)


if __name__ == "__main__":
    main()
