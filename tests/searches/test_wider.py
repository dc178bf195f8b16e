"""A bound that turns out wrong, and settings that change between two calls: no finished run is repeated."""

import json
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest

from allais import LUCB, WLUCB, WSR, Bounded, Preference, Simulator, TopTwo, TverskyKahneman, expected_value, search
from allais.errors import OutOfBounds
from allais.searches.journal import changes
from allais.settings import to_spec
from tests.cli.test_best_arm import COIN as SPEC
from tests.cli.test_best_arm import run, runs_of
from tests.searches.simulators import ARMS, coin
from tests.searches.test_run_journals import Counted

PEOPLE = Preference(TverskyKahneman(0.8), TverskyKahneman(0.85))
NARROW, WIDE = (WLUCB(PEOPLE, Bounded(-1, high), delta=0.1) for high in (0, 1))


@pytest.mark.parametrize("with_journal", [False, True])
@pytest.mark.parametrize("batch", [1, 7])
def test_a_search_goes_on_with_wider_bounds_and_repeats_no_run(tmp_path, with_journal, batch):
    path = tmp_path / "runs.jsonl" if with_journal else None
    problem = Counted()
    with ThreadPoolExecutor(3) as executor, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        answer = search(
            NARROW, problem, seed=1, executor=executor, workers=3, batch=batch, journal=path, wider=Bounded(-1, 1)
        )
    assert answer.settled
    assert answer.arm == "A"
    assert answer.learner.policy == WIDE
    assert len(set(problem.done)) == len(problem.done)
    text = " ".join(str(one.message) for one in said)
    assert "rewards must lie between -1 and 0; got 1" in text
    assert "The search goes on with Bounded(low=-1.0, high=1.0)" in text
    assert "finished runs again" in text or "finished runs are used again" in text
    assert "holds if no outcome can lie beyond them" in text


def test_one_worker_with_wider_bounds_ends_where_the_wide_search_does():
    alone = search(WIDE, Simulator(coin, ARMS), seed=1)
    with pytest.warns(UserWarning, match="The search goes on with"):
        answer = search(NARROW, Simulator(coin, ARMS), seed=1, wider=Bounded(-1, 1))
    assert answer.intervals == alone.intervals


@pytest.mark.filterwarnings("default")
def test_a_stopped_search_offers_wider_bounds_and_a_journal_that_holds_a_refused_run_begins_with_them(tmp_path):
    path, problem = tmp_path / "runs.jsonl", Counted()
    with pytest.raises(OutOfBounds, match=r"Every finished run stays usable; .* wider=Bounded\(low, high\) in Python"):
        search(NARROW, problem, seed=1, journal=path)
    with pytest.warns(UserWarning, match=r"holds run \d of '[ABC]', with an outcome of 1 that was refused"):
        answer = search(NARROW, problem, seed=1, journal=path, wider=Bounded(-1, 1))
    assert answer.settled
    assert len(set(problem.done)) == len(problem.done)


def test_what_lies_beyond_the_wider_bounds_too_stops_the_search():
    with (
        pytest.warns(UserWarning, match="goes on"),
        pytest.raises(OutOfBounds, match=r"between -1 and 0\.5; got 1"),
    ):
        search(NARROW, Simulator(coin, ARMS), seed=1, wider=Bounded(-1, 0.5))
    with pytest.raises(ValueError, match="low must lie below high"):
        search(NARROW, Simulator(coin, ARMS), seed=1, wider=Bounded(1, 1))


@pytest.mark.filterwarnings("default")
def test_the_command_line_goes_on_with_wider_bounds(tmp_path):
    spec = tmp_path / "coin.toml"
    text = SPEC.format(function="coin", policy="WSR", setting="budget = 60").replace("high = 1", "high = 0")
    spec.write_text(text)
    first = run(spec)
    assert first.exit_code == 1
    assert "--wider LOW HIGH on the command line" in first.output
    result = run(spec, "--resume", "--wider", -1, 1)
    assert result.exit_code == 0, result.output
    assert "The search goes on with Bounded(low=-1.0, high=1.0)" in result.output
    done = [(one["arm"], one["index"]) for one in runs_of(spec.with_suffix(".runs.jsonl")) if "arm" in one]
    assert len(set(done)) == len(done)


@pytest.mark.parametrize(
    ("before", "now", "named", "then"),
    [
        (WIDE, WIDE.but(delta=0.2), ["delta: 0.1 before, 0.2 now"], "If delta was chosen by what"),
        (WIDE, WIDE.but(tolerance=0.3), ["tolerance: 0.0 before, 0.3 now"], "as if it had been so from the start"),
        (
            WIDE,
            WIDE.but(rewards=Bounded(-2, 2), tolerance=0.3),
            ["rewards.low: -1.0 before, -2.0 now", "rewards.high: 1.0 before, 2.0 now", "tolerance: 0.0 before"],
            "as if it had been so from the start",
        ),
        (
            LUCB(Bounded(-1, 1), delta=0.1),
            TopTwo(expected_value(), Bounded(-1, 1), delta=0.2),
            ["type: LUCB before, TopTwo now", "delta: 0.1 before, 0.2 now"],
            "If the type of the policy or delta was chosen",
        ),
        (WIDE, WSR(PEOPLE, Bounded(-1, 1), budget=60), ["type: WLUCB before, WSR now"], "are used again.$"),
    ],
)
def test_resuming_with_other_settings_names_each_field_and_uses_every_run(tmp_path, before, now, named, then):
    path, problem = tmp_path / "runs.jsonl", Counted()
    search(before, problem, seed=1, journal=path, max_runs=40)
    with pytest.warns(UserWarning, match=then) as said:
        search(now, problem, seed=1, journal=path, max_runs=60)
    assert len(set(problem.done)) == len(problem.done) <= 60
    assert all(one in str(said[0].message) for one in named)
    assert "its 40 finished runs are used again" in str(said[0].message)
    assert [json.loads(line).get("format") for line in path.read_text().splitlines()].count("allais runs") == 2


def test_a_change_of_type_names_what_both_types_have():
    one, other = (to_spec(policy) for policy in (WIDE, TopTwo(PEOPLE, Bounded(-1, 2), delta=0.1)))
    assert changes(one, other) == ["type: WLUCB before, TopTwo now", "rewards.high: 1.0 before, 2.0 now"]
