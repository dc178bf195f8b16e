"""`allais best-arm`: the examples, limits, refusals, and what a killed coordinator leaves behind."""

import json
import re
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from allais import __version__
from allais._checks import root_of
from allais.cli.app import app
from allais.cli.dry_run import Piloted
from allais.cli.specs import read_search
from allais.problems import Simulator
from allais.searches.journal import RunJournal, identity
from tests.searches.simulators import ARMS, always_lose

ROOT = Path(__file__).parents[2]
COIN = """
seed = 4

[problem]
function = "tests.searches.simulators:{function}"
arms = ["A", "B", "C"]

[preference]
gains = {{ type = "TverskyKahneman", eta = 0.8 }}
losses = {{ type = "TverskyKahneman", eta = 0.85 }}

[rewards]
type = "Bounded"
low = -1
high = 1

[policy]
type = "{policy}"
{setting}
"""


@pytest.fixture
def spec(tmp_path):
    path = tmp_path / "coin.toml"
    path.write_text(COIN.format(function="coin", policy="WSR", setting="budget = 60"))
    return path


def run(*arguments):
    return CliRunner().invoke(app, ["best-arm", *map(str, arguments)])


def runs_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()][1:]


@pytest.mark.parametrize(
    ("example", "best", "by_mean"),
    [
        ("call_centre", "four and a promise", "seven agents, slower"),
        pytest.param("inventory", "30-80", "30-80", marks=pytest.mark.slow),
    ],
)
def test_the_examples_give_what_people_prefer_and_a_page_that_says_why(tmp_path, example, best, by_mean):
    folder = shutil.copytree(ROOT / "examples" / example, tmp_path / example)
    page = tmp_path / "report.html"
    result = run(folder / f"{example}.toml", "--workers", 2, "--report", page)
    assert result.exit_code == 0, result.output
    assert f'Choose "{best}". To people it feels like ' in result.output
    agree = "It also has the best mean, "
    assert (agree if best == by_mean else f'"{by_mean}" has the best mean, ') in result.output
    text = page.read_text()
    assert text.count("<svg role") == 2
    assert f"Choose &#34;{best}&#34;" in text
    assert re.search(rf"{example}\.toml · \d{{4}}-\d\d-\d\d \d\d:\d\d · seed 1 · allais {__version__} · took ", text)
    assert "http" not in text.replace("http://www.w3.org", "").replace("http://purl.org", "").replace(
        "https://matplotlib.org", ""
    ).replace("http://creativecommons.org", "")  # it needs nothing from elsewhere


def test_a_dry_run_predicts_and_its_runs_are_not_repeated(spec):
    spec.write_text(COIN.format(function="coin", policy="WLUCB", setting="delta = 0.1"))
    result = run(spec, "--dry-run", "--pilot", 40)
    assert result.exit_code == 0, result.output
    assert re.search(r"2[0-4]\d pilot runs took", result.output)  # 120, and as many of those that may be the best
    assert "the search needs about" in result.output
    assert " on 1 worker." in result.output
    assert "40 runs per option, or a few times as many, say little" in result.output
    assert sorted(path.name for path in spec.parent.iterdir()) == ["coin.pilot.json", "coin.toml"]
    again = run(spec, "--journal", spec.parent / "again.jsonl")
    assert re.search(r"note: 2[0-4]\d pilot runs are used again; delete", again.output)
    path = spec.with_suffix(".pilot.json")
    kept = path.read_text()
    path.unlink()
    without = run(spec)
    assert without.exit_code == again.exit_code == 0
    results = [
        {(one["arm"], one["index"]): (one["seed"], one["reward"]) for one in runs_of(journal)}
        for journal in (spec.parent / "again.jsonl", spec.with_suffix(".runs.jsonl"))
    ]
    assert results[0] == results[1]  # a known run is the very run that the search would have done
    looked_up = json.loads(kept)
    assert {(ARMS[arm], seed, reward) for arm, seed, reward, _ in looked_up["runs"]} >= {
        (arm, *rest) for (arm, index), rest in results[0].items() if index < 40
    }
    # pilot runs of another problem, or a damaged file, are not used; another policy may use them
    for text, used in ((kept, True), (kept.replace('"seed": 4', '"seed": 5'), False), ("{", False)):
        path.write_text(text)
        output = run(spec, "--max-runs", 10, "--journal", spec.parent / f"{len(text)}-{used}.jsonl").output
        assert ("pilot runs are used again" in output) == used


def test_a_known_run_is_looked_up_and_others_are_done():
    problem = Piloted(Simulator(always_lose, ARMS), {(1, 7): 0.25})
    assert (problem.run(1, 7), problem.run(1, 8), problem.run(0, 7)) == (0.25, -1.0, -1.0)
    assert repr(problem) == repr(Simulator(always_lose, ARMS))
    assert problem.arms == tuple(ARMS)


def test_the_recommended_policy_says_why_it_was_taken(spec):
    spec.write_text(spec.read_text().replace('"WSR"', '"auto"'))
    result = run(spec)
    assert result.exit_code == 0, result.output
    assert "note: PatientTopTwo: it erred least with rare gains" in result.output


def test_a_limit_ends_with_the_best_known_answer_and_resume_goes_on_to_the_same_end(spec):
    whole = run(spec, "--journal", spec.parent / "whole.jsonl")
    assert whole.exit_code == 0
    first = run(spec, "--max-runs", 25)
    assert first.exit_code == 3
    assert "stopped before it settled" in first.output
    assert "continue with --resume" in first.output
    last = run(spec, "--resume")
    assert last.exit_code == 0
    assert last.output == whole.output
    assert len(runs_of(spec.with_suffix(".runs.jsonl"))) == len(runs_of(spec.parent / "whole.jsonl"))


def test_the_same_command_again_goes_on_and_once_it_has_settled_shows_the_answer(spec):
    whole = run(spec, "--journal", spec.parent / "whole.jsonl")
    path = spec.with_suffix(".runs.jsonl")
    assert run(spec, "--max-runs", 25).exit_code == 3
    second = run(spec)
    assert second.exit_code == 0
    assert re.match(r"note: 2\d finished runs are used again; delete \S+ to start anew", second.output)
    assert second.output.endswith(whole.output)
    kept = path.read_bytes()
    third = run(spec)
    assert third.exit_code == 0
    assert whole.output.strip() in third.output
    assert f"The search had settled before, so nothing was run; delete {path} to start anew." in third.output
    assert re.search(r"^\d+ runs were used, \d+ of them of ", third.output, re.MULTILINE)
    assert path.read_bytes() == kept


@pytest.mark.filterwarnings("default")
def test_a_torn_journal_is_said_and_resumed(spec):
    run(spec, "--max-runs", 25)
    path = spec.with_suffix(".runs.jsonl")
    path.write_bytes(path.read_bytes()[:-9])
    result = run(spec, "--resume")
    assert result.exit_code == 0
    assert "note: the last line of" in result.output


def test_a_second_process_on_one_journal_is_refused(spec):
    experiment = read_search(spec)
    path = spec.with_suffix(".runs.jsonl")
    with RunJournal(path, identity(experiment.problem, experiment.policy, root_of(experiment.seed))):
        result = run(spec, "--resume")
    assert result.exit_code == 2
    assert "one process at a time may write a journal" in result.output


def test_a_failing_run_ends_with_its_sentence(spec):
    spec.write_text(COIN.format(function="broken", policy="WSR", setting="budget = 60"))
    result = run(spec)
    assert result.exit_code == 1
    log = spec.with_suffix(".runs.failures.log")
    runs = len(runs_of(spec.with_suffix(".runs.jsonl")))
    said = rf"raised ZeroDivisionError: no such plan \(simulators.py, line \d+\)\. The traceback is in {log}\. "
    assert re.search(rf"{said}{runs} finished runs? (is|are) kept in", result.output)
    assert "in broken" in log.read_text()
    spec.write_text(spec.read_text() + '\n[failures]\nthen = "exclude"\n')
    result = run(spec, "--resume")
    assert result.exit_code == 0
    assert "runs failed; the first:" in result.output
    assert f"More about failed runs is in {log}." in result.output


def test_runs_are_said_to_be_kept_where_there_are_some_only(spec):
    spec.write_text(COIN.format(function="crashing", policy="WSR", setting="budget = 60"))
    for more in (("--dry-run",), ()):
        result = run(spec, *more)
        assert result.exit_code == 1
        assert "raised ZeroDivisionError: always (simulators.py, line" in result.output
        assert "finished run" not in result.output
        assert "in crashing" in spec.with_suffix(".runs.failures.log").read_text()


def test_an_unreachable_scheduler_is_one_sentence(spec, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("allais.cli.best_arm.ANSWER_WITHIN", 1.0)
    result = run(spec, "--cluster", "tcp://127.0.0.1:9")
    assert result.exit_code == 2
    assert "error: the scheduler at tcp://127.0.0.1:9 does not answer" in result.output
    assert len(result.output.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('type = "WSR"', 'type = "WSSR"', "line 18: 'WSSR' is no policy type. Did you mean 'WSR'?"),
        ("budget = 60", "budgt = 60", "line 19: [policy] has no key 'budgt'. Did you mean 'budget'?"),
        ("budget = 60", "budget = 2", "budget must exceed the number of arms; got 2"),
        ("budget = 60", "budget = 0.5", "line 19: budget must be a whole number of samples; got 0.5"),
        ("[rewards]", "[reward]", "line 12: a spec has no key 'reward'. Did you mean 'rewards'?"),
        ("eta = 0.85", "etta = 0.85", "line 10: [preference.losses] has no key 'etta'. Did you mean 'eta'?"),
        ('"TverskyKahneman", eta = 0.8 ', '"Tversky"', "line 9: 'Tversky' is no gains type. Did you mean 'Tversky"),
        (
            "simulators:coin",
            "simulators:coyn",
            "line 5: tests.searches.simulators has no function 'coyn'. Did",
        ),
        (
            "tests.searches.simulators",
            "no_such",
            "line 5: function must be \"module:name\"; 'no_such' cannot be",
        ),
        ("low = -1", "low = 1", "line 14: low must lie below high; got 1 and 1"),
        ("seed = 4", "seed = -4", "line 2: seed must be a whole number, 0 or more; got -4"),
        ("seed = 4", "seed 4", "a spec must be TOML;"),
        ('type = "WSR"\nbudget = 60', 'type = "WUCB"', "line 18: best-arm needs a policy that stops; WUCB"),
        # its settings would be mended in vain, so they are not spoken about
        ('type = "WSR"\nbudget = 60', 'type = "UCB1"', "best-arm needs a policy that stops; UCB1 never stops"),
        ('type = "WSR"\nbudget = 60', 'type = "NPTS"', "Use WLUCB or TopTwo (a confidence), or PatientTopTwo (a bud"),
        ("seed = 4", "seed = 4\nunit = 7", 'line 3: unit must be text, such as "minutes"; got 7. Write it in quotes.'),
        ('type = "WSR"', 'type = "SR"', "line 8: SR takes no preference. Leave the table out"),
        ('type = "WSR"\n', "", "line 17: policy needs a type, such as"),
        ("budget = 60\n", "", "line 17: policy needs 'budget'; it is missing"),
        (
            "[problem]",
            "[failures]\nthen = 'ignore'\n[problem]",
            "line 4: what a failure leads to must be",
        ),
        ('type = "WSR"\nbudget = 60', 'type = "auto"', "line 17: best-arm needs a policy that stops. Give delta"),
        ('type = "WSR"', 'type = "auto"\nfloors = 1', "PatientTopTwo, which fits this goal, takes no 'floors'"),
        ('arms = ["A", "B", "C"]', 'arms = ["A", "A"]', "arms must have distinct names"),
        ('function = "tests.searches.simulators:coin"', 'command = "sim {arm} {plan}"', "got {plan}"),
    ],
)
def test_a_wrong_spec_is_refused_with_its_line_and_the_nearest_name(spec, old, new, message):
    text = spec.read_text()
    assert old in text
    spec.write_text(text.replace(old, new))
    result = run(spec)
    assert result.exit_code == 2, result.output
    assert message in " ".join(result.output.split())
    assert result.output.count("\n") == 1


def test_what_cannot_be_resumed_or_read_is_refused(spec):
    assert "there is nothing to resume" in run(spec, "--resume").output
    assert (
        "cannot be written: its folder does not exist"
        in run(spec, "--report", spec.parent / "none" / "page.html").output
    )
    assert "a spec is a TOML file" in run(spec.with_name("none.toml")).output
    run(spec)
    spec.write_text(spec.read_text().replace("seed = 4", "seed = 5"))
    result = run(spec, "--resume")
    assert result.exit_code == 2
    assert "has another seed: 4 before, 5 now" in result.output
    spec.with_suffix(".runs.jsonl").write_text("my notes\n")
    result = run(spec, "--resume")
    assert result.exit_code == 2
    assert "a journal must begin with its format" in result.output
    assert spec.with_suffix(".runs.jsonl").read_text() == "my notes\n"
    spec.with_suffix(".pilot.json").write_text("{}")
    assert "exists and holds something else. Move it away" in run(spec, "--dry-run").output
    assert spec.with_suffix(".pilot.json").read_text() == "{}"


def test_a_search_among_one_option_is_refused(spec):
    spec.write_text(spec.read_text().replace('["A", "B", "C"]', '["A"]'))
    for more in ((), ("--dry-run",)):
        result = run(spec, *more)
        assert result.exit_code == 2
        assert "needs two arms or more; got 'A' alone" in result.output


@pytest.mark.filterwarnings("default")
def test_an_outcome_out_of_bounds_is_named_and_a_wider_spec_goes_on_with_the_finished_runs(spec):
    wide = spec.read_text()
    spec.write_text(wide.replace("high = 1", "high = 0"))
    for more in (("--dry-run",), ()):
        result = run(spec, *more)
        assert result.exit_code == 1
        found = re.search(
            r"error: run \d+ of '[ABC]' \(seed \d+\): rewards must lie between -1 and 0; got 1", result.output
        )
        assert found, result.output
    runs = runs_of(spec.with_suffix(".runs.jsonl"))
    assert re.search(
        rf" {len(runs)} finished runs? (is|are) kept in \S+: continue with --resume\.$", result.output.strip()
    )
    spec.write_text(wide)
    result = run(spec, "--resume")
    assert result.exit_code == 0
    assert "another policy (rewards.high: 0.0 before, 1.0 now)" in result.output
    done = [(one["arm"], one["index"]) for one in runs_of(spec.with_suffix(".runs.jsonl")) if "arm" in one]
    assert len(set(done)) == len(done)
