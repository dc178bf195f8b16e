"""Files that older versions wrote are still opened, with everything that was in them.

`tests/data/0.1.0` and `tests/data/0.2.0` were written by these versions; `expected.json` holds the answers of their
learners, streams and fits. What they decide next may differ, since policies have improved; what they were told may not.
"""

import json
import math
import shutil
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

import allais
from allais.paper.experiments import ExperimentResult
from allais.paper.runner import kept
from allais.people import Fitted, Interview
from allais.simulation import Results
from allais.traffic import Recording

DATA = Path(__file__).parent / "data" / "0.1.0"
EXPECTED = json.loads((DATA / "expected.json").read_text())
OF_PEOPLE = Path(__file__).parent / "data" / "0.2.0" / "people"
FITTED = json.loads((OF_PEOPLE / "expected.json").read_text())
LEARNERS = sorted(name for name in EXPECTED if name.startswith("learners/"))
FOLDERS = sorted(name for name in EXPECTED if name.startswith("folder-"))

PEOPLE = allais.Preference(allais.TverskyKahneman(0.61))


def require_same(learner, known):
    assert learner.pulls == known["pulls"]
    assert learner.samples == known["samples"]
    assert list(learner.arms) == known["arms"]
    assert [[choice.id, choice.arm] for choice in learner.outstanding] == known["outstanding"]
    values = {name: math.nan if value is None else value for name, value in known["value"].items()}
    assert learner.value() == pytest.approx(values, rel=1e-12, nan_ok=True)
    for arm, (outcomes, counts) in known.get("outcomes", {}).items():
        seen = learner.outcomes(arm)
        np.testing.assert_array_equal(seen[0], outcomes)
        np.testing.assert_array_equal(seen[1], counts)


def require_alive(learner):
    """Late outcomes arrive, and it goes on asking."""
    for choice in learner.outstanding:
        learner.tell(choice, 0.0)
    if not learner.is_settled():
        learner.tell(learner.ask(), 0.0)


@pytest.mark.parametrize("name", LEARNERS)
def test_a_saved_learner_opens_and_goes_on(name):
    learner = allais.Learner.load(DATA / name)
    require_same(learner, EXPECTED[name])
    require_alive(learner)


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_opens_and_goes_on(name, tmp_path):
    folder = Path(shutil.copytree(DATA / name, tmp_path / name))
    with allais.Learner.open(folder) as learner:
        require_same(learner, EXPECTED[name])
        require_alive(learner)
        pulls = learner.pulls
    with allais.Learner.open(folder) as learner:  # and what it wrote is read again
        assert learner.pulls == pulls


def test_a_folder_in_which_top_two_parts_pairs_as_it_did_goes_on_so_with_the_policy_given_again(tmp_path):
    folder = Path(shutil.copytree(DATA / "folder-toptwo", tmp_path / "folder"))
    policy = allais.TopTwo(PEOPLE, allais.Finite([0, 2, 10]), delta=0.05)
    assert policy.evidence == "mixed"
    with allais.Learner.open(folder, policy, arms=["A21", "A28", "A35"]) as learner:
        assert learner.policy.evidence == "ratios"
        require_alive(learner)


@pytest.mark.parametrize("name", ["stream-exact.npz", "stream-bounded.npz"])
def test_a_saved_stream_opens_and_goes_on(name):
    stream = allais.ValueStream.load(DATA / name)
    assert len(stream) == EXPECTED[name]["samples"]
    assert list(stream.certified()) == pytest.approx(EXPECTED[name]["certified"], rel=1e-12)
    stream.add(3.0)
    assert len(stream) == EXPECTED[name]["samples"] + 1


def test_saved_results_open():
    results = Results.load(DATA / "results.npz")
    assert results.mean_regret[-1] == EXPECTED["results.npz"]["regret"]


def test_a_saved_recording_of_traffic_opens():
    recording = Recording.load(DATA / "recording.npz")
    assert [route.name for route in recording.routes] == ["R1", "R2", "R3"]
    assert (recording.n_blocks, recording.delay.size) == (4, 60)
    assert recording.baseline == EXPECTED["recording.npz"]["baseline"]


def test_a_kept_result_of_the_paper_opens():
    document = json.loads((DATA / "paper" / "results" / "weight.json").read_text())
    result = ExperimentResult.from_document(document["outcome"])
    again = json.loads(json.dumps(asdict(result)))
    for old, new in zip(document["outcome"].pop("findings"), again.pop("findings"), strict=True):
        assert old == {name: new[name] for name in old}  # what was added since is empty
    assert again == {**document["outcome"], "facts": {}}
    assert kept(DATA / "paper", "weight", "quick", 1) is None  # it is of another version, so this one runs it again


PROBLEM = allais.Bandit([allais.Bernoulli(0.7), allais.Bernoulli(0.5)], arms=["A", "B"])


@pytest.mark.parametrize(
    ("name", "policy"),
    [
        ("runs.jsonl", allais.WLUCB(PEOPLE, allais.Finite([0, 1]), delta=0.1)),
        ("finished-runs.jsonl", allais.WLUCB(PEOPLE, allais.Finite([0, 1]), delta=0.1)),
        ("toptwo-runs.jsonl", allais.TopTwo(PEOPLE, allais.Finite([0, 1]), delta=0.01)),
    ],
)
@pytest.mark.filterwarnings("ignore:.*finished runs are used again")  # where a policy chooses otherwise by now
def test_the_journal_of_a_search_is_continued(name, policy, tmp_path):
    path = Path(shutil.copy(DATA / name, tmp_path))
    answer = allais.search(policy, PROBLEM, seed=1, journal=path, max_runs=EXPECTED[name]["samples"])
    assert answer.samples == EXPECTED[name]["samples"]
    assert sum(answer.pulls.values()) == answer.samples


@pytest.mark.parametrize("name", sorted(name for name in FITTED if name.startswith("fitted-")))
def test_a_fit_opens_though_its_parameters_have_other_names_now(name):
    """0.2.0 called the power of utility `alpha` in some families and `utility_alpha` in others."""
    fitted, known = Fitted.load(OF_PEOPLE / name), FITTED[name]
    assert list(fitted.parameters.values()) == pytest.approx(known["parameters"], rel=1e-12)
    assert list(fitted.family.fixed.values()) == known["fixed"]
    assert [fitted.parameters[name] for name in known["names"]] == list(fitted.parameters.values())
    assert fitted.inference is None


def test_an_interview_of_older_names_goes_on(tmp_path):
    folder = Path(shutil.copytree(OF_PEOPLE / "folder-interview", tmp_path / "ann"))
    known = FITTED["interview.json"]
    saved, family = Interview.load(OF_PEOPLE / "interview.json"), allais.people.Family(utility_alpha=0.88, stake=100)
    with Interview.open(folder, family, seed=1) as kept_one:
        for interview in (saved, kept_one):
            assert [[question.id, side] for question, side in interview.answers] == known["answers"]
            assert list(interview.fitted.parameters.values()) == pytest.approx(known["parameters"], rel=1e-12)
            assert interview.ask().as_json() == known["out"]
            interview.tell(interview.ask(), "A")
