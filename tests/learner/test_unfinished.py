"""Unfinished outcomes of a learner: values, draws, intervals, files, folders, forgetting, wrong inputs."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys

import numpy as np
import pytest

from allais import (
    NPTS,
    WLUCB,
    WSR,
    WUCB,
    Bounded,
    Learner,
    Preference,
    SubGaussian,
    TverskyKahneman,
    cvar,
    expected_value,
    quantile,
)
from allais.bands import DKW, KL, Asymptotic, EmpiricalBernstein
from allais.learner.unfinished import likely_distribution
from allais.linear import LinTS, ParameterNoise
from allais.policies import Recent
from allais.policies.npts import draw_value
from allais.report.words import by_mean
from allais.samples.cuts import MOST_CUTS
from allais.searches.forecast import chances_of_best
from allais.streams import CensoredSample

MEAN, BOUNDS = expected_value(costs=True), Bounded(0, 60)
POLICY = NPTS(MEAN, BOUNDS)


def learner_of(policy=POLICY, **cuts):
    learner = policy.start(["A21", "A28"], seed=1)
    learner.observe("A21", [20, 25, 40], **cuts)
    learner.observe("A28", [33, 34, 35])
    return learner


def drawn(view, many):
    """Values of the first arm under masses that are drawn."""
    band, kept, worth, memory = view.rule.band, view.state.kept, view.rule.worth, view.state.memory
    return [draw_value(band, kept, worth, memory, 0, 0, np.uint64(number))[0] for number in range(many)]


def fed(learner, rounds, seed=3):
    """Rounds in which every third outcome is cut off, and some of these become known later."""
    rng = np.random.default_rng(seed)
    late = []
    for k in range(rounds):
        choice, outcome = learner.ask(), float(np.round(rng.exponential(20.0), 1)) % 60.0
        if outcome <= 22.0:
            learner.tell(choice, outcome)
        elif k % 3:
            learner.tell(choice, at_least=22.0, final=True)
        else:
            learner.tell(choice, at_least=22.0)
            late.append((choice, outcome))
        if len(late) > 3:
            learner.tell(*late.pop(0))
    return [choice for choice, _ in late]


@pytest.mark.parametrize("preference", [MEAN, cvar(0.2, costs=True), Preference(TverskyKahneman(0.61), reference=30.0)])
def test_values_and_what_is_left_open_are_those_of_the_censored_sample(preference):
    learner = learner_of(NPTS(preference, BOUNDS), at_least=[30, 22], at_most=[38], between=[(26, 28)])
    sample = CensoredSample([20, 25, 40], at_least=[30, 22], at_most=[38], between=[(26, 28)])
    assert learner.value()["A21"] == pytest.approx(sample.value(preference), abs=1e-12)
    low, value, high = learner.left_open()["A21"]
    assert (low, high) == pytest.approx(sample.bounds(preference, BOUNDS))
    assert value == learner.value()["A21"]
    assert learner.unfinished == {"A21": 4, "A28": 0}
    other = cvar(0.5, costs=preference.costs)
    assert learner.value(other)["A21"] == pytest.approx(sample.value(other.in_frame_of(preference)), abs=1e-12)


def test_an_outcome_that_becomes_known_leaves_no_trace_of_what_was_known_before():
    plain, cut = (POLICY.start(["A21", "A28"], seed=1) for _ in range(2))
    for k in range(30):
        one, other = plain.ask(), cut.ask()
        assert one == other
        cut.tell(other, at_least=k / 2)
        cut.tell(other, at_least=k / 3)  # says less than what is known
        assert cut.unfinished[other.arm] == 1
        plain.tell(one, float(k))
        cut.tell(other, float(k))
    assert cut.snapshot() == plain.snapshot()
    assert cut.value() == plain.value()


def test_draws_spread_a_cut_over_what_lies_beyond_it():
    learner = learner_of(at_least=[30])
    view = learner._engine.view_for(None)
    values = drawn(view, 4_000)
    # masses Gamma(1) of 20, 25 and the best outcome 0; 40 has its own and that of the cut: Dirichlet(1, 1, 1, 2)
    mean, variance = -(20 + 25 + 2 * 40) / 5, (20**2 + 25**2 + 2 * 40**2) / 5 - (125 / 5) ** 2
    error = math.sqrt(variance / 6 / len(values))
    assert abs(np.mean(values) - mean) < 5 * error  # fails by luck with a chance below 1e-6
    assert np.var(values) == pytest.approx(variance / 6, rel=0.12)  # 5 standard errors


def test_draws_place_what_lies_beyond_the_last_outcome_at_the_bound():
    learner = POLICY.start(["A21", "A28"], seed=1)
    learner.observe("A21", at_least=[30])
    view = learner._engine.view_for(None)
    draw = drawn(view, 2_000)
    assert -60 < min(draw) < -58  # Beta(1, 1) between the best outcome, 0, and the worst, 60
    assert np.mean(draw) == pytest.approx(-30, abs=5 * 60 / math.sqrt(12 * 2_000))  # 5 standard errors


def test_two_sided_cuts_are_drawn_and_chosen_by():
    learner = learner_of(NPTS(MEAN, BOUNDS, draws=8, optimism=2), at_least=[30], at_most=[15, 3], between=[(41, 43)])
    choices = [learner.ask() for _ in range(20)]
    assert {choice.arm for choice in choices} <= {"A21", "A28"}
    assert all(0.0 < choice.propensity <= 1.0 for choice in choices)
    assert learner.ask(preference=cvar(0.1, costs=True)).arm in ("A21", "A28")
    assert sum(learner.chances(draws=20).values()) == pytest.approx(1.0)


@pytest.mark.parametrize("band", [KL(), DKW()])
def test_upper_bounds_choose_by_intervals_that_assume_nothing(band):
    learner = learner_of(WUCB(MEAN, BOUNDS, band=band), at_least=[30, 45])
    found = learner.intervals()["A21"]
    for last in itertools.product([30, 60], [45, 50, 60]):
        whole = WUCB(MEAN, BOUNDS, band=band).start(["A21", "A28"], seed=1)
        whole.observe("A21", [20, 25, 40, *last])
        whole.observe("A28", [33, 34, 35])
        finished = whole.intervals()["A21"]
        assert found.low <= finished.low + 1e-9
        assert found.high >= finished.high - 1e-9
    assert learner.intervals()["A28"].value == pytest.approx(-34.0)
    assert learner.ask().arm in ("A21", "A28")


def test_a_race_by_confidence_settles_with_unfinished_outcomes_and_says_what_they_leave_open():
    learner = WLUCB(MEAN, BOUNDS, delta=0.05).start(["A21", "A28"], seed=1)
    learner.observe("A21", [50.0] * 400, at_least=[45.0] * 10)
    learner.observe("A28", [5.0] * 400, at_least=[4.0] * 10)
    best = learner.recommend()
    assert best.arm == "A28"
    assert best.settled
    assert best.unfinished.startswith("10 of 410 outcomes of 'A28' are unfinished. The mean is 5 if")
    assert learner.reached_delta() < 0.05


def test_asymptotic_intervals_are_greenwoods():
    band, rng = Asymptotic(rarest=0.2), np.random.default_rng(2)
    times = rng.exponential(10.0, 300)
    known, cut = times[times <= 15], np.full((times > 15).sum(), 15.0)
    learner = WUCB(MEAN, band=band).start(["A21", "A28"], seed=1)
    learner.observe("A21", known, at_least=cut)
    learner.observe("A28", times)
    ours, theirs = learner.intervals()["A21"], learner.intervals()["A28"]
    assert ours.value < ours.high < ours.value + 2 * (theirs.high - theirs.value)
    assert ours.low == -math.inf  # a fifth of the trips takes longer than 15, who knows how much
    bounded = WUCB(MEAN, BOUNDS, band=band).start(["A21", "A28"], seed=1)
    bounded.observe("A21", known, at_least=cut)
    bounded.observe("A28", times)
    found = bounded.intervals()["A21"]
    assert found.value - 0.5 * (60 - 15) < found.low < theirs.value < found.high
    assert bounded.recommend().arm == "A21"
    said = f"{cut.size / 300:.1%} of the distribution lies beyond all that was seen, and counts as the last cut."
    assert bounded.recommend().unfinished.endswith(said)
    with pytest.raises(ValueError, match="all at_least or all at_most; got at most 3"):
        learner.observe("A21", at_most=[3.0])


@pytest.mark.parametrize(
    "policy", [POLICY, NPTS(MEAN, BOUNDS, memory=Recent(20)), WUCB(MEAN, BOUNDS), WLUCB(MEAN, BOUNDS, delta=0.01)]
)
def test_files_folders_and_copies_go_on_alike_with_outcomes_open(policy, tmp_path):
    learner = Learner.open(tmp_path / "folder", policy, arms=["A21", "A28"], seed=5)
    open_ones = fed(learner, 60)
    learner.save(tmp_path / "file.json")
    twins = [learner.copy(), Learner.load(tmp_path / "file.json")]
    learner.close()
    twins.append(Learner.open(tmp_path / "folder"))
    for k in range(10):
        choices = {twin.ask() for twin in twins}
        assert len(choices) == 1
        for twin in twins:
            twin.tell(next(iter(choices)), at_least=3.0 * k)
    for twin in twins:
        for choice in open_ones:
            twin.tell(choice, 59.0)
    assert len({repr(twin.value()) for twin in twins}) == 1
    assert len({repr(twin.snapshot()) for twin in twins}) == 1
    twins[-1].close()


def test_a_killed_process_leaves_what_was_told(tmp_path):
    code = f"""
import os
from allais import NPTS, Bounded, Learner, expected_value
learner = Learner.open({str(tmp_path / "folder")!r}, NPTS(expected_value(costs=True), Bounded(0, 60)), ["A", "B"], 5)
first, second, third = learner.ask(3)
learner.tell(first, at_least=7.0)
learner.tell(second, at_least=9.0, final=True)
learner.observe("A", [3.0], between=[(1.0, 2.0)], at_most=[5.0])
os.kill(os.getpid(), 9)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9
    with Learner.open(tmp_path / "folder") as learner:
        assert sum(learner.unfinished.values()) == 4
        assert [choice.id for choice in learner.outstanding] == [1, 3]
        learner.tell(1, 8.0)
        with pytest.raises(ValueError, match="told or cancelled once; 2 already was"):
            learner.tell(2, 8.0)


def test_cuts_are_forgotten_as_outcomes_are():
    learner = NPTS(MEAN, BOUNDS, memory=Recent(10)).start(["A21", "A28"], seed=1)
    learner.observe("A21", at_least=[30] * 4)
    learner.observe("A28", [10.0] * 8)
    assert learner.unfinished == {"A21": 2, "A28": 0}
    learner.observe("A28", [10.0] * 2)
    assert learner.unfinished == {"A21": 0, "A28": 0}
    assert learner.waiting == {"A21": 0, "A28": 0}
    learner.observe("A21", at_least=[30] * 10)
    assert learner.pulls == {"A21": 0, "A28": 0}


def test_memory_stays_bounded_and_what_is_kept_stays_true():
    learner = POLICY.start(["A21", "A28"], seed=1)
    ends = np.random.default_rng(1).uniform(0, 50, 3_000)
    learner.observe("A21", [10.0, 20.0], at_least=ends)
    closed = learner._engine.cuts.closed
    assert len(closed) <= MOST_CUTS
    assert sum(closed.values()) == 3_000
    kept = np.sort(np.repeat([key[1] for key in closed], list(closed.values())))
    assert (kept <= np.sort(ends)).all()
    assert np.abs(kept - np.sort(ends)).mean() < 0.2
    exact = POLICY.start(["A21", "A28"], seed=1, exact=True)
    exact.observe("A21", at_least=ends)
    assert len(exact._engine.cuts.closed) == 3_000


def test_a_cancelled_choice_is_no_longer_unfinished():
    learner = POLICY.start(["A21", "A28"], seed=1)
    choice = learner.ask()
    learner.tell(choice, at_least=7.0)
    assert learner.waiting[choice.arm] == 1
    learner.cancel(choice)
    assert learner.unfinished == learner.waiting == {"A21": 0, "A28": 0}


def test_arms_bounds_and_preferences_may_change_while_outcomes_are_open():
    learner = learner_of(at_least=[30])
    learner.add("B7")
    learner.widen(Bounded(0, 90))
    learner.change_preference(quantile(0.9, costs=True))
    assert learner.left_open()["A21"] == (-90.0, -40.0, -40.0)
    assert learner.ask().arm == "B7"


@pytest.mark.parametrize(
    ("policy", "known", "said"),
    [
        (POLICY, {}, "unfinished: at_least, at_most or between; got none"),
        (POLICY, {"at_least": math.inf}, "at_least must be finite; got inf"),
        (POLICY, {"at_least": 70.0}, "got at least 70. .*learner.widen"),
        (POLICY, {"reward": 3.0, "at_least": 2.0}, "an outcome is known, or bounded"),
        (POLICY, {"between": (5, 4)}, "got 5 and 4. Swap them"),
        (WSR(MEAN, budget=10), {"at_least": 3.0}, "WSR learns from finished outcomes only; got at least 3. Use NPTS"),
        (
            LinTS(MEAN, ParameterNoise(), features=np.eye(2)),
            {"at_least": 3.0},
            "LinTS learns from finished outcomes only",
        ),
        (WUCB(MEAN, BOUNDS, band=EmpiricalBernstein()), {"at_least": 3.0}, "EmpiricalBernstein bounds values by"),
        (WUCB(MEAN, SubGaussian(1, 1)), {"at_least": 3.0}, "need bounded rewards"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_sentence_and_changes_nothing(policy, known, said):
    learner = policy.start(["A21", "A28"], seed=1)
    choice = learner.ask()
    before = repr(learner.snapshot())
    with pytest.raises(ValueError, match=said):
        learner.tell(choice, **known)
    assert repr(learner.snapshot()) == before


def test_what_is_told_of_an_outcome_must_agree():
    learner = POLICY.start(["A21", "A28"], seed=1)
    choice = learner.ask()
    learner.tell(choice, at_least=30.0)
    with pytest.raises(ValueError, match="it was at least 30; got at most 20"):
        learner.tell(choice, at_most=20.0)
    with pytest.raises(ValueError, match="agree with what was told of it, at least 30; got 20"):
        learner.tell(choice, 20.0)
    with pytest.raises(ValueError, match="each outcome has its arm, unfinished ones last; got 2 arms, 2 rewards, 1 un"):
        learner.observe(["A21", "A28"], [1.0, 2.0], at_least=[3.0])
    with pytest.raises(ValueError, match="an arm must be one of 'A21', 'A28'; got 'A29'"):
        learner.check_cut("A29", at_least=3.0)
    assert learner.unfinished[choice.arm] == 1


def test_unfinished_outcomes_of_several_arms_are_observed_together_or_not_at_all(tmp_path):
    learner = POLICY.start(["A21", "A28"], seed=1)
    with pytest.raises(ValueError, match="an arm must be one of"):
        learner.observe(["A21", "A28", "A1"], [1.0], at_least=[3.0, 4.0])
    assert (sum(learner.pulls.values()), sum(learner.unfinished.values())) == (0, 0)
    with Learner.open(tmp_path / "folder", POLICY, ["A21", "A28"], seed=1) as kept:
        kept.observe(["A21", "A28", "A21", "A28"], [1.0, 2.0], at_least=[3.0], at_most=[4.0])
    learner.observe("A21", [1.0], at_least=[3.0])
    learner.observe("A28", [2.0], at_most=[4.0])
    with Learner.open(tmp_path / "folder") as kept:
        assert kept.unfinished == learner.unfinished == {"A21": 1, "A28": 1}
        assert kept.value() == learner.value()
    one_sided = WUCB(MEAN, BOUNDS, band=Asymptotic(0.05)).start(["A21", "A28"], seed=1)
    with pytest.raises(ValueError, match="cuts on one side"):
        one_sided.observe(["A21", "A28"], at_least=[3.0], at_most=[4.0])
    assert sum(one_sided.unfinished.values()) == 0


def test_the_next_version_of_a_file_is_written_only_where_outcomes_are_unfinished():
    learner = POLICY.start(["A21", "A28"], seed=1)
    assert learner.snapshot()["version"] == 3
    learner.tell(learner.ask(), at_least=3.0)
    assert learner.snapshot()["version"] == 4


def test_final_is_true_or_false_and_many_unfinished_outcomes_stay_small():
    learner = NPTS(expected_value(costs=True), Bounded(0, 60)).start(["A21", "A28"], seed=1)
    trip = learner.ask()
    with pytest.raises(ValueError, match="final must be True or False; got 'yes'"):
        learner.tell(trip, at_least=30.0, final="yes")
    assert learner.unfinished == {"A21": 0, "A28": 0}
    cuts = np.random.default_rng(1).uniform(0.0, 50.0, 30_000)
    learner.observe("A21", [], at_least=cuts)
    one_by_one = NPTS(expected_value(costs=True), Bounded(0, 60)).start(["A21", "A28"], seed=1)
    for cut in cuts[:3_000].tolist():
        one_by_one.observe("A21", [], at_least=[cut])
    whole = NPTS(expected_value(costs=True), Bounded(0, 60)).start(["A21", "A28"], seed=1)
    whole.observe("A21", [], at_least=cuts[:3_000])
    assert one_by_one.snapshot()["unfinished"] == whole.snapshot()["unfinished"]
    assert learner.unfinished["A21"] == 30_000
    assert len(learner.snapshot()["unfinished"]["closed"]) <= 1_024


def test_the_most_likely_distribution_waits_for_other_calls_and_refuses_what_was_broken_off():
    learner = learner_of(at_least=[30])
    assert likely_distribution(learner, "A21").mean == pytest.approx(31.25)
    learner._guard.midway = True
    with pytest.raises(ValueError, match="interrupted in the middle"):
        likely_distribution(learner, "A21")


def test_means_and_chances_of_many_arms_count_unfinished_outcomes_once(monkeypatch):
    """Once for each arm, it took a second where there were five thousand."""
    learner, counted = learner_of(at_least=[30]), []
    count = Learner.unfinished.fget
    monkeypatch.setattr(Learner, "unfinished", property(lambda self: counted.append(1) or count(self)))
    assert by_mean(learner).means == pytest.approx({"A21": 31.25, "A28": 34.0})
    assert len(counted) == 1
    assert sum(chances_of_best(learner, np.random.default_rng(1), draws=50).values()) == pytest.approx(1.0)
    assert len(counted) == 2
