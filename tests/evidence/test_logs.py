"""Logs of decisions, and what other policies would have been worth."""

from __future__ import annotations

import csv
import json
import math

import numpy as np
import pytest

from allais import NPTS, Bounded, cvar, expected_value, mixed, quantile
from allais.evidence import best_so_far, choose_policy, evaluate, read_decisions, replay
from allais.evidence.distributions import band, reach_of, unseen, value_of
from allais.evidence.models import EachArm, Estimate, Fitted, best_model
from allais.evidence.targets import rows_of
from allais.preferences import Preference

ARMS = ("a", "b", "c")
LEVELS = {"a": 10.0, "b": 20.0, "c": 15.0}


def _log(n=6_000, seed=1, context=False):
    rng = np.random.default_rng(seed)
    p = np.array([0.6, 0.3, 0.1])
    arm = rng.choice(3, size=n, p=p)
    rain = rng.random(n) < 0.5
    outcome = np.array([LEVELS[ARMS[k]] for k in arm]) + rng.normal(0.0, 3.0, n) + (6.0 * rain * (arm == 2))
    table = {"arm": [ARMS[k] for k in arm], "outcome": outcome, "propensity": p[arm]}
    return read_decisions({**table, "rain": rain.tolist()}, context=["rain"]) if context else read_decisions(table)


def test_each_estimator_finds_the_mean_of_an_arm_that_was_seldom_chosen():
    # the standard error of the mean of 600 outcomes is 0.12; 6 of them leave a chance of 2e-9
    for estimator, reach in (("doubly robust", 0.75), ("self-normalised", 0.75), ("importance-weighted", 4.5)):
        found = evaluate(_log(), "b", expected_value(), estimator=estimator).worths[0]
        assert found.value == pytest.approx(20.0, abs=reach)
        assert found.interval[0] < found.value < found.interval[1]
        assert found.untried == 0.0


def test_the_logging_policy_is_worth_what_it_earned():
    log = _log()
    for preference in (expected_value(), quantile(0.95), cvar(0.1), Preference.tversky_kahneman()):
        found = evaluate(log, "logging", preference).worths[0]
        earned = preference.outcomes_of(preference.estimate(log.outcome))
        assert found.value == pytest.approx(float(earned), rel=1e-7)


def test_the_whole_distribution_is_that_of_the_target():
    # against all outcomes of the arm: the doubly robust distribution of one arm is its own, but for folds
    log = _log()
    own = log.outcome[log.chosen == log.arms.index("b")]
    for preference in (
        quantile(0.95),
        quantile(0.05, costs=True),
        cvar(0.2),
        Preference.tversky_kahneman(reference=12),
    ):
        found = evaluate(log, "b", preference).worths[0]
        assert found.value == pytest.approx(float(preference.outcomes_of(preference.estimate(own))), rel=0.02)


def test_a_target_may_depend_on_the_context_and_draw():
    log = _log(6_000, context=True)
    targets = {
        "by weather": lambda context: "c" if context["rain"] else "b",
        "half": {"a": 0.5, "b": 0.5},
        "drawn": lambda context: {"a": 0.5, "c": 0.5},
    }
    found = evaluate(log, targets, expected_value())
    values = [one.value for one in found.worths]
    assert values == pytest.approx([20.5, 15.0, 14.0], abs=1.2)  # 6 standard errors or more
    more, (low, high) = found.difference("by weather", "half")
    assert low < 5.5 < high
    assert more == pytest.approx(values[0] - values[1])
    with pytest.raises(ValueError, match="only targets and preferences that were evaluated"):
        found.worth("nobody")


def test_what_nobody_tried_is_never_extrapolated():
    log = _log()
    found = evaluate(log, {"new": {"b": 0.5, "d": 0.5}}, expected_value(), bounds=(-50.0, 100.0))
    worth = found.worths[0]
    assert worth.untried == 0.5
    assert "50.0% of new's decisions are on arms that nobody tried" in str(found)
    assert worth.interval[0] < 0.5 * 20 - 0.5 * 50 + 1
    assert worth.interval[1] > 0.5 * 20 + 0.5 * 100 - 1
    assert worth.proven[0] <= worth.interval[0] + 2.0
    unbounded = evaluate(log, {"new": {"b": 0.5, "d": 0.5}}, [expected_value(), quantile(0.25)]).worths
    assert unbounded[0].interval == (-np.inf, np.inf)
    alone = evaluate(log, "b", quantile(0.25)).worths[0].value
    assert unbounded[1].value == pytest.approx(alone, rel=0.01)  # of what was tried
    assert evaluate(log, "d", quantile(0.5)).worths[0].interval == (-np.inf, np.inf)


def test_proven_intervals_hold_on_the_log_of_a_policy_that_learned():
    rng, misses = np.random.default_rng(3), 0
    for seed in range(20):
        learner = NPTS(expected_value(), Bounded(0, 1), draws=8, floor=0.05).start([0, 1], seed=seed)
        rows = {"arm": [], "outcome": [], "propensity": []}
        for _ in range(600):
            choice = learner.ask()
            outcome = float(rng.random() < (0.4, 0.6)[choice.arm])
            learner.tell(choice, outcome)
            for name, cell in zip(rows, (choice.arm, outcome, choice.propensity), strict=True):
                rows[name].append(cell)
        found = evaluate(read_decisions(rows), 0, [expected_value(), cvar(0.5)], bounds=(0.0, 1.0), delta=0.1)
        misses += any(
            not one.proven[0] <= truth <= one.proven[1] for one, truth in zip(found.worths, (0.4, 0.0), strict=True)
        )
    assert misses <= 12  # a chance of 0.1 each: more than 12 of 20 by luck in one of 1e7


def test_the_band_holds_the_distribution_at_all_looks():
    rng = np.random.default_rng(5)
    for _ in range(10):
        p = 0.25
        weights = np.where(rng.random(3_000) < p, 1.0 / p, 0.0)
        values = rng.random(3_000)
        for n in (300, 1_000, 3_000):
            thresholds, least, most = band(weights[:n], values[:n], 1e-8, (-1.0, 3.0))
            true = np.clip(1.0 - thresholds, 0.0, 1.0)
            assert (least <= true + 1e-9).all()
            assert (most >= true - 1e-9).all()
    assert most.min() < 0.3  # and it says something
    assert thresholds[0] < -0.5 < 1.5 < thresholds[-1]  # also beyond what the first decisions saw
    assert value_of(expected_value(), np.array([0.0, 1.0]), np.array([1.0, 0.5, 0.0]), 1.0) == 0.5


def test_a_policy_that_learns_is_replayed():
    log, policy = _log(30_000), NPTS(expected_value(), Bounded(-50, 100))
    used = replay(log.told, policy)
    assert used.size > 1_000
    assert np.mean(log.chosen[used[-500:]] == log.arms.index("b")) > 0.9
    worth = evaluate(log, {"NPTS": policy}, expected_value()).worths[0]
    assert worth.value == pytest.approx(log.outcome[used].mean())


def test_a_policy_is_chosen_on_one_part_and_valued_on_the_other():
    found = choose_policy(_log(), {"a": "a", "b": "b", "c": "c"}, expected_value())
    assert (found.worths[0].target, found.log.n) == ("b", 3_000)
    assert choose_policy(_log(), {"a": "a", "b": "b"}, expected_value(costs=True)).worths[0].target == "a"


def test_a_log_says_what_is_wrong_with_it():
    rng = np.random.default_rng(1)
    n = 4_000
    arm = rng.integers(2, size=n)
    outcome = [None if k == 1 and rng.random() < 0.3 else 1.0 for k in arm]
    sound = read_decisions({"arm": arm, "outcome": np.ones(n), "propensity": np.full(n, 0.5)})
    assert sound.findings() == sound.findings(least=0.5) == ()
    lost = read_decisions({"arm": arm, "outcome": outcome, "propensity": np.full(n, 0.5)})
    assert "missing more often for some arms than for others" in " ".join(lost.findings())
    small = read_decisions({"arm": arm, "outcome": np.ones(n), "propensity": np.full(n, 0.4)})
    assert any("of 0 do not fit how often it was chosen: too small" in one for one in small.findings())
    large = read_decisions({"arm": arm, "outcome": np.ones(n), "propensity": np.full(n, 0.7)})
    assert large.findings() == ()  # arms may have been impossible now and then
    assert any("too large" in one for one in large.findings(least=0.3))
    with pytest.raises(ValueError, match="Give least="):
        sound.calibration(-1)
    few = read_decisions({"arm": ["a"] * 40 + ["b"], "outcome": np.ones(41), "propensity": np.full(41, 0.5)})
    assert few.findings()[-1] == "1 of 2 arms were chosen fewer than 30 times (b)."
    assert "rests on 1.0 outcomes in effect" in str(evaluate(few, "b", expected_value()))
    assert "All outcomes that a rests on are equal" in str(evaluate(few, "a", expected_value()))
    assert "on arms that nobody tried." in str(evaluate(few, "2", expected_value())).partition("target  ")[0]


BAD = [
    ({"outcome": [1.0], "propensity": [0.5]}, "a column must be in the table; 'arm' is not"),
    ({"arm": ["a"], "outcome": [1.0], "propensity": [0.0]}, "a propensity is a probability above 0; row 1 has 0"),
    (
        {"arm": ["a"], "outcome": [1.0], "propensity": [1.5]},
        "a propensity is a probability of at most 1; row 1 has 1.5",
    ),
    ({"arm": ["a"], "outcome": [1.0], "propensity": [None]}, "every decision has its propensity; row 1 has none"),
    ({"arm": ["a"], "outcome": ["x"], "propensity": [0.5]}, "an outcome is a number; row 1 has 'x'"),
    ({"arm": ["a"], "outcome": [">= 30"], "propensity": [0.5]}, "row 1 has '>= 30', of which only a bound is known"),
    ({"arm": [None], "outcome": [1.0], "propensity": [0.5]}, "every decision has its arm; row 1 has none"),
    ({"arm": [], "outcome": [], "propensity": []}, "a log has one decision or more"),
    ({"arm": ["a"], "outcome": [np.inf], "propensity": [0.5]}, "an outcome is a finite number"),
]


@pytest.mark.parametrize(("table", "sentence"), BAD)
def test_a_bad_log_gets_one_sentence(table, sentence):
    with pytest.raises(ValueError, match=sentence):
        read_decisions(table)


def test_a_bad_evaluation_gets_one_sentence():
    log = _log(200, context=True)
    with pytest.raises(ValueError, match="a target's probabilities sum to 1; got"):
        evaluate(log, {"a": 0.5}, expected_value())
    with pytest.raises(ValueError, match="a target gives each arm a probability"):
        evaluate(log, {"half": {"a": -0.5}}, expected_value())
    with pytest.raises(ValueError, match="it raised KeyError"):
        evaluate(log, lambda context: context["snow"], expected_value())
    with pytest.raises(ValueError, match="Name the log's context columns"):
        evaluate(_log(200), lambda context: context["rain"], expected_value())
    with pytest.raises(ValueError, match="an estimator is one of"):
        evaluate(log, "a", expected_value(), estimator="magic")
    with pytest.raises(ValueError, match="bounds are the least and the greatest"):
        evaluate(log, "a", expected_value(), bounds=(1.0, 0.0))
    with pytest.raises(ValueError, match="outcomes lie within the bounds"):
        evaluate(log, "a", expected_value(), bounds=(0.0, 12.0))
    with pytest.raises(TypeError, match="a log is evaluated by a preference"):
        evaluate(log, "a", "mean")
    missing = read_decisions({"arm": ["a"], "outcome": [None], "propensity": [0.5]})
    with pytest.raises(ValueError, match="this one has none"):
        evaluate(missing, "a", expected_value())
    jumpy = mixed((0.5, expected_value()), (0.5, quantile(0.5)))
    with pytest.raises(ValueError, match="jumps"):
        evaluate(log, "a", jumpy)


def test_the_services_export_is_a_log(tmp_path):
    lines = [
        {"number": 1, "arm": "a", "state": "told", "outcome": 3.0, "propensity": 0.5},
        {"number": 2, "arm": "b", "state": "expired", "outcome": None, "propensity": 0.5},
        {"number": None, "arm": "b", "state": "imported", "outcome": 9.0, "propensity": None},
    ]
    path = tmp_path / "export.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)) + "\n")
    log = read_decisions(path)
    assert (log.arms, log.n, log.told.n) == (("a", "b"), 2, 1)
    table = tmp_path / "export.csv"
    table.write_text("arm,state,outcome,propensity\na,told,3.0,0.5\nb,expired,,0.5\nb,imported,9.0,\n")
    assert read_decisions(table).n == 2
    for content, message in ((b"{}\nno\n", "line 2 is not"), (b"\n", "a log has one"), (b"\xff", "cannot be read")):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=message):
            read_decisions(path)


def test_a_forest_of_contexts_narrows_the_estimate_and_leaves_it_unbiased():
    # the true mean is 20.5; the intervals have a chance of 1e-6 to miss it
    log, target = _log(3_000, context=True), {"by weather": lambda context: "c" if context["rain"] else "b"}
    found = {
        model: evaluate(log, target, expected_value(), delta=1e-6, model=model).worths[0]
        for model in (best_model, EachArm)
    }
    for one in found.values():
        assert one.interval[0] < 20.5 < one.interval[1]
    narrow, wide = (one.interval[1] - one.interval[0] for one in found.values())
    assert narrow < 0.95 * wide


def test_an_estimate_is_the_mean_of_its_parts():
    # with any model: the measure on outcomes and the parts of decisions are two ways to sum the same
    log = _log(400, context=True)
    rows = rows_of(log, lambda context: {"a": 0.2, "c": 0.8} if context["rain"] else "b")
    for model in (best_model, EachArm):
        one = Estimate(rows, "doubly robust", Fitted(log, model))
        assert one.parts(log.outcome).mean() == pytest.approx(float(one.masses @ log.outcome), rel=1e-12)
        assert one.masses.sum() == pytest.approx(1.0, abs=1e-12)


def test_intervals_widen_with_the_kurtosis_of_their_parts_and_move_to_their_long_tail():
    even, skewed = np.tile([-1.0, 1.0], 50), np.append(np.full(99, -0.1), 9.9)
    assert reach_of(even, 0.1) == pytest.approx((even.std(ddof=1) / 10.0 * 1.645,) * 2, rel=0.01)
    below, above = reach_of(skewed, 0.1)
    assert below + above > 2.0 * 2.0 * skewed.std(ddof=1) / 10.0
    assert above == pytest.approx(3.0 * below)  # moved by half its length, at most
    assert reach_of(-skewed, 0.1) == pytest.approx((above, below))
    assert reach_of(np.ones(5), 0.1) == (0.0, 0.0)


def test_an_event_that_nobody_saw_changes_the_value_by_a_steep_weight_only():
    outcomes, masses, wide = np.arange(1.0, 101.0), np.full(100, 0.01), (-math.inf, math.inf)
    points, tails = np.append(outcomes, 105.0), np.append(1.0 - np.arange(100) / 100.0, 0.0)
    people = Preference.tversky_kahneman()
    value = value_of(people, outcomes, tails, 1.0)
    expected, rare = unseen(people, outcomes, masses, 1.0, 100.0, 0.05, wide)
    for found, event in ((expected, 0.01), (rare, math.log(20.0) / 100.0)):  # one percent, and three
        mixed_in = np.append((1.0 - event) * tails[:-1] + event, [event, 0.0])
        assert found.more == pytest.approx(value_of(people, points, mixed_in, 1.0) - value)
        assert found.less > 0.0
    assert expected.more < rare.more
    assert unseen(people, outcomes, masses, 1.0, 100.0, 0.05, (0.0, 100.0))[1].more < rare.more
    certain = unseen(people, outcomes, masses, 1.0, 1e12, 0.05, wide)
    assert all(abs(end) < 1e-4 for one in certain for end in one)
    atoms = unseen(people, np.repeat([1.0, 2.0], 50), masses, 1.0, 100.0, 0.05, wide)
    assert atoms[0] == (0.0, 0.0)  # both ends were seen again and again
    assert min(atoms[1]) > 0.0
    assert unseen(cvar(0.1), outcomes, masses, 1.0, 100.0, 0.05, wide) == ((0.0, 0.0), (0.0, 0.0))


def test_prospect_theory_holds_its_intervals_where_few_outcomes_have_heavy_tails():
    # at 8 % a miss, more than 18 of 60 come by luck in less than one of 1e6
    rng, people, misses = np.random.default_rng(11), Preference.tversky_kahneman(), 0
    many = np.minimum(rng.lognormal(0.0, 0.8, 1_000_000), 100.0)
    truth = float(people.outcomes_of(people.estimate(many)))
    for _ in range(60):
        arm = rng.random(1_000) < 0.1
        table = {"arm": np.where(arm, "rare", "common"), "outcome": np.minimum(rng.lognormal(0.0, 0.8, 1_000), 100.0)}
        log = read_decisions({**table, "propensity": np.where(arm, 0.1, 0.9)})
        low, high = evaluate(log, "rare", people).worths[0].interval
        misses += not low <= truth <= high
    assert misses <= 18


def test_weak_overlap_in_contexts_is_said_and_not_extrapolated():
    rng = np.random.default_rng(4)
    rain = rng.random(2_000) < 0.5
    table = {"arm": np.where(rain, "bus", "bike"), "outcome": np.where(rain, 30.0, 20.0) + rng.normal(0, 2, 2_000)}
    log = read_decisions({**table, "propensity": np.ones(2_000), "rain": rain.tolist()}, context=["rain"])
    found = evaluate(log, {"bus": "bus"}, expected_value(costs=True), bounds=(0.0, 100.0)).worths[0]
    assert found.untried == pytest.approx(1.0 - rain.mean())
    assert "on arms that nobody tried in such contexts" in found.caveat
    assert found.interval[0] < 0.5 * 30 + 1  # dry days may be anything: from 0 to 100 minutes
    assert found.interval[1] > 0.5 * 30 + 0.5 * 100 - 3


def test_the_best_so_far_uses_nothing_that_came_later_and_a_list_is_a_target():
    log = _log(2_000)
    by_mean = best_so_far(log, expected_value(), floor=0.1)
    assert by_mean[0] == dict.fromkeys(log.arms, 1.0 / 3.0)
    assert by_mean[-1]["b"] == pytest.approx(0.8)
    cut = best_so_far(log.where(slice(0, 500)), expected_value(), floor=0.1)
    assert cut == by_mean[:500]
    worth = evaluate(log, {"best": by_mean}, expected_value(), delta=1e-6).worths[0]
    assert worth.interval[0] < 0.8 * 20 + 0.1 * 10 + 0.1 * 15 < worth.interval[1]
    assert choose_policy(log, {"best": by_mean, "a": "a"}, expected_value()).worths[0].target == "best"
    with pytest.raises(ValueError, match="got 3 for 2000"):
        evaluate(log, {"short": by_mean[:3]}, expected_value())
    with pytest.raises(ValueError, match="floors of all arms sum to 1 at most"):
        best_so_far(log, expected_value(), floor=0.5)


# -- differences ------------------------------------------------------------------------------------------


def test_the_difference_of_two_targets_allows_for_what_nobody_saw_as_a_value_does():
    rng = np.random.default_rng(2)
    arm = rng.choice(["a", "b"], size=400)
    outcome = np.minimum(rng.lognormal(0.5 * (arm == "b"), 0.8), 100.0)
    log = read_decisions({"arm": arm, "outcome": outcome, "propensity": [0.5] * 400})
    people, targets = Preference.tversky_kahneman(), {"a": "a", "b": "b", "even": {"a": 0.5, "b": 0.5}}
    for preference, more in ((people, 1.1), (cvar(0.1), 1.0)):
        found = evaluate(log, targets, preference)
        value, (low, high) = found.difference("b", "a")
        both = [found._influence(found._estimates[name], preference) for name in ("b", "a")]
        below, above = reach_of(both[0] - both[1], 0.1 / 3.0)
        assert high - value >= more * above - 1e-9
        assert value - low >= below - 1e-9
        turned, ends = found.difference("a", "b")
        assert (turned, *ends) == pytest.approx((-value, -high, -low))
        assert found.difference("even", "even") == (0.0, (0.0, 0.0))


def test_the_difference_from_a_target_that_nobody_tried_is_open():
    targets = {"b": "b", "new": {"b": 0.5, "d": 0.5}}
    for preference, least in ((expected_value(), -30.0), (cvar(0.5), 0.0)):  # the better half of new may be what is new
        assert evaluate(_log(), targets, preference).difference("b", "new")[1] == (-math.inf, math.inf)
        value, (low, high) = evaluate(_log(), targets, preference, bounds=(-50.0, 100.0)).difference("b", "new")
        assert value == pytest.approx(0.0, abs=0.1)  # of what was tried
        assert low < least
        assert high > 30.0
    value, interval = evaluate(_log(), {"b": "b", "d": "d"}, expected_value()).difference("b", "d")
    assert math.isnan(value)
    assert interval == (-math.inf, math.inf)


# -- mistakes ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", [None, ["a", "b"], np.array([0.5, 0.5]), {"a"}])
def test_a_policy_that_returns_no_arm_is_refused_in_a_sentence(answer):
    with pytest.raises(ValueError, match=r"a target is an arm, or a probability for each in row 1; got "):
        evaluate(_log(200, context=True), lambda context: answer, expected_value())


def test_propensities_that_are_too_large_are_said_before_anything_is_concluded():
    table = {"arm": ["a", "b"] * 300, "outcome": np.arange(600.0), "propensity": np.ones(600)}
    found = evaluate(read_decisions(table), {"a": "a", "now": "logging"}, expected_value())
    assert found.worths[0].possible == 0.5
    assert "By the propensities, what a does was possible in 50.0% of the decisions" in found.headline
    assert "now" not in found.headline
    right = evaluate(_log(), {"half": {"a": 0.5, "c": 0.5}}, expected_value()).worths[0]
    assert (right.possible, right.caveat) == (1.0, "")


def test_features_of_the_services_export_are_contexts_by_name(tmp_path):
    rows = [(("a", "b")[k % 2], float(k % 5), {"rain": k % 3 == 0}) for k in range(60)]
    lines = [{"arm": a, "state": "told", "outcome": y, "propensity": 0.5, "features": f} for a, y, f in rows]
    (tmp_path / "export.jsonl").write_text("\n".join(map(json.dumps, lines)))
    with (tmp_path / "export.csv").open("w", newline="") as file:
        csv.writer(file).writerow(lines[0])
        csv.writer(file).writerows([a, "told", y, 0.5, json.dumps(f)] for a, y, f in rows)
    for name in ("export.jsonl", "export.csv"):
        log = read_decisions(tmp_path / name, context=["rain"])
        assert log.context == {"rain": [f["rain"] for _, _, f in rows]}
        with pytest.raises(ValueError, match="a column must be in the table; 'snow' is not"):
            read_decisions(tmp_path / name, context=["rain", "snow"])
    (tmp_path / "broken.csv").write_text('arm,outcome,propensity,features\na,1,0.5,{"rain\n')
    with pytest.raises(ValueError, match=r"features are written as JSON; line 2 has "):
        read_decisions(tmp_path / "broken.csv", context=["rain"])
