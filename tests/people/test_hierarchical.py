"""Hierarchical fits: the posterior of a grid, chains in processes of their own, and their signs in words."""

import os
import pickle
import re
import sys
from importlib.util import find_spec

import numpy as np
import pytest

from allais import Discrete, TverskyKahneman
from allais.files import Damaged
from allais.people import Choices, Family, Fitted, fit, hierarchical
from allais.people.inference.hierarchical import Task, checked, sampled, starting_point
from allais.people.inference.summary import chains_content, chains_from
from allais.people.model.likelihood import Likelihood
from tests.people.test_fits import AVERSE, two_kinds

needs_numpyro = pytest.mark.skipif(find_spec("numpyro") is None, reason="needs NumPyro")  # which is not imported here


@needs_numpyro
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of ArviZ, about itself
def test_a_population_is_found_with_its_people_and_survives_its_file(tmp_path):
    choices = two_kinds(n_people=8, n_trials=40)
    found = hierarchical(choices, AVERSE, n_draws=100, n_warmup=100, n_chains=2, seed=1)
    assert "jax" not in sys.modules  # it stays in the processes of the chains
    assert set(found.people) == set(choices.people)
    averse = {name: one.parameters["loss_aversion"] for name, one in found.people.items()}
    assert all((averse[name] < 1.6) == (int(name) % 3 == 0) for name in averse)
    assert found.inference.posterior["people"].shape == (2, 100, 8, 2)
    assert re.match(r"\w+ of 200 steps diverged; R-hat is at most 1\.\d+ for the population", found.notes[0])
    assert any("Give more draws" in note for note in found.notes)  # 200 are few, and it says so
    assert found.population.mean.shape == (2,)
    table = found.population_table()
    averse = table["loss_aversion"]
    assert averse.low < averse.middle < averse.high
    assert 0.0 < averse.spread_low < averse.spread < averse.spread_high
    middle = found.inference.posterior["middle"].sel(parameter="loss_aversion").values
    assert averse.middle == pytest.approx(np.exp(middle.mean()))
    assert averse.scale == "logarithm"
    assert str(table) in str(found.summary())
    found.save(tmp_path / "people.json")
    again = Fitted.load(tmp_path / "people.json")
    assert again.inference.posterior.equals(found.inference.posterior)
    assert str(again.summary()) == str(found.summary())
    assert again.family.names == ("loss_aversion", "temperature")


def of_a_grid(choices, family, side=41, cells=24):
    """Means and standard deviations of middles and spreads, by sums over a grid of people and of populations."""
    prior = family.prior
    z = prior.mean[:, None] + np.linspace(-4.0, 4.0, side) * prior.spread[:, None]
    places = np.stack(np.meshgrid(*z, indexing="ij"), axis=-1).reshape(-1, 2)
    middles = prior.mean[:, None] + np.linspace(-2.5, 2.5, cells) * prior.spread[:, None]
    spreads = np.linspace(0.03, 3.0, cells) * prior.spread[:, None]
    distributions, log_prior, values = [], [], []
    for j in range(2):
        m, s = (one.ravel() for one in np.meshgrid(middles[j], spreads[j], indexing="ij"))
        distribution = np.exp(-0.5 * np.square((z[j] - m[:, None]) / s[:, None]))
        distributions.append(distribution / distribution.sum(axis=1, keepdims=True))
        log_prior.append(-0.5 * np.square((m - prior.mean[j]) / prior.spread[j]) - 0.5 * np.square(s / prior.spread[j]))
        values.append((m, s))
    log_posterior = log_prior[0][:, None] + log_prior[1]
    for name in choices.people:
        fit = Likelihood(family, choices.of(name)).at(places).reshape(side, side)
        log_posterior += np.log(distributions[0] @ np.exp(fit - fit.max()) @ distributions[1].T)
    weights = np.exp(log_posterior - log_posterior.max())
    weights /= weights.sum()
    found = []
    for j, share in enumerate((weights.sum(axis=1), weights.sum(axis=0))):
        for numbers in values[j]:
            mean = share @ numbers
            found.append((mean, np.sqrt(share @ np.square(numbers - mean))))
    return found


@needs_numpyro
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_population_is_that_of_a_grid():
    """Two parameters, few answers of six people: five standard errors of the draws, and the grid's own error."""
    import arviz

    rng = np.random.default_rng(4)
    table = {"person": np.arange(90) % 6, "gain": rng.integers(5, 40, 90), "loss": rng.integers(5, 20, 90)}
    table["accepted"] = (table["gain"] - 1.6 * table["loss"] + 4.0 * rng.logistic(size=90) > 0).astype(int)
    choices, family = Choices.mixed_gambles(table), Family(eta=0.65, alpha=1.0, stake=20.0)
    found = hierarchical(choices, family, n_draws=600, n_warmup=200, n_chains=2, seed=2).inference
    exact, effective = of_a_grid(choices, family), arviz.ess(found)
    for j in range(2):
        for k, name in enumerate(("middle", "spread")):
            mean, spread = exact[2 * j + k]
            drawn = found.posterior[name].values[:, :, j]
            error = spread / np.sqrt(float(effective[name][j]))
            assert abs(drawn.mean() - mean) < 5.0 * error + 0.03 * spread
            assert abs(drawn.std() / spread - 1.0) < 0.25


@needs_numpyro
@pytest.mark.slow
def test_draws_do_not_depend_on_the_number_of_processes(monkeypatch):
    choices = two_kinds(n_people=4, n_trials=20)
    likelihood, prior = Likelihood(AVERSE, choices, by_person=True), AVERSE.prior
    start = starting_point(choices, AVERSE, np.random.default_rng(1))
    task = Task(likelihood, prior.mean, prior.spread, start, [5, 6, 7], 50, 20)
    found = []
    for cores in (1, 2):
        monkeypatch.setattr(os, "cpu_count", lambda cores=cores: cores)
        found.append(sampled(task))
    assert all(np.array_equal(found[0][name], found[1][name]) for name in found[0])
    assert not np.array_equal(found[0]["middle"][0], found[0]["middle"][1])


@needs_numpyro
def test_a_process_that_fails_says_why():
    with pytest.raises(RuntimeError, match="a process of the hierarchical fit failed: AttributeError"):
        sampled(Task(None, None, None, None, [1], 1, 1))


def test_the_start_is_near_the_people_and_knows_who_is_known():
    """A person of 200 answers is known, one of 4 is not: the latter goes with the population."""
    rng = np.random.default_rng(3)
    n = np.array([200, 200, 200, 200, 4])
    table = {"person": np.repeat(list("abcde"), n), "gain": rng.integers(5, 40, n.sum()),
             "loss": rng.integers(5, 20, n.sum())}  # fmt: skip
    averse = np.repeat([1.0, 1.5, 2.0, 2.5, 1.7], n)
    table["accepted"] = (table["gain"] - averse * table["loss"] + rng.logistic(size=n.sum()) > 0).astype(int)
    start = starting_point(Choices.mixed_gambles(table), AVERSE, np.random.default_rng(1))
    assert np.exp(start.people[:4, 0]) == pytest.approx([1.0, 1.5, 2.0, 2.5], rel=0.25)
    assert (start.information[:4, 0, 0] > 5.0 * start.information[4, 0, 0]).all()
    assert np.linalg.eigvalsh(start.information).min() > -1e-9


def test_another_process_can_take_a_likelihood_of_any_weight():
    local = type("Local", (TverskyKahneman,), {"__module__": "nowhere"})  # that no other process knows
    choices = Choices.from_rows([("ann", [Discrete({50: 0.1, 0: 0.9}), 7], 1)])
    likelihood = Likelihood(Family(local(0.7)), choices)
    z = np.zeros((1, 3))
    assert pickle.loads(pickle.dumps(likelihood)).at(z).tolist() == likelihood.at(z).tolist()


@pytest.mark.filterwarnings("ignore")
def test_signs_are_put_into_words():
    arviz = pytest.importorskip("arviz")
    rng = np.random.default_rng(1)
    good = {"middle": rng.normal(size=(4, 500, 1)), "spread": rng.normal(size=(4, 500, 1)),
            "people": rng.normal(size=(4, 500, 2, 1))}  # fmt: skip
    bad = {**good, "people": good["people"] + np.array([0.0, 3.0])[:, None] * np.arange(4)[:, None, None, None]}
    dims = {"middle": ["parameter"], "spread": ["parameter"], "people": ["person", "parameter"]}
    coords = {"parameter": ["eta"], "person": ["ann", "bob"]}
    said = checked(arviz.from_dict(posterior=good, dims=dims, coords=coords), 0, 2000)
    assert said[0].startswith("None of 2,000 steps diverged; R-hat is at most 1.0")
    assert len(said) == 1
    said = checked(arviz.from_dict(posterior=bad, dims=dims, coords=coords), 3, 2000)
    assert said[0].startswith("3 of 2,000 steps diverged")
    assert any("missed a narrow part" in one for one in said)
    assert any("1 of 2 people yet, least about bob" in one for one in said)


def test_chains_come_back_to_the_last_bit_and_damage_is_noticed():
    rng = np.random.default_rng(1)
    drawn = {"middle": rng.normal(size=(2, 5, 3)), "spread": rng.normal(size=(2, 5, 3)),
             "people": rng.normal(size=(2, 5, 4, 3))}  # fmt: skip
    content = chains_content(drawn)
    again = chains_from(content, 4, 3)
    assert all(np.array_equal(again[name], drawn[name]) for name in drawn)
    with pytest.raises(Damaged, match="a chain must be of all parameters"):
        chains_from(content, 4, 2)
    with pytest.raises(Damaged, match="a chain must be complete"):
        chains_from({**content, "spread": {**content["spread"], "data": ""}}, 4, 3)
    nothing = chains_content({**drawn, "spread": np.full((2, 5, 3), np.nan)})
    with pytest.raises(Damaged, match="a chain must be of finite numbers"):
        chains_from(nothing, 4, 3)


def test_only_a_hierarchical_fit_has_a_table_of_its_population():
    alone = fit(two_kinds(n_people=3, n_trials=10), AVERSE, prior=True, by_person=True)
    assert alone.inference is None
    with pytest.raises(ValueError, match="this is a fit by posterior mode"):
        alone.population_table()
