"""What only some work needs may be missing: everything else runs, and one sentence says what to install."""

import json
import tomllib
from pathlib import Path

import pytest

from tests.forks import forks

ROOT = Path(__file__).parents[1]
BLOCK = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

assert not {names} & {{name.partition(".")[0] for name in sys.modules}}
sys.meta_path.insert(0, Absent())
"""
OPTIONAL = (
    *("matplotlib", "networkx", "rich", "typer", "fastapi", "sqlalchemy", "distributed", "dask", "sumo", "narwhals"),
    *("jax", "arviz"),
)

LEARNER = """
import json
from pathlib import Path
import allais
import allais.traffic.report
import allais.traffic.study
import allais.traffic.play
from allais.report import write_page

people = allais.Preference(allais.TverskyKahneman(0.61))
learner = allais.WUCB(people, allais.Bounded(0, 50)).start(["bus", "car"], seed=1)
learner.tell(learner.ask(), 7.0)
learner.save("learner.json")
problem = allais.Bandit([allais.Discrete({50: 0.1, 0: 0.9}), allais.Discrete({7: 1.0})])
answer = allais.best_arm(allais.WSR(people, budget=40), problem, seed=1)
write_page(answer, "page.html")
results = allais.simulate(allais.UCB1(allais.Bounded(0, 50)), problem, n_rounds=50, n_runs=2, seed=1)
print(json.dumps([allais.Learner.load("learner.json").samples, answer.settled, results.samples.tolist()]))
"""
COMPARISON = """
from allais.simulation import Comparison
Comparison({}).table()
"""
EXPLANATION = """
import allais
allais.Preference(allais.TverskyKahneman(0.61)).explain(allais.Discrete({1: 0.5, 0: 0.5})).plot()
"""
ROUTES = """
from allais.linear import Routes
Routes(None, "a", "b")
"""
LISTED = """
from allais.linear import simple_routes
simple_routes(None, "a", "b", 2, [1.0])
"""
POPULATION = """
from allais.people import Choices, Family, hierarchical
hierarchical(Choices.from_rows([("a", [1, 2], 0), ("b", [1, 2], 0)]), Family())
"""
FRAME = """
from allais.people import Choices
Choices.mixed_gambles(object())
"""
LIVE = """
from allais.report import LiveView
LiveView()
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Runs code where some packages are absent."""
    with forks(tmp_path_factory.mktemp("said"), "numpy", "numba", "scipy.special", "jinja2") as started:
        yield lambda code, *absent, cwd: started.run(BLOCK.format(names=set(absent) or "set()") + code, cwd)


def command(*words):
    return f"sys.argv = {['allais', *words]!r}\nfrom allais.cli import main\nmain()\n"


def test_a_learner_a_simulation_and_a_report_need_none_of_them(run, tmp_path):
    done = run(LEARNER, *OPTIONAL, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [1, True, [50, 50]]
    assert "Choose" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize(
    ("code", "thing", "absent", "extra"),
    [
        (EXPLANATION, "a picture", "matplotlib", "plot"),
        (COMPARISON, "a table for a terminal", "rich", "cli"),
        (LIVE, "a live view", "rich", "cli"),
        (ROUTES, "a set of routes", "networkx", "routes"),
        (LISTED, "a list of routes", "networkx", "routes"),
        (POPULATION, "a hierarchical fit", "numpyro", "people"),
        (FRAME, "a table", "narwhals", "people"),
    ],
    ids=["picture", "table", "live view", "routes", "list of routes", "population", "frame"],
)
def test_a_missing_package_is_a_sentence_that_names_the_extra(run, tmp_path, code, thing, absent, extra):
    done = run(code, absent, cwd=tmp_path)
    sentence = f"{thing} needs {absent}, which is not installed. Run in the folder of allais: pip install '.[{extra}]'."
    assert done.stderr.splitlines()[-1] == f"allais.errors.MissingExtra: {sentence}"


@pytest.mark.parametrize("absent", ["typer", "rich"])
def test_the_command_itself_says_what_it_needs(run, tmp_path, absent):
    done = run(command("--version"), absent, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == (
        f"error: the command line needs {absent}, which is not installed. "
        "Run in the folder of allais: pip install '.[cli]'.\n"
    )


@pytest.mark.parametrize(
    ("words", "absent", "extra"),
    [
        (("value", "1:1", "--plot", "x.png"), "matplotlib", "plot"),
        (("paper", "run", "weight"), "matplotlib", "plot"),
        (("best-arm", "spec.toml", "--cluster", "tcp://127.0.0.1:9"), "distributed", "cluster"),
    ],
    ids=["value", "paper", "cluster"],
)
def test_a_command_that_needs_more_says_so_before_it_works(run, tmp_path, words, absent, extra):
    (tmp_path / "spec.toml").write_text(
        '[problem.lotteries]\nA = "1:1"\nB = "0:1"\n\n[preference]\ngains = { type = "Identity" }\n\n'
        '[policy]\ntype = "WSR"\nbudget = 10\n'
    )
    done = run(command(*words), absent, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stderr.endswith(
        f"needs {absent}, which is not installed. Run in the folder of allais: pip install '.[{extra}]'.\n"
    )


def test_a_package_that_is_there_and_broken_is_not_called_missing(run, tmp_path):
    (tmp_path / "networkx.py").write_text("import no_such_part_of_it\n")
    code = f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\n{ROUTES}"
    done = run(code, cwd=tmp_path)
    assert "ModuleNotFoundError: No module named 'no_such_part_of_it'" in done.stderr.splitlines()[-1]


def test_the_extra_of_everything_has_every_package():
    with (ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    hard = {requirement.partition(">")[0] for requirement in project["dependencies"]}
    assert hard == {"numpy", "scipy", "numba", "jinja2"}
    extras = project["optional-dependencies"]
    assert set(extras) - {"all", "docs", "dev"} == set(extras["all"][0].removeprefix("allais[")[:-1].split(","))
    assert "allais[all,docs]" in extras["dev"]
