"""One call that chooses the policy: the table of docs/choosing.md as code."""

from pathlib import Path

import pytest

import allais
from allais.bands import Envelope
from allais.policies import Guardrail
from allais.policies.choosing import ROWS, from_auto, table
from allais.weights import SteepMiddle

PEOPLE = allais.Preference.tversky_kahneman()
MEAN = allais.expected_value()
WIDE, FEW, TAILS = allais.Bounded(0, 50), allais.Finite([0, 7, 50]), allais.SubGaussian(1.0, mean_bound=5.0)
JUMPS = allais.mixed((0.5, allais.quantile(0.5)), (0.5, MEAN))

CASES = [
    ("regret", PEOPLE, WIDE, {}, "NPTS"),
    ("regret", MEAN, TAILS, {}, "WUCB"),
    ("contexts", PEOPLE, WIDE, {}, "ContextualNPTS"),
    ("proven regret", PEOPLE, WIDE, {}, "WUCB"),
    ("confidence", PEOPLE, None, {"delta": 0.05, "rarest": 0.01}, "PairwiseScreening"),
    ("confidence", PEOPLE, WIDE, {"delta": 0.05}, "TopTwo"),
    ("confidence", MEAN, TAILS, {"delta": 0.05}, "WLUCB"),
    ("budget", PEOPLE, None, {"budget": 5000, "rarest": 0.01}, "WOCBA"),
    ("budget", PEOPLE, WIDE, {"budget": 1000}, "PatientTopTwo"),
    ("budget", PEOPLE, None, {"budget": 1000}, "PatientRejects"),
]


@pytest.mark.parametrize(("row", "case"), list(zip(ROWS, CASES, strict=True)), ids=[case[-1] for case in CASES])
def test_every_row_of_the_table_is_reached_and_starts(row, case):
    goal, preference, rewards, settings, name = case
    policy = allais.recommended(goal, preference, rewards, arms=3, **settings)
    assert row.goal == goal
    assert row.kind.__name__ == type(policy).__name__ == name
    assert policy.why.startswith(f"{name}: ")
    assert policy.why.endswith(".")
    assert "`" not in policy.why
    assert type(policy)(**policy.given()) == policy  # an ordinary policy


def test_bets_are_for_many_values_and_weights_that_neither_jump_nor_fall():
    made = [allais.recommended("confidence", of, WIDE, delta=0.1) for of in (MEAN, JUMPS, allais.quantile(0.9))]
    made += [allais.recommended("confidence", JUMPS, FEW, delta=0.1)]
    assert [getattr(one, "evidence", "none") for one in made] == ["auto", "none", "ratios", "mixed"]
    assert allais.recommended("regret", MEAN, TAILS).band == Envelope()


def test_settings_go_to_the_policy():
    limit = Guardrail(allais.quantile(0.9), at_least=3)
    policy = allais.recommended("budget", MEAN, WIDE, budget=100, guardrails=[limit], name="mine")
    assert policy.guardrails == (limit,)
    assert policy.name == "mine"
    assert policy.budget == 100


@pytest.mark.parametrize(
    ("said", "call"),
    [
        ("goal must be one of .* Did you mean 'regret'", lambda: allais.recommended("regrets", MEAN, WIDE)),
        ("needs delta; there is none. Write delta=0.05", lambda: allais.recommended("confidence", MEAN, WIDE)),
        ("needs rewards, such as .* or rarest", lambda: allais.recommended("confidence", MEAN, delta=0.1)),
        ("needs rewards, such as", lambda: allais.recommended("regret", MEAN)),
        ("weights that jump", lambda: allais.recommended("confidence", JUMPS, delta=0.1, rarest=0.01)),
        ("takes no 'rarest'", lambda: allais.recommended("confidence", JUMPS, WIDE, delta=0.1, rarest=0.01)),
        ("takes no 'tolerence'.* Did you", lambda: allais.recommended("budget", MEAN, budget=9, tolerence=1)),
        ("2 for 3 arms", lambda: allais.recommended("regret", MEAN, [WIDE, WIDE], arms=3)),
        ("at least one arm", lambda: allais.recommended("confidence", MEAN, WIDE, arms=0, delta=0.1)),
        ("a number or a list of names; got 2.5", lambda: allais.recommended("regret", MEAN, WIDE, arms=2.5)),
        ("must give each", lambda: allais.recommended("budget", MEAN, arms=100, budget=500, rarest=0.01)),
        ("takes a preference", lambda: allais.recommended("regret", "mean", WIDE)),
        ("one goal", lambda: from_auto({"delta": 0.1, "budget": 100}, preference=MEAN)),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(said, call):
    with pytest.raises((ValueError, TypeError), match=said):
        call()


def test_weights_that_are_steep_inside_take_no_bets():
    assert type(allais.recommended("confidence", allais.Preference(SteepMiddle(0.5)), WIDE, delta=0.1)) is allais.WLUCB


def test_the_page_has_the_table_of_the_code():
    page = Path(__file__).parents[2] / "docs" / "choosing.md"
    assert f"<!-- table: recommended -->\n\n{table()}\n" in page.read_text(encoding="utf-8"), table()
