"""The compiled likelihood is that of the library's own preferences, and its gradients are exact."""

import numpy as np
import pytest
from scipy import special

from allais import Discrete, GonzalezWu, Power, PowerUtility, Prelec, TverskyKahneman, Wang, Weight
from allais.people import Choices, Family, Logit, Probit, free
from allais.people.model.likelihood import Likelihood
from allais.weights import Identity, SteepMiddle, TailAverage
from tests.people.simulated import gambles

PARAMETRIC = [TverskyKahneman, Prelec, GonzalezWu, Power, SteepMiddle, TailAverage, Wang]
SURE = "certainty equivalents"
FAMILIES = {
    **{kind.__name__: Family(kind) for kind in (*PARAMETRIC, Identity)},
    "two weights": Family(TverskyKahneman, Prelec, choice=Logit(on=SURE)),
    "the same weight twice": Family(GonzalezWu, GonzalezWu),
    "dual": Family(Wang, "dual", lapse=free()),
    "probit": Family(choice=Probit, lapse=free()),
    "probit on amounts": Family(Prelec, choice=Probit(on=SURE), lapse=0.02),
    "known weight": Family(TverskyKahneman(0.61), utility=None),
    "own weight": Family(Weight.from_function(lambda p: p * p * (3 - 2 * p)), "dual"),
    "fixed": Family(eta=0.7, loss_aversion=2.0, utility=PowerUtility(0.9, 1.0)),
    "costs": Family(GonzalezWu, Power, reference=10.0, costs=True),
}


def table(rng):
    chosen = rng.integers(0, 2, 60).tolist()
    return Choices.from_rows([("ann", pair, one) for pair, one in zip(gambles(rng, 60), chosen, strict=True)])


def by_hand(family, parameters, choices):
    """The log likelihood from values of the library's own preference."""
    preference = family.preference(parameters)
    numbers = dict(zip(family.names, parameters, strict=True)) | family.fixed
    worth = preference.certainty_equivalent if family.choice.on == SURE else preference.value
    sign = -1.0 if family.costs and family.choice.on == SURE else 1.0
    total = 0.0
    for row in range(len(choices)):
        values = np.array([sign * worth(option) for option in choices.options(row)]) / numbers["temperature"]
        if isinstance(family.choice, Probit):
            shares = special.ndtr([values[0] - values[1], values[1] - values[0]])
        else:
            shares = special.softmax(values)
        total += np.log((1 - numbers["lapse"]) * shares[choices.chosen[row]] + numbers["lapse"] / values.size)
    return total


def drawn(family, rng, n=4):
    """Parameters as the prior has them; temperatures near stakes of 100, where answers are not certain."""
    z = family.prior.draw(n, rng)
    z[:, family.names.index("temperature")] = np.log(8.0)
    return z


def test_a_parameter_has_the_same_name_in_every_family():
    named = [set(family.names) | set(family.fixed) for family in FAMILIES.values() if family.utility is not None]
    assert all({"utility_alpha", "loss_aversion", "temperature", "lapse"} <= names for names in named)
    assert Family().names[0] == Family(TverskyKahneman, "dual").names[0] == "weight_eta"
    assert [Family(TverskyKahneman, other).names[0] for other in (TverskyKahneman, Prelec, Wang)] == ["gains_eta"] * 3
    assert [Family(other, Prelec).names[-5] for other in (Prelec, Wang)] == ["losses_alpha"] * 2


def test_a_short_name_will_do_where_only_one_parameter_ends_so():
    assert Family(alpha=0.88, eta=0.7).given == Family(utility_alpha=0.88, weight_eta=0.7).given
    assert Family(alpha=0.88).fixed["utility_alpha"] == 0.88
    with pytest.raises(ValueError, match="this family has the parameters weight_alpha, weight_beta, utility_alpha, "):
        Family(Prelec, alpha=0.88)


@pytest.mark.parametrize("name", FAMILIES)
def test_the_likelihood_is_that_of_the_librarys_own_values(name):
    rng = np.random.default_rng(1)
    family, choices = FAMILIES[name], table(rng)
    parameters = family.natural(drawn(family, rng))
    expected = [by_hand(family, one, choices) for one in parameters]
    np.testing.assert_allclose(family.log_likelihood(parameters, choices), expected, rtol=1e-9)


@pytest.mark.parametrize("name", FAMILIES)
def test_gradients_are_those_of_finite_differences(name):
    rng = np.random.default_rng(2)
    family, choices = FAMILIES[name], table(rng)
    likelihood, z = Likelihood(family, choices), drawn(family, rng)
    values, gradients = likelihood.gradients_at(z)
    np.testing.assert_allclose(values, likelihood.at(z), rtol=1e-13)
    for i in range(z.shape[1]):
        step = np.zeros(z.shape[1])
        step[i] = 1e-6
        numeric = (likelihood.at(z + step) - likelihood.at(z - step)) / 2e-6
        np.testing.assert_allclose(gradients[:, i], numeric, rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("on", ["values", SURE])
def test_certainty_equivalents_have_a_density_with_exact_gradients(on):
    family = Family(TverskyKahneman, Prelec, choice=Logit(on=on), noise=free(), temperature=1.0)
    sizes = [(50, 0.1, 8.0), (20, 0.9, 15.0), (-30, 0.4, -9.0), (100, 0.5, 35.0)]
    columns = {"person": ["a"] * 4, "x": [one[0] for one in sizes], "p": [one[1] for one in sizes],
               "amount": [one[2] for one in sizes]}  # fmt: skip
    choices = Choices.certainty_equivalents(columns, lottery=[("x", "p"), (0, None)])
    z = family.prior.draw(3, 1)
    likelihood = Likelihood(family, choices)
    for parameters, found in zip(family.natural(z), likelihood.at(z), strict=True):
        preference, noise = family.preference(parameters), parameters[-1]
        off = [
            (amount - preference.certainty_equivalent(Discrete({x: p, 0: 1 - p}))) / abs(x) for x, p, amount in sizes
        ]
        spread = np.log([abs(x) * noise for x, _, _ in sizes])
        expected = np.sum(-0.5 * (np.array(off) / noise) ** 2 - spread - 0.5 * np.log(2 * np.pi))
        assert found == pytest.approx(expected, rel=1e-9)
    _, gradients = likelihood.gradients_at(z)
    for i in range(z.shape[1]):
        step = np.zeros(z.shape[1])
        step[i] = 1e-6
        numeric = (likelihood.at(z + step) - likelihood.at(z - step)) / 2e-6
        np.testing.assert_allclose(gradients[:, i], numeric, rtol=2e-6, atol=2e-6)


def test_three_options_are_a_softmax_with_exact_gradients():
    options = [Discrete({50: 0.1, 0: 0.9}), 4, Discrete({10: 0.5, -2: 0.5})]
    choices = Choices.from_rows([("a", options, k) for k in (0, 1, 2, 2)])
    family = Family(lapse=0.1)
    z = family.prior.draw(3, 1)
    expected = [by_hand(family, one, choices) for one in family.natural(z)]
    likelihood = Likelihood(family, choices)
    values, gradients = likelihood.gradients_at(z)
    np.testing.assert_allclose(values, expected, rtol=1e-10)
    for i in range(z.shape[1]):
        step = np.zeros(z.shape[1])
        step[i] = 1e-6
        numeric = (likelihood.at(z + step) - likelihood.at(z - step)) / 2e-6
        np.testing.assert_allclose(gradients[:, i], numeric, rtol=2e-6, atol=2e-6)


def test_people_are_blocks_and_their_sum_is_the_whole():
    rng = np.random.default_rng(3)
    rows = [(str(i % 4), pair, int(rng.integers(2))) for i, pair in enumerate(gambles(rng, 40))]
    choices, family = Choices.from_rows(rows), Family()
    z = np.tile(family.prior.mean, (4, 1))
    by_person, gradients = Likelihood(family, choices, by_person=True).gradients_at(z, np.arange(4))
    whole, gradient = Likelihood(family, choices).gradients_at(z[:1])
    assert by_person.sum() == pytest.approx(whole[0], rel=1e-12)
    np.testing.assert_allclose(gradients.sum(axis=0), gradient[0], rtol=1e-10)
    alone = [Likelihood(family, choices.of(str(i))).at(z[:1])[0] for i in range(4)]
    np.testing.assert_allclose(by_person, alone, rtol=1e-12)


def test_each_answer_has_its_chance_in_the_order_of_the_table():
    rng = np.random.default_rng(4)
    pairs = gambles(rng, 12)
    choices = Choices.from_rows([("a", pairs[i % 12], int(rng.integers(2))) for i in range(30)])
    family = Family()
    found = family.log_chances(family.natural(family.prior.draw(2, 1)), choices)
    alone = [
        family.log_chances(family.natural(family.prior.draw(2, 1)), choices.where(np.arange(30) == i))
        for i in range(30)
    ]
    np.testing.assert_allclose(found, np.concatenate(alone, axis=1), rtol=1e-12)


def test_a_far_normal_tail_keeps_its_digits():
    choices = Choices.from_rows([("a", [1000.0, 0.0], 1)])
    family = Family(Identity, utility=None, choice=Probit)
    np.testing.assert_allclose(family.log_likelihood([[25.0], [60.0]], choices), special.log_ndtr([-40.0, -1000 / 60]))


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Family(Discrete), "gains and losses must be one of"),
        (lambda: Family(losses="mirror"), 'must be a weight or "dual"'),
        (lambda: Family(eta=1.5), "eta must lie between 0.2793 and 1; got 1.5"),
        (lambda: Family(etta=0.5), "got 'etta'"),
        (lambda: Family(Prelec, alpha=0.5), "got 'alpha'"),  # of the weight or of the utility?
        (lambda: Family(choice="logit"), "Logit or Probit"),
        (lambda: Family(utility=np.sqrt), "PowerUtility or None"),
        (lambda: Family(loss_aversion=free(median=-1)), "got a median of -1"),
        (lambda: Family().log_likelihood([[0.61]], Choices.from_rows([("a", [1, 2], 0)])), "numbers for weight_eta"),
        (lambda: Family(choice=Probit).log_likelihood([[0.6, 1, 1, 1]], Choices.from_rows([("a", [1, 2, 3], 0)])),
         "probit compares two options"),
    ],
)  # fmt: skip
def test_a_family_that_cannot_be_is_refused_in_a_sentence(make, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence.replace("(", r"\(")):
        make()


def test_parameters_go_to_the_line_and_back():
    family = Family(GonzalezWu, Wang, lapse=free())
    z = family.prior.draw(50, 1)
    np.testing.assert_allclose(family.unconstrained(family.natural(z)), z, rtol=1e-8, atol=1e-8)


def test_a_family_comes_back_from_its_setting():
    from allais.settings import from_spec, to_spec

    family = Family(Prelec, GonzalezWu(0.5, 0.8), beta=1.0, lapse=free(0.02, 1.0), choice=Probit(on=SURE), stake=40.0)
    again = from_spec(to_spec(family))
    assert str(again) == str(family)
    wide = family.with_prior(family.prior.__class__(family.prior.mean + 1.0, 2.0 * family.prior.covariance))
    np.testing.assert_allclose(from_spec(to_spec(wide)).prior.covariance, wide.prior.covariance)


def test_the_former_name_of_unconstrained_still_answers():
    family = Family(alpha=0.88)
    with pytest.warns(DeprecationWarning, match="`on_line` is now `unconstrained`"):
        found = family.on_line([[0.61, 2.25, 1.0]])
    np.testing.assert_array_equal(found, family.unconstrained([[0.61, 2.25, 1.0]]))
