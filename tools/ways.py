"""`python -m tools.ways`: how many files and calls of this library one ask, tell, decide, reward, search, fit take.

What docs/developer/design.md says about the ways of a call is counted here: every Python function of `allais` that is
called, in the thread of the caller, once everything is compiled.
"""

import asyncio
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import FrameType
from typing import Any

import allais

SOURCE = str(Path(allais.__file__).parent)
POLICY = allais.WUCB(allais.Preference(allais.TverskyKahneman(0.61)), allais.Bounded(0, 50))
EXPERIMENT = {
    "policy": {"type": "NPTS"},
    "arms": ["A21", "A28"],
    "preference": {"gains": {"type": "TverskyKahneman", "eta": 0.61}},
    "rewards": {"type": "Bounded", "low": 0.0, "high": 50.0},
    "seed": 1,
}


class Way:
    """The functions that were called within."""

    def __init__(self) -> None:
        self.calls: Counter[tuple[str, str]] = Counter()

    def __enter__(self) -> "Way":
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(SOURCE):
            self.calls[code.co_filename.removeprefix(SOURCE + "/"), code.co_qualname] += 1

    def __str__(self) -> str:
        return f"{len({file for file, _ in self.calls})} files, {self.calls.total()} calls"


def of_learner(learner: allais.Learner) -> tuple[Way, Way]:
    """The ways of an ask and of a tell, after some of each."""
    for _ in range(200):
        learner.tell(learner.ask(), 7.0)
    with Way() as asking:
        choice = learner.ask()
    with Way() as telling:
        learner.tell(choice, 20.0)
    return asking, telling


async def of_service(folder: Path) -> tuple[Way, Way]:
    """The ways of a decide and of a reward, from the request to the answer."""
    from allais.serve.api.schemas import NewKey
    from allais.serve.core.experiments import make_key
    from allais.serve.running import make_app
    from allais.serve.settings_file import ServerSettings

    keys: list[str] = []

    async def started(service: Any) -> None:
        keys.append((await make_key(service, NewKey(name="way", scopes=["decide", "manage"]), None))[0])

    app = make_app(ServerSettings(database=str(folder / "way.db")), started)
    async with app.app.router.lifespan_context(app.app):
        await _post(app, keys[0], "/v1/experiments", {"name": "routes", **EXPERIMENT})
        for choice in range(1, 21):
            await _post(app, keys[0], "/v1/experiments/routes/decide", {})
            await _post(app, keys[0], "/v1/experiments/routes/reward", {"choice": choice, "outcome": 7.0})
        with Way() as deciding:
            await _post(app, keys[0], "/v1/experiments/routes/decide", {})
        with Way() as rewarding:
            await _post(app, keys[0], "/v1/experiments/routes/reward", {"choice": 21, "outcome": 7.0})
    return deciding, rewarding


async def _post(app: Callable[..., Awaitable[None]], key: str, path: str, body: dict[str, Any]) -> None:
    headers = [(b"authorization", f"Bearer {key}".encode()), (b"content-type", b"application/json")]
    scope = {
        "type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b"",
        "headers": headers, "client": ("way", 1), "server": ("way", 1), "scheme": "http", "http_version": "1.1",
    }  # fmt: skip
    answers: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": json.dumps(body).encode(), "more_body": False}

    async def send(message: Any) -> None:
        answers.append(message)

    await app(scope, receive, send)
    assert answers[0]["status"] < 300, answers


def of_search(folder: Path) -> Way:
    """The way of a search with a journal, in the thread of the caller."""
    policy = allais.WLUCB(allais.Preference(allais.TverskyKahneman(0.61)), allais.Bounded(0, 50), delta=0.1)
    problem = allais.Simulator(lambda arm, rng: 40.0 if arm == "bus" else 1.0, ["bus", "car"])
    with Way() as searching:
        allais.search(policy, problem, seed=1, max_runs=40, journal=folder / "runs.jsonl")
    (folder / "runs.jsonl").unlink()
    return searching


def of_fit() -> Way:
    """The way of a fit of two parameters to eight choices."""
    from allais.people import Choices, Family, fit

    table = {"person": ["a"] * 8, "gain": [10, 12, 15, 20, 8, 10, 11, 30], "loss": [10, 5, 9, 9, 7, 8, 4, 20],
             "accepted": [0, 1, 0, 1, 0, 0, 1, 1]}  # fmt: skip
    choices, family = Choices.mixed_gambles(table), Family(eta=0.61, alpha=1.0)
    with Way() as fitting:
        fit(choices, family)
    return fitting


def main() -> None:
    """Print the ways; with `-v`, each function on them."""
    with tempfile.TemporaryDirectory() as name:
        asking, telling = of_learner(POLICY.start(["A21", "A28"], seed=1))
        with allais.Learner.open(Path(name) / "advisor", POLICY, ["A21", "A28"], seed=1) as learner:
            durable = of_learner(learner)
        deciding, rewarding = asyncio.run(of_service(Path(name)))
        searching = [of_search(Path(name)) for _ in range(2)]  # the first one compiles
    fitting = [of_fit() for _ in range(2)]
    ways = {"ask": asking, "tell": telling, "ask on disk": durable[0], "tell on disk": durable[1]}
    ways |= {"decide": deciding, "reward": rewarding, "search": searching[1], "fit": fitting[1]}
    for title, way in ways.items():
        print(f"{title}: {way}")
        for (file, function), many in way.calls.items() if "-v" in sys.argv else ():
            print(f"    {many:3} {file}: {function}")


if __name__ == "__main__":
    main()
