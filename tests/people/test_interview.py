"""Interviews: the questions that tell most, the verbs of a learner, and files that go on alike."""

import copy
import json
import pickle

import numpy as np
import pytest

from allais import Discrete, Preference
from allais.learner.choices import NotNow
from allais.people import Choices, Family, Fitted, Interview, Prior, posterior
from allais.people.data.choices import dominates
from allais.people.interview.candidates import Question, decision_information, parameter_information, pool

FAMILY = Family(stake=100)
TRUE = np.array([[0.61, 0.88, 2.25, 3.0]])
SMALL = {"n_candidates": 200, "n_particles": 400}


def chance_of_a(question, parameters=TRUE, family=FAMILY):
    return float(np.exp(family.log_chances(parameters, Choices.from_rows([("x", question.options, 0)])))[0, 0])


def answered(interview, rng, n=None, parameters=TRUE):
    """Let a person of known parameters answer, to the end or n questions."""
    done = 0
    while not interview.settled and (n is None or done < n):
        question = interview.ask()
        interview.tell(question, "A" if rng.random() < chance_of_a(question, parameters) else "B")
        done += 1
    return interview


@pytest.fixture(scope="module")
def finished():
    return answered(Interview(FAMILY, stakes=(-50, 200), seed=1, **SMALL), np.random.default_rng(1))


def test_information_is_that_of_the_formula():
    chance = np.array([[0.9, 0.5, 1.0], [0.2, 0.5, 0.0], [0.7, 0.5, 1.0], [0.4, 0.5, 0.0]])

    def h(p):
        return 0.0 if p in (0.0, 1.0) else -(p * np.log2(p) + (1 - p) * np.log2(1 - p))

    with np.errstate(divide="ignore"):
        found = parameter_information(np.log(chance))
        decided = decision_information(np.log(chance), np.array([0, 1, 0, 1]))
    assert found == pytest.approx([h(0.55) - np.mean([h(p) for p in chance[:, 0]]), 0.0, 1.0], abs=1e-9)
    assert decided == pytest.approx([h(0.55) - 0.5 * (h(0.8) + h(0.3)), 0.0, 1.0], abs=1e-9)


def test_the_question_is_the_candidate_with_most_information():
    interview = Interview(FAMILY, seed=3, checks=0, **SMALL)
    question = interview.ask()
    offered = Choices.from_rows([("x", pair, 0) for pair in interview._pool.pairs])
    gain = parameter_information(FAMILY.log_chances(FAMILY.natural(interview._belief.z), offered))
    mine = interview._place[frozenset(question.options)]
    assert gain[mine] == gain.max()  # over the same 400 particles
    assert gain[mine] > 2.0 * np.median(gain)


def test_the_pool_has_no_dominated_pair_and_stays_within_the_stakes():
    made = pool(FAMILY, (-50.0, 200.0), 300, np.random.default_rng(1))
    assert len({frozenset(pair) for pair in made.pairs}) == 300
    for first, second in made.pairs:
        assert not dominates(first, second)
        assert not dominates(second, first)
        assert min(first.support[0], second.support[0]) >= -50
        assert max(first.support[1], second.support[1]) <= 200
    assert all(dominates(better, worse) for better, worse in made.checks)


def test_costs_turn_the_better_side_of_a_check():
    family = Family(stake=10, reference=20.0, costs=True)
    for better, worse in pool(family, (5.0, 60.0), 50, np.random.default_rng(1)).checks:
        assert dominates(worse, better)  # more minutes in every case
        assert family.preference([0.61, 0.88, 2.25, 1.0]).value(better) > family.preference(
            [0.61, 0.88, 2.25, 1.0]
        ).value(worse)


def test_no_question_comes_twice_and_checks_come_once_in_eight(finished):
    asked = [question for question, _ in finished.answers]
    assert len({frozenset(question.options) for question in asked}) == len(asked) == 20
    places = [place for place, question in enumerate(asked) if question.is_check]
    assert [sum(place // 8 == block for place in places) for block in (0, 1)] == [1, 1]
    assert not asked[0].is_check


def test_attention_is_reported():
    careless = Interview(FAMILY, seed=1, questions=8, **SMALL)
    while not careless.settled:
        question = careless.ask()
        careless.tell(question, {"A": "B", "B": "A", None: "A"}[question.better])
    assert careless.attention == (1, 0)
    assert str(careless.attention) == "0 of 1 attention checks were passed."
    assert "attention" in str(careless.fitted.summary())


def test_its_posterior_is_that_of_all_answers_at_once(finished):
    """Weighed and moved answer by answer, the particles are draws from the posterior that `posterior` finds."""
    once = posterior(finished.choices, FAMILY, n_particles=4000, seed=2)
    spread = once.places.std(axis=0)
    # 400 particles, worth 200 at least: each mean has an error below 0.08 spreads, so 0.5 are more than six of them
    assert np.abs(finished.fitted.place - once.place).max() < 0.5 * spread.max()
    assert np.all(np.abs(finished.fitted.place - once.place) < 0.5 * spread)
    assert np.all(np.abs(np.log(finished.fitted.places.std(axis=0) / spread)) < 0.5)


def test_answers_narrow_what_is_believed(finished):
    before = Interview(FAMILY, seed=1, **SMALL)
    for name in ("eta", "alpha"):
        wide, narrow = before.uncertainty[name], finished.uncertainty[name]
        assert narrow[1] - narrow[0] < 0.7 * (wide[1] - wide[0])
    assert isinstance(finished.preference, Preference)


def test_a_revised_answer_leaves_no_trace_of_the_old_one():
    rng = np.random.default_rng(5)
    interview = answered(Interview(FAMILY, seed=2, questions=12, **SMALL), rng)
    question, side = interview.answers[3]
    other = "B" if side == "A" else "A"
    interview.revise(question, other)
    assert interview.answers[3] == (question, other)
    whole = posterior(interview.choices, FAMILY, n_particles=4000, seed=2)
    assert np.all(np.abs(interview.fitted.place - whole.place) < 0.5 * whole.places.std(axis=0))


def test_a_question_stays_out_until_it_is_told():
    interview = Interview(FAMILY, seed=1, **SMALL)
    first = interview.ask()
    assert interview.ask() is first
    interview.cancel(first)
    second = interview.ask()
    assert frozenset(second.options) != frozenset(first.options)
    with pytest.raises(ValueError, match=r"only an outstanding question can be told; 1 was cancelled"):
        interview.tell(first, "A")
    interview.tell(second, "b")
    assert interview.answers == [(second, "B")]
    with pytest.raises(ValueError, match=r"a question is told once; 2 was answered B. Use revise to change it."):
        interview.tell(second, "A")
    with pytest.raises(ValueError, match=r'an answer is "A" or "B"; got "C"|got \'C\''):
        interview.tell(interview.ask(), "C")
    with pytest.raises(ValueError, match="number 2 is another"):
        interview.tell(Question(2, Discrete({1: 1.0}), Discrete({2: 1.0})), "A")


def test_it_stops_after_n_questions():
    interview = answered(Interview(FAMILY, seed=1, questions=2, **SMALL), np.random.default_rng(1))
    with pytest.raises(NotNow, match="settled after 2 answers"):
        interview.ask()


def test_a_decision_is_settled_with_few_questions_about_it():
    arms = {"bet": Discrete({200: 0.25, -20: 0.75}), "safe": 40}
    assert FAMILY.preference(TRUE).value(arms["bet"]) < 0.6 * FAMILY.preference(TRUE).value(Discrete({40: 1.0}))
    interview = Interview(FAMILY, seed=4, for_decision=arms, sure=0.97, questions=30, **SMALL)
    assert not interview.settled
    before = interview.decision["safe"]
    answered(interview, np.random.default_rng(4))
    assert len(interview.answers) < 30
    assert interview.settled
    assert interview.decision["safe"] >= 0.97 > before
    assert sum(interview.decision.values()) == pytest.approx(1.0)


def test_a_saved_interview_goes_on_alike_and_is_a_preference_file(tmp_path):
    rng = np.random.default_rng(6)
    interview = answered(
        Interview(FAMILY, seed=6, for_decision=[{100: 0.5, 0: 0.5}, 40], sure=1.0 - 1e-9, **SMALL), rng, 9
    )
    interview.ask()
    interview.save(tmp_path / "alice.json")
    loaded = Interview.load(tmp_path / "alice.json")
    for twin in (loaded, interview.copy(), copy.deepcopy(interview), pickle.loads(pickle.dumps(interview))):
        for one in (interview.copy(), twin):
            answered(one, np.random.default_rng(7), 6)
            assert one.ask() is not None
        again = answered(interview.copy(), np.random.default_rng(7), 6)
        assert again.answers == twin.answers
        assert np.array_equal(again.fitted.places, twin.fitted.places)
    assert Preference.load(tmp_path / "alice.json") == interview.preference
    assert np.array_equal(Fitted.load(tmp_path / "alice.json").places, interview.fitted.places)
    read = Choices.read(tmp_path / "alice.json")
    assert read.chosen.tolist() == interview.choices.chosen.tolist()
    assert [read.options(row) for row in range(9)] == [question.options for question, _ in interview.answers]


def test_a_damaged_interview_is_refused(tmp_path, finished):
    path = tmp_path / "alice.json"
    finished.save(path)
    document = json.loads(path.read_text())
    path.write_text(path.read_text().replace('"told": [[1, "', '"told": [[1, "C'))
    with pytest.raises(ValueError, match="is damaged"):
        Interview.load(path)
    from allais.files import checksum

    for spoil in (
        lambda content: content["particles"].pop(),
        lambda content: content["told"].append([99, "A"]),
        lambda content: content["asked"].reverse(),
        lambda content: content.pop("generator"),
    ):
        broken = json.loads(json.dumps(document))
        spoil(broken["interview"])
        path.write_text(json.dumps({**broken, "checksum": checksum(broken)}))
        with pytest.raises(ValueError, match="is damaged"):
            Interview.load(path)
    finished.fitted.save(path)
    with pytest.raises(ValueError, match="without an interview"):
        Interview.load(path)


def test_a_folder_keeps_every_answer(tmp_path):
    """Killed at any moment, the folder has what was told; it goes on as if nothing had happened."""
    twin = Interview(FAMILY, seed=8, **SMALL)
    with Interview.open(tmp_path / "alice", FAMILY, seed=8, **SMALL) as interview:
        for one in (interview, twin):
            answered(one, np.random.default_rng(8), 5)
        interview.revise(2, "A")
        twin.revise(2, "A")
        interview.cancel(interview.ask())
        twin.cancel(twin.ask())
    for _ in range(2):
        with Interview.open(tmp_path / "alice") as interview:
            assert interview.answers == twin.answers
            for one in (interview, twin):
                answered(one, np.random.default_rng(9), 3)
            assert interview.answers == twin.answers
            assert np.array_equal(interview._belief.z, twin._belief.z)
            with pytest.raises(ValueError, match="is open in another"):
                Interview.open(tmp_path / "alice")
    with pytest.raises(ValueError, match=r"keeps the settings it began with; .* has questions=20, got 5"):
        Interview.open(tmp_path / "alice", questions=5)
    with pytest.raises(ValueError, match="keeps the family"):
        Interview.open(tmp_path / "alice", Family(stake=7))
    with pytest.raises(ValueError, match="keeps the seed"):
        Interview.open(tmp_path / "alice", seed=1)
    with pytest.raises(ValueError, match="needs a family and a seed"):
        Interview.open(tmp_path / "bob")


def test_a_population_is_a_prior():
    narrow = Prior(FAMILY.unconstrained(TRUE)[0], 1e-4 * np.eye(4))
    interview = Interview(FAMILY, narrow, seed=1, **SMALL)
    assert interview.preference.gains.eta == pytest.approx(0.61, abs=0.01)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"stakes": (5, 5)}, "the least of the stakes lies below the greatest; got 5 and 5. Swap them."),
        ({"stakes": 5}, r"stakes are the least and the greatest outcome; got 5"),
        ({"questions": 0}, "questions must be a whole number, 1 or more; got 0"),
        ({"sure": 1.5}, "sure must"),
        ({"for_decision": [7]}, "a decision is between two arms or more; got 1"),
        ({"for_decision": {("a", 1): 7, "b": 8}}, "arms are named by text or whole numbers"),
        ({"n_particles": 10}, "n_particles must be a whole number, 100 or more"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        Interview(FAMILY, seed=1, **settings)


def test_a_family_without_free_parameters_cannot_be_asked_about():
    fixed = Family(eta=0.61, alpha=0.88, loss_aversion=2.25, temperature=1.0)
    with pytest.raises(ValueError, match="an interview is about free parameters"):
        Interview(fixed, seed=1)
