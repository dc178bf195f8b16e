"""An experiment in words and tables: everything in them was measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from allais.traffic.analysis import PAPER_SAMPLES, PRINTED
from allais.traffic.play import PEOPLE, Experiment


def report(experiment: Experiment) -> str:
    """Markdown: what was recorded, the table of routes, the fit, the policies."""
    return "\n\n".join(_sections(experiment)) + "\n"


def _sections(experiment: Experiment) -> Iterator[str]:
    recording, table = experiment.recording, experiment.table
    about = recording.about
    yield (
        f"{recording.delay.size:,} probes on {len(recording.routes)} routes in {about['blocks']} blocks of "
        f"{about['hours']:g} hours (seed {about['seed']}, {about['closures']} closures, SUMO {about['sumo']}); "
        f"{recording.teleported} teleported and {recording.lost} lost, left out. The baseline, the mean delay of a "
        f"random router, is {recording.baseline:.1f} s. The policies below learn from these recorded delays, drawn "
        "with replacement."
    )
    rows = []
    for k, route in enumerate(recording.routes):
        delays = recording.samples(k)
        cells = [f"{route.name}", "-".join(route.nodes), f"{delays.mean():.1f}", f"{np.quantile(delays, 0.99):.0f}"]
        pairs = zip(table.excess[:, k], table.errors[:, k], strict=True)
        rows.append([*cells, *(f"{excess:+.1f} ({error:.1f})" for excess, error in pairs)])
    header = ["route", "nodes", "mean delay, s", "99 % below"]
    header += [f"{name} excess" if name == "mean" else f"distorted, {name}" for name in table.columns]
    yield (
        markdown_table(header, rows)
        + "\n\nSeconds; standard errors by bootstrap over blocks in brackets. Lower is better."
    )
    yield _verdict(experiment)
    misfit = experiment.fit.misfit
    yield (
        f"Ridge regression on {experiment.fit.fit.theta.size} roads: the features have rank "
        f"{experiment.fit.fit.rank}, the fit misses a route's mean by {np.abs(misfit).mean():.1f} s on average and "
        f"{np.abs(misfit).max():.1f} s at most ({recording.routes[int(np.abs(misfit).argmax())].name}); "
        f"|theta| = {np.linalg.norm(experiment.fit.fit.theta):.0f}."
    )
    models = experiment.preferred_under
    names = list(next(iter(models.values())))
    yield "The best route at that fit, by model of the noise:\n\n" + markdown_table(
        ["noise", *names], [[model, *(found[name] for name in names)] for model, found in models.items()]
    )
    scale = experiment.scale
    yield f"Policies, {scale.runs} runs of {scale.rounds:,} rounds each:\n\n" + markdown_table(
        [
            "policy",
            "knows",
            "route",
            "runs that agree",
            "settled at round",
            "stopped",
            f"regret, {PEOPLE}",
            "regret, mean",
        ],
        [
            [
                one.policy,
                one.knows,
                one.route,
                f"{100 * one.agreement:.0f} %",
                f"{one.settled:,.0f}",
                one.stopped,
                f"{one.distorted_regret:,.0f}",
                f"{one.mean_regret:,.0f}",
            ]
            for one in experiment.outcomes
        ],
    )


def _verdict(experiment: Experiment) -> str:
    table = experiment.table
    fast, liked = table.best("mean"), table.best(PEOPLE)
    lines = [f"Fastest on average: {table.names[fast]}. Preferred ({PEOPLE}): {table.names[liked]}."]
    if fast != liked:
        for column, better, other in (("mean", fast, liked), (PEOPLE, liked, fast), ("TK 0.69", liked, fast)):
            gap = table.gap(column, better, other)
            lines.append(
                f"{column}: {table.names[better]} beats {table.names[other]} by {gap.difference:.1f} s, "
                f"{gap.errors:.1f} standard errors."
            )
    shares = table.shares("TK 0.1")
    winners = ", ".join(f"{table.names[k]} {100 * shares[k]:.0f} %" for k in np.argsort(-shares) if shares[k] > 0.0)
    lines.append(
        f"With the paper's eta = 0.1, {table.names[fast]} is the best in {shares[fast]:.0%} of resampled recordings. "
        f"The best are {winners}: the single longest delays decide that."
    )
    errors = experiment.scheme_errors
    printed, error = PRINTED[7][1] - PRINTED[8][1], float(np.hypot(errors[7], errors[8]))
    lines.append(
        f"The paper's table has its detour ahead by {printed:.2f}; one estimate of its scheme ({PAPER_SAMPLES:,} "
        f"normal samples) has a standard deviation of {errors[7]:.2f} for the one, {errors[8]:.2f} for the other: "
        f"{printed / error:.1f} standard errors."
    )
    return "\n".join(f"- {line}" for line in lines)


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown; a cell may hold anything.

    >>> print(markdown_table(["route"], [["A|B"]]))
    | route |
    |---|
    | A\\|B |
    """
    return "\n".join([_row(header), "|" + "---|" * len(header), *map(_row, rows)])


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"
