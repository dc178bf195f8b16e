"""Fits: known people are found again, posteriors are those of a grid, and what is not told is said."""

import json

import numpy as np
import pytest
from scipy import special

from allais import Discrete, Preference, Prelec
from allais.people import (
    Choices,
    Family,
    Fitted,
    Prior,
    compare,
    expected_value_family,
    fit,
    groups,
    posterior,
)
from allais.people.inference.posterior import smc
from allais.people.model.likelihood import Likelihood
from tests.people.simulated import answering, gambles

TRUE = [0.61, 0.88, 2.25, 3.0]


def many(n=600, seed=1):
    rng = np.random.default_rng(seed)
    return answering(Family(), TRUE, gambles(rng, n), rng)


def test_maximum_likelihood_finds_a_person_again_within_its_standard_errors():
    fitted = fit(many(), Family())
    truth = Family().unconstrained(TRUE)[0]
    # six standard errors each: by luck once in 1e8, were they normal
    assert (np.abs(fitted.place - truth) < 6.0 * fitted.places.std(axis=0)).all()
    assert fitted.log_likelihood >= Family().log_likelihood([TRUE], many())[0]


def test_the_peak_has_no_gradient_and_the_curvature_is_that_of_the_likelihood():
    choices, family = many(), Family()
    fitted, likelihood = fit(choices, family), Likelihood(family, choices)
    _, gradient = likelihood.gradients_at(fitted.place[None])
    assert np.abs(gradient).max() < 1e-3
    step = 1e-3 * np.eye(4)[1]
    ends = likelihood.at(np.stack([fitted.place - step, fitted.place, fitted.place + step]))
    second = (ends[0] - 2 * ends[1] + ends[2]) / 1e-6
    precision = np.linalg.inv(np.cov(fitted.places.T))[1, 1]
    assert precision == pytest.approx(-second, rel=0.25)  # a covariance of 1,000 draws: sd 4.5 %


def grid_posterior(likelihood, family, n=4001):
    z = np.linspace(-8, 8, n)[:, None] * family.prior.spread + family.prior.mean
    log = likelihood.at(z) + family.prior.log_density(z)
    weights = np.exp(log - log.max())
    step = z[1, 0] - z[0, 0]
    mean = float((weights * z[:, 0]).sum() / weights.sum())
    sd = float(np.sqrt((weights * (z[:, 0] - mean) ** 2).sum() / weights.sum()))
    return mean, sd, float(log.max() + np.log(weights.sum() * step))


def test_particles_agree_with_a_grid_in_mean_spread_and_evidence():
    family = Family(alpha=0.88, loss_aversion=2.25, temperature=3.0)
    choices = many(80)
    mean, sd, evidence = grid_posterior(Likelihood(family, choices), family)
    found = [posterior(choices, family, n_particles=2000, seed=seed) for seed in range(6)]
    # 12,000 particles, worth a tenth at least: a standard error of sd / 35
    assert np.mean([one.place[0] for one in found]) == pytest.approx(mean, abs=6 * sd / 35)
    assert np.mean([one.places.std() for one in found]) == pytest.approx(sd, rel=0.15)
    assert np.mean([one.log_evidence for one in found]) == pytest.approx(evidence, abs=0.15)


def test_both_peaks_of_a_posterior_are_found_with_their_shares():
    prior = Prior(np.zeros(2), 9.0 * np.eye(2))

    def log_likelihood(z):
        far, near = ((z - 4.0) ** 2).sum(axis=1), ((z + 4.0) ** 2).sum(axis=1)
        return special.logsumexp(np.stack([np.log(0.7) - 10 * far, np.log(0.3) - 10 * near]), axis=0)

    shares = [
        float((smc(log_likelihood, prior, 1000, np.random.default_rng(seed))[0][:, 0] > 0).mean()) for seed in range(8)
    ]
    # resampling adds noise: the sd of one share is about 0.04
    assert np.mean(shares) == pytest.approx(0.7, abs=6 * 0.04 / np.sqrt(8))


def test_what_two_outcomes_cannot_tell_is_said():
    """Nearly all real choices of this kind have one win and one sure amount: weight or utility, not both."""
    rng = np.random.default_rng(3)
    table = {"person": ["a"] * 300, "win": [13] * 300, "probability": rng.integers(1, 10, 300) / 10, "sure": [5] * 300}
    chance = special.expit((table["probability"] * 13**0.8 - 5**0.8) / 0.5)
    table["took_lottery"] = (rng.random(300) < chance).astype(int)
    said = posterior(Choices.lottery_or_sure(table), Family(Prelec), seed=1).summary()
    assert any("loss_aversion" in one and "little" in one for one in said.warnings)
    assert any("trade off" in one and "temperature" in one for one in said.warnings)
    assert "not identified by these data" in str(said)


def test_a_likelihood_without_a_peak_is_said():
    choices = Choices.mixed_gambles({"person": ["a"] * 3, "gain": [10, 20, 30], "loss": [9, 9, 9], "accepted": [1] * 3})
    notes = fit(choices, Family(eta=0.65, alpha=1.0)).notes
    assert any("flat" in note for note in notes)


def two_kinds(n_people=12, n_trials=60, seed=5):
    rng = np.random.default_rng(seed)
    n = n_people * n_trials
    table = {"person": np.arange(n) % n_people, "gain": rng.integers(5, 40, n), "loss": rng.integers(5, 20, n)}
    averse = np.where(table["person"] % 3 == 0, 1.0, 2.2)
    table["accepted"] = (table["gain"] - averse * table["loss"] + 1.5 * rng.logistic(size=n) > 0).astype(int)
    return Choices.mixed_gambles(table)


AVERSE = Family(eta=0.65, alpha=1.0)


def test_types_of_people_are_found_and_counted():
    found = groups(two_kinds(), AVERSE, seed=1)
    assert found.bic == min(found.tried.values())
    assert found.shares.round(2).tolist() == [0.67, 0.33]
    assert [round(one.parameters["loss_aversion"], 1) for one in found.types] == [2.2, 1.0]
    assert min(found.tried, key=found.tried.get) == 2
    assert "type 1: 67% of people" in str(found)
    assert found.verdict == "types"
    assert "continuously" not in str(found)


def gradual(seed, n_people=30, n_trials=60):
    """People whose loss aversion and temperature are those of one lognormal population."""
    rng = np.random.default_rng(seed)
    n = n_people * n_trials
    table = {"person": np.arange(n) % n_people, "gain": rng.integers(5, 41, n), "loss": rng.integers(5, 21, n)}
    averse, heat = (np.exp(rng.normal(np.log(m), 0.4, n_people))[table["person"]] for m in (1.6, 2.0))
    table["accepted"] = (table["gain"] - averse * table["loss"] + heat * rng.logistic(size=n) > 0).astype(int)
    return Choices.mixed_gambles(table)


def test_people_who_differ_continuously_are_said_to_be_no_types():
    found = groups(gradual(1, n_people=16, n_trials=40), AVERSE, seed=1)
    assert len(found.types) > 1  # types alone fit better than one point, and say nothing about it
    assert found.verdict == "continuous"
    assert found.continuous.bic < found.bic - 10.0
    assert "do not read types into them" in str(found)
    assert np.exp(found.continuous.population.mean[0]) == pytest.approx(1.6, rel=0.35)
    assert found.continuous.population.spread[0] == pytest.approx(0.4, rel=0.5)


def test_the_likelihood_of_a_population_is_that_of_a_grid():
    """One free parameter: the integral over people by sums, at the population that was found."""
    family = Family(eta=0.65, alpha=1.0, temperature=2.0)
    choices = gradual(2, n_people=6, n_trials=20)
    found = groups(choices, family, seed=1).continuous
    z = np.linspace(-6, 6, 4001)[:, None] * family.prior.spread + family.prior.mean
    density = np.exp(found.population.log_density(z)) * (z[1, 0] - z[0, 0])
    each = [np.log(np.exp(Likelihood(family, choices.of(name)).at(z)) @ density) for name in choices.people]
    # 600 weighed draws of each of six people: an error of about 0.03 each
    assert found.log_likelihood == pytest.approx(sum(each), abs=6 * 0.03 * np.sqrt(6))


@pytest.mark.slow
def test_types_and_continuous_populations_are_told_apart_nearly_always():
    """Were either wrong once in 100 tables, five of ten would be by luck once in 40 million."""
    said = [groups(gradual(seed), AVERSE, seed=1).verdict for seed in range(10)]
    assert sum(one == "continuous" for one in said) >= 6
    said = [groups(two_kinds(24, seed=seed), AVERSE, seed=1).verdict for seed in range(10)]
    assert sum(one == "types" for one in said) >= 6


def test_one_kind_of_people_is_one_type():
    rng = np.random.default_rng(6)
    table = {"person": np.arange(600) % 10, "gain": rng.integers(5, 40, 600), "loss": rng.integers(5, 20, 600)}
    table["accepted"] = (table["gain"] - 1.5 * table["loss"] + 2.0 * rng.logistic(size=600) > 0).astype(int)
    found = groups(Choices.mixed_gambles(table), AVERSE, seed=1)
    assert len(found.types) == 1
    assert found.verdict == "alike"


@pytest.mark.parametrize("held_out", ["trials", "people"])
def test_the_family_that_made_the_choices_predicts_best(held_out):
    found = compare({"mean": expected_value_family(), "averse": AVERSE}, two_kinds(), held_out=held_out, folds=3)
    assert found.scores["averse"] > found.scores["mean"]
    assert "best" in str(found)
    each = compare(
        {"averse": AVERSE, "each": lambda c: fit(c, AVERSE, prior=True, by_person=True)}, two_kinds(), folds=3
    )
    assert each.scores["each"] > each.scores["averse"]


def test_a_list_of_families_is_compared_by_short_names():
    found = compare([AVERSE, expected_value_family(), AVERSE], two_kinds(), folds=2)
    assert list(found.scores) == [
        "TverskyKahneman: loss_aversion, temperature",
        "Identity: temperature",
        "TverskyKahneman: loss_aversion, temperature (number 3)",
    ]
    with pytest.raises(TypeError, match="a list of candidates holds families"):
        compare([fit], two_kinds())


def test_a_held_out_score_is_the_log_chance_of_each_answer():
    choices = two_kinds()
    fitted = fit(choices, AVERSE)
    assert fitted.log_score(choices) == pytest.approx(fitted.log_likelihood, rel=1e-9)


def counted(choices):
    """The same answers, each question once per person with how often each option was taken."""
    told = {}
    for row in range(len(choices)):
        key = (choices.people[choices.person[row]], choices.options(row), int(choices.chosen[row]))
        told[key] = told.get(key, 0) + 1
    return Choices.from_rows([(*key, times) for key, times in told.items()])


def test_counts_are_fitted_as_the_answers_that_they_count():
    rng = np.random.default_rng(8)
    n = 600
    table = {"person": np.arange(n) % 6, "gain": rng.choice([10, 20, 30], n), "loss": rng.choice([5, 10, 15], n)}
    averse = np.where(table["person"] < 3, 1.0, 2.2)
    table["accepted"] = (table["gain"] - averse * table["loss"] + 3.0 * rng.logistic(size=n) > 0).astype(int)
    each = Choices.mixed_gambles(table)
    few = counted(each)
    assert few.n_answers == len(each) > 5 * len(few)
    z = AVERSE.prior.draw(5, 1)
    for by_person in (False, True):
        likelihoods = [Likelihood(AVERSE, one, by_person=by_person).at(z) for one in (each, few)]
        assert likelihoods[0] == pytest.approx(likelihoods[1], rel=1e-12)
    for method in (lambda c: fit(c, AVERSE), lambda c: fit(c, AVERSE, by_person=True),
                   lambda c: posterior(c, AVERSE, seed=1)):  # fmt: skip
        first, second = method(each), method(few)
        assert first.parameters == pytest.approx(second.parameters, rel=1e-5)
        assert first.n_choices == second.n_choices == n
        assert first.log_score(each) == pytest.approx(first.log_score(few), rel=1e-9)
    first, second = (groups(one, AVERSE, seed=1) for one in (each, few))
    assert first.bic == pytest.approx(second.bic, rel=1e-6)
    first, second = (compare([AVERSE, expected_value_family()], one, folds=2) for one in (each, few))
    assert first.n_choices == second.n_choices == n
    assert list(first.scores.values()) == pytest.approx(list(second.scores.values()), rel=0.02)  # other folds
    assert {name: one.asked for name, one in few.attention().items()} == {
        name: one.asked for name, one in each.attention().items()
    }
    assert fit(few, AVERSE).plot(few).axes[2].get_title() == "the first option"


def test_what_was_fitted_comes_back_from_its_file(tmp_path):
    fitted = fit(two_kinds(), AVERSE, by_person=True)
    path = tmp_path / "people.json"
    fitted.save(path)
    again = Fitted.load(path)
    assert again.parameters == fitted.parameters
    assert again.people["3"].parameters == fitted.people["3"].parameters
    np.testing.assert_array_equal(again.places, fitted.places)
    assert str(again.summary()) == str(fitted.summary())
    assert Preference.load(path) == fitted.preference
    document = json.loads(path.read_text())
    document["fitted"]["place"][0] += 1.0
    path.write_text(json.dumps(document))
    with pytest.raises(ValueError, match="damaged"):
        Fitted.load(path)


def test_a_plain_preference_file_is_no_fit(tmp_path):
    Preference.tversky_kahneman().save(tmp_path / "tk.json")
    assert Preference.load(tmp_path / "tk.json") == Preference.tversky_kahneman()
    with pytest.raises(ValueError, match="not fitted"):
        Fitted.load(tmp_path / "tk.json")
    (tmp_path / "no.json").write_text("[]")
    with pytest.raises(ValueError, match="not a preference file"):
        Preference.load(tmp_path / "no.json")


def test_draws_are_preferences_and_the_same_seed_gives_the_same():
    fitted = posterior(two_kinds(), AVERSE, seed=1)
    first, second = fitted.draws(7, seed=2), fitted.draws(7, seed=2)
    assert first == second
    assert len({one.utility.loss_aversion for one in first}) == 7
    assert isinstance(first[0].value(Discrete({5: 1.0})), float)


def test_pictures_have_their_panels(tmp_path):
    pytest.importorskip("matplotlib")
    choices = many(60)
    fitted = posterior(choices, Family(), n_particles=200, seed=1)
    titles = [ax.get_title() for ax in fitted.plot(choices).axes]
    assert titles == [
        "weight, with 90 % of draws", "utility, with 90 % of draws", "the first option", titles[3],
    ]  # fmt: skip
    assert len(fit(choices, expected_value_family()).plot().axes) == 1


def test_curves_are_drawn_where_choices_are():
    """Gains alone have no utility of losses, and even odds tell a weight at one half."""
    pytest.importorskip("matplotlib")
    n = 40
    table = {"person": ["a"] * n, "win": [20] * n, "probability": [0.2, 0.8] * (n // 2), "sure": [5, 12, 9, 14] * 10,
             "took_lottery": [0, 1] * (n // 2)}  # fmt: skip
    choices = Choices.lottery_or_sure(table)
    weight, utility, *_ = fit(choices, Family(loss_aversion=1.0), prior=True).plot(choices).axes
    assert utility.get_lines()[0].get_xdata()[[0, -1]].tolist() == [0.0, 20.0]
    solid = next(line for line in weight.get_lines() if line.get_label() == "both")
    assert solid.get_xdata()[[0, -1]].tolist() == pytest.approx([0.2, 0.8])
    choices = two_kinds()
    weight, utility, *_ = fit(choices, AVERSE, prior=True).plot(choices).axes
    assert weight.get_title() == "weight, as assumed"
    assert next(line for line in weight.get_lines() if line.get_label() == "both").get_xdata().tolist() == [0.5]
    ends = utility.get_lines()[0].get_xdata()[[0, -1]].tolist()
    assert ends == [-19.0, 39.0]  # the largest loss and the largest gain that were offered
