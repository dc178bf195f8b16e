"""An MCP server (`allais mcp`): what assistants may ask this library, and a service that runs.

Lotteries are valued and tests planned here; experiments, verdicts and evaluations are read from the service. Nothing is
changed and nothing is started unless writes are allowed: then experiments may be created, paused and resumed, and
searches may be run from specs in one folder, each by a process that ends with this one.
"""

from __future__ import annotations

import asyncio
import json
import math
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import Any, Literal, ParamSpec
from urllib.parse import quote

from allais import __version__
from allais._system.extras import extra
from allais.client import AsyncClient, ServiceError
from allais.evidence import forecast
from allais.lotteries.finite import lottery_of
from allais.preferences import Preference
from allais.preferences.named import preference_named, weight_of
from allais.preferences.valuation import certainty_equivalent_in_words, sure_amount

with extra("mcp", "an MCP server"):
    from mcp.server import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp.types import ToolAnnotations

Takes = ParamSpec("Takes")
Facts = dict[str, Any]
READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
WRITES = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)
MOST_SHOWN = 4_000  # characters of what a search said
GRACE = 5.0  # seconds for a search to end by itself
PATIENCE = 120.0  # seconds for an answer: a first verdict may be compiled
ABOUT = """allais: bandits, tests and searches that go by what people feel outcomes are worth. \
Lotteries are written as "outcome:probability,...", such as "50:0.1,0:0.9". \
A preference is a word: mean, median, p95, cvar:0.1, 0.7*mean+0.3*p99."""


def value_lotteries(
    lotteries: list[str],
    preference: str | None = None,
    weight: str = "tk:0.61",
    losses: str | None = None,
    reference: float = 0.0,
    costs: bool = False,
    unit: str = "",
) -> Facts:
    """What each lottery feels like for sure, the decision weight of each outcome, and which one is preferred.

    Args:
        lotteries: Outcomes and probabilities of each, such as "50:0.1,0:0.9".
        preference: mean, median, p95, cvar:0.1, 0.7*mean+0.3*p99; without it, the weights below.
        weight: How people distort probabilities: tk:ETA, prelec:ALPHA, gonzalez-wu:GAMMA,DELTA, power:A, identity.
        losses: Another weight for losses.
        reference: The outcome that is neither a gain nor a loss.
        costs: Whether outcomes are costs, so that less is better.
        unit: Of outcomes, such as "minutes".
    """
    if not lotteries:
        raise ValueError('a value is that of a lottery; got none. Give one, such as "50:0.1,0:0.9".')
    if preference is not None:
        liking = preference_named(preference, reference=reference, costs=costs)
    else:
        curve = weight_of(weight)
        liking = Preference(curve, curve if losses is None else weight_of(losses), reference=reference, costs=costs)
    shown = list[Facts]()
    for text in lotteries:
        lottery = lottery_of(text)
        why = liking.explain(lottery)
        weights = zip(why.labels, why.probabilities, why.decision_weights, strict=True)
        shown.append({
            "lottery": text, "mean": float(lottery.mean), "value": float(why.value),
            "certainty_equivalent": _finite(sure_amount(why.preference, why.value)),
            "in_words": certainty_equivalent_in_words(why.preference, why.value, unit, 6),
            "outcomes": [{"outcome": label, "probability": float(p), "decision_weight": float(w)}
                         for label, p, w in weights],
        })  # fmt: skip
    best_mean = (min if costs else max)(shown, key=lambda one: one["mean"])
    best = max(shown, key=lambda one: one["value"])
    return {"lotteries": shown, "preferred": best["lottery"], "the_mean_prefers": best_mean["lottery"]}


def plan_test(
    outcomes: list[float],
    change: float,
    by: str = "mean",
    per_day: float | None = None,
    costs: bool = True,
    delta: float = 0.05,
) -> Facts:
    """How long a test will take: how many units each group needs, and days, to find a change, from a pilot.

    Args:
        outcomes: Outcomes of a pilot, or of any day before the test, of the control alone.
        change: The relative change that is to be found, such as 0.05.
        by: What groups are compared by: mean, p95, p99, cvar:0.1.
        per_day: Units of each group and day.
        costs: Whether less is better.
        delta: The error rate of the test.
    """
    plan = forecast(outcomes, by, change=change, per_day=per_day, costs=costs, delta=delta)
    days = None if plan.days is None else _finite(plan.days)
    return {"units_of_each_group": _finite(plan.units), "days": days, "in_words": str(plan)}


def _finite(number: float) -> float | None:
    return float(number) if math.isfinite(number) else None


class Readings:
    """What is read from a service; each method is a tool."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client

    async def list_experiments(self) -> list[Facts]:
        """All experiments of the service: their arms, policies, preferences, states and numbers of outcomes."""
        return await self._client.call("GET", "/v1/experiments")

    async def show_experiment(self, experiment: str) -> Facts:
        """One experiment of the service, with all its settings."""
        return await self._client.call("GET", _path(experiment))

    async def values_of_arms(self, experiment: str, person: str | None = None) -> Facts:
        """What every arm is worth to a person, or by the experiment's own preference, with intervals and alarms."""
        return await self._client.value(experiment, person)

    async def evaluation(
        self, experiment: str, by: list[str] | None = None, floor: float | None = None, person: str | None = None
    ) -> Facts:
        """What other policies would have brought, by the decisions so far and their propensities, with intervals.

        Args:
            experiment: The experiment's name.
            by: Other preferences whose policies are evaluated, such as ["p95", "mean"].
            floor: The least probability of every arm in an evaluated policy.
            person: The person whose preference is used.
        """
        return await self._client.evaluation(experiment, by=by, floor=floor, person=person)

    async def plan_test_of_experiment(
        self, experiment: str, arm: str, change: float, by: str = "mean", per_day: float | None = None,
        delta: float = 0.05,
    ) -> Facts:  # fmt: skip
        """How long a test will take, from the outcomes that an arm of an experiment has brought so far.

        Args:
            experiment: The experiment's name.
            arm: The arm that would be the control.
            change: The relative change that is to be found, such as 0.05.
            by: What groups are compared by: mean, p95, p99, cvar:0.1.
            per_day: Units of each group and day.
            delta: The error rate of the test.
        """
        about = await self.show_experiment(experiment)
        text = str(await self._client.call("GET", f"{_path(experiment)}/export"))
        rows = [json.loads(line) for line in text.split("\n") if line]
        outcomes = [row["outcome"] for row in rows if row["arm"] == arm and row["outcome"] is not None]
        if not outcomes:
            raise ValueError(f"a plan needs outcomes of the control; {arm!r} of {experiment!r} has none. Name another.")
        costs = bool(about["policy"]["preference"].get("costs", False))
        return await asyncio.to_thread(plan_test, outcomes, change, by, per_day, costs, delta)


class Writings:
    """What is changed in a service; each method is a tool."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client

    async def create_experiment(self, name: str, settings: Facts) -> Facts:
        """Begin an experiment.

        Args:
            name: Its name.
            settings: As `POST /v1/experiments` takes them: arms, policy, preference, rewards, test, ...
        """
        return await self._client.call("POST", "/v1/experiments", {"name": name, **settings})

    async def change_state(self, experiment: str, to: Literal["pause", "resume"]) -> Facts:
        """Pause an experiment, or let it decide again."""
        return await self._client.call("POST", f"{_path(experiment)}/{to}")


class Searches:
    """Searches that run in processes of their own; each public method but `end` is a tool."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()
        self._running: dict[str, asyncio.subprocess.Process] = {}

    async def start_search(self, spec: str, workers: int = 1, max_runs: int | None = None) -> Facts:
        """Find the best option of a simulator by a spec: begin, or go on with the runs that are there.

        Args:
            spec: The TOML file of the search, within the folder that the server was given.
            workers: How many runs at the same time; -1 for one per core.
            max_runs: Stop after this many runs in all.
        """
        file = self._file(spec)
        if (known := self._running.get(spec)) is not None and known.returncode is None:
            raise ValueError(f"only one search of a spec runs at a time; {spec} is running. Ask for its status.")
        words = ["best-arm", str(file), "--workers", str(workers), "--report", str(file.with_suffix(".html"))]
        words += [] if max_runs is None else ["--max-runs", str(max_runs)]
        with _said(file).open("wb") as said:
            self._running[spec] = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "allais.cli", *words, cwd=file.parent, stdin=asyncio.subprocess.DEVNULL,
                stdout=said, stderr=said,
            )  # fmt: skip
        return {"spec": spec, "state": "running", "report": str(file.with_suffix(".html"))}

    async def search_status(self, spec: str, wait_seconds: float = 0.0) -> Facts:
        """Whether a search runs, how many runs it has, and what it said.

        Args:
            spec: The TOML file of the search.
            wait_seconds: Wait for its end, up to so many seconds; at most 60.
        """
        file, known = self._file(spec), self._running.get(spec)
        if known is not None and wait_seconds > 0.0:
            with suppress(TimeoutError):
                await asyncio.wait_for(known.wait(), min(wait_seconds, 60.0))
        journal, said = file.with_suffix(".runs.jsonl"), _said(file)
        state = "not started here"
        if known is not None:
            state = "running" if known.returncode is None else f"ended with code {known.returncode}"
        return {
            "spec": spec, "state": state,
            "lines_in_journal": len(journal.read_bytes().splitlines()) if journal.exists() else 0,
            "said": said.read_text("utf-8", "replace")[-MOST_SHOWN:] if said.exists() else "",
        }  # fmt: skip

    async def stop_search(self, spec: str) -> Facts:
        """Stop a search; its runs stay in the journal, so that `start_search` goes on.

        Args:
            spec: The TOML file of the search.
        """
        known = self._running.get(spec)
        if known is None or known.returncode is not None:
            raise ValueError(f"only a running search can be stopped; {spec} is not running. Ask for its status.")
        await _ended(known)
        return await self.search_status(spec)

    async def end(self) -> None:
        """Stop whatever runs: nothing outlives the server."""
        await asyncio.gather(*(_ended(one) for one in self._running.values()))

    def _file(self, spec: str) -> Path:
        file = (self._folder / spec).resolve()
        if not file.is_relative_to(self._folder) or file.suffix != ".toml" or not file.is_file():
            raise ValueError(f"a spec is a TOML file within {self._folder}; got {spec!r}. Name one that is there.")
        return file


def _said(file: Path) -> Path:
    return file.with_suffix(".search.log")


async def _ended(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.terminate()
        try:
            await asyncio.wait_for(process.wait(), GRACE)
        except TimeoutError:
            process.kill()
            await process.wait()


def _path(experiment: str) -> str:
    return f"/v1/experiments/{quote(experiment, safe='')}"


def _as_tool(work: Callable[Takes, Any]) -> Callable[Takes, Awaitable[Any]]:
    """A function whose refusals are told to the assistant in their own sentence; what blocks runs in a thread."""

    @wraps(work)
    async def called(*given: Takes.args, **named: Takes.kwargs) -> Any:
        try:
            if asyncio.iscoroutinefunction(work):
                return await work(*given, **named)
            return await asyncio.to_thread(work, *given, **named)
        except (ValueError, ServiceError) as refusal:
            raise ToolError(str(refusal)) from None

    return called


def make_server(
    service: str | None = None, key: str = "", folder: Path | None = None, *, allow_writes: bool = False
) -> MCPServer[None]:
    """The server with the tools that it may have.

    Args:
        service: The address of a service; without it there are no tools about experiments.
        key: The service's key; for a server without writes, one with the scope `read` is enough.
        folder: Where specs of searches are; without it there are no searches.
        allow_writes: Whether experiments may be created and paused, and searches run.
    """
    client = None if service is None else AsyncClient(service, key, timeout=PATIENCE, tries=3, connections=4)
    searches = Searches(folder) if folder is not None and allow_writes else None

    @asynccontextmanager
    async def life(_: MCPServer[None]) -> AsyncIterator[None]:
        try:
            yield
        finally:
            if searches is not None:
                await searches.end()
            if client is not None:
                await client.close()

    server = MCPServer("allais", version=__version__, instructions=ABOUT, lifespan=life, log_level="WARNING")
    reading: list[Callable[..., Any]] = [value_lotteries, plan_test]
    writing: list[Callable[..., Any]] = []
    if client is not None:
        read = Readings(client)
        reading += [read.list_experiments, read.show_experiment, read.values_of_arms, client.recommend, client.verdict,
                    read.evaluation, read.plan_test_of_experiment]  # fmt: skip
        if allow_writes:
            written = Writings(client)
            writing += [written.create_experiment, written.change_state]
    if searches is not None:
        reading.append(searches.search_status)
        writing += [searches.start_search, searches.stop_search]
    for work in reading:
        server.add_tool(_as_tool(work), annotations=READS)
    for work in writing:
        server.add_tool(_as_tool(work), annotations=WRITES)
    return server
