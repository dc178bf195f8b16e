"""What was measured on a recording, in words and tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from allais.report.tables import markdown_table, with_error
from allais.traffic.analysis import PAPER_SAMPLES, PRINTED, RouteTable
from allais.traffic.maps import TAIL
from allais.traffic.play import PEOPLE, Measurements
from allais.traffic.recording import Recording


class Rows(NamedTuple):
    """A table of text."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def delays_of(recording: Recording, route: int) -> tuple[str, str]:
    """The mean delay of a route, and the delay that 99 % of its probes stay below."""
    delays = recording.samples(route)
    return f"{delays.mean():.1f}", f"{np.quantile(delays, TAIL):.0f}"


def routes_table(recording: Recording, table: RouteTable) -> Rows:
    """One row per route: its delays, and its excess delay under each objective with the standard error."""
    rows = []
    for k, route in enumerate(recording.routes):
        pairs = zip(table.excess[:, k].tolist(), table.errors[:, k].tolist(), strict=True)
        excess = [with_error(seconds, error) for seconds, error in pairs]
        rows.append((route.name, "-".join(route.nodes), *delays_of(recording, k), *excess))
    header = ("route", "nodes", "mean delay, s", "99 % below", *(f"excess, {name}" for name in table.columns))
    return Rows(header, tuple(rows))


def policies_table(measured: Measurements) -> Rows:
    """One row per policy: its route, how soon it was found, and what it cost."""
    header = ("policy", "knows", "route", "runs that agree", "the same since round", "stopped", f"regret, {PEOPLE}",
              "regret, mean")  # fmt: skip
    rows = [
        (
            one.policy, one.knows, one.route, f"{one.agreement:.0%}", f"{one.unchanged_since:,.0f}", one.stopped,
            f"{one.distorted_regret:,.0f}", f"{one.mean_regret:,.0f}",
        )
        for one in measured.policies
    ]  # fmt: skip
    return Rows(header, tuple(rows))


def report(measured: Measurements) -> str:
    """Markdown: what was recorded, the table of routes, the fit, the policies."""
    return "\n\n".join(_sections(measured)) + "\n"


def _sections(measured: Measurements) -> Iterator[str]:
    recording, table = measured.recording, measured.table
    about = recording.about
    yield (
        f"{recording.delay.size:,} probes on {len(recording.routes)} routes in {about['blocks']} blocks of "
        f"{about['hours']:g} hours (seed {about['seed']}, {about['closures']} closures, SUMO {about['sumo']}); "
        f"{recording.teleported} teleported and {recording.lost} lost, left out. The baseline, the mean delay of a "
        f"random router, is {recording.baseline:.1f} s. The policies below learn from these recorded delays, drawn "
        "with replacement."
    )
    yield (
        markdown_table(*routes_table(recording, table))
        + "\n\nSeconds, with standard errors by bootstrap over blocks. Lower is better."
    )
    yield _verdict(measured)
    misfit = measured.fit.misfit
    yield (
        f"Ridge regression on {measured.fit.fit.theta.size} roads: the features have rank "
        f"{measured.fit.fit.rank}, the fit misses a route's mean by {np.abs(misfit).mean():.1f} s on average and "
        f"{np.abs(misfit).max():.1f} s at most ({recording.routes[int(np.abs(misfit).argmax())].name}); "
        f"|theta| = {np.linalg.norm(measured.fit.fit.theta):.0f}."
    )
    models = measured.preferred_under
    names = list(next(iter(models.values())))
    yield "The best route at that fit, by model of the noise:\n\n" + markdown_table(
        ["noise", *names], [[model, *(found[name] for name in names)] for model, found in models.items()]
    )
    scale = measured.scale
    yield f"Policies, {scale.runs} runs of {scale.rounds:,} rounds each:\n\n" + markdown_table(
        *policies_table(measured)
    )


def _verdict(measured: Measurements) -> str:
    table = measured.table
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
    errors = measured.scheme_errors
    printed, error = PRINTED[7][1] - PRINTED[8][1], float(np.hypot(errors[7], errors[8]))
    lines.append(
        f"The paper's table has its detour ahead by {printed:.2f}; one estimate of its scheme ({PAPER_SAMPLES:,} "
        f"normal samples) has a standard deviation of {errors[7]:.2f} for the one, {errors[8]:.2f} for the other: "
        f"{printed / error:.1f} standard errors."
    )
    return "\n".join(f"- {line}" for line in lines)
