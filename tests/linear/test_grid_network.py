"""The grid network (Appendix E-B): people take arm 1, the clock takes arm 3; both stopping rules side by side."""

import pytest
from scipy.integrate import quad
from scipy.stats import norm

from allais import best_arm
from allais.linear import WG, ArmNoise, GAllocation
from allais.paper.problems import BETA, CLOCK, DISTRIBUTIONS, grid_network, traveller

VALID_NOISE = ArmNoise(DISTRIBUTIONS)
NOISE_AS_RUN = ArmNoise(DISTRIBUTIONS, scales=[1.0] * 6)  # the paper takes every noise for a standard normal one


def test_the_values_of_both_tables():
    for eta in (0.61, 0.69):

        def weight(p, eta=eta):  # written out anew
            return p**eta / (p**eta + (1 - p) ** eta) ** (1 / eta)

        values = grid_network().true_values(traveller(eta))
        gain, _ = quad(lambda z, weight=weight: weight(norm.sf(z, 9)), 0, 40, points=[9], epsabs=1e-12, epsrel=1e-12)
        loss, _ = quad(lambda z, weight=weight: weight(norm.cdf(-z, 9)), 0, 30, epsabs=1e-12, epsrel=1e-12)
        assert values[0] == pytest.approx(gain - loss, abs=1e-9)
        assert values[2] == pytest.approx(12 * weight(0.99) - 88 * weight(0.01), abs=1e-9)


@pytest.mark.parametrize("noise", [VALID_NOISE, NOISE_AS_RUN], ids=["valid", "as run"])
@pytest.mark.parametrize("eta", [0.61, 0.69])
def test_one_run_finds_the_arms_of_the_paper(noise, eta):
    problem = grid_network()
    people = WG(traveller(eta), noise, delta=0.01, beta=BETA, regularisation=0.01)
    machine = GAllocation(noise, delta=0.01, beta=BETA, regularisation=0.01, reference=80, costs=True)
    assert machine.preference == CLOCK
    assert best_arm(people, problem, seed=1).arm == 1
    assert best_arm(machine, problem, seed=1).arm == 3


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "lam"), [(VALID_NOISE, 0.01), (NOISE_AS_RUN, 1.0)], ids=["valid", "as run"])
def test_a_hundred_runs_find_the_arms_of_the_paper(noise, lam):
    # taken for standard normal, the noise of arm 3 breaks the ellipsoid at lambda = 0.01; at lambda = 1 the bound on
    # the length of theta, 69, hides it
    problem = grid_network()
    for policy, arm in (
        (WG(traveller(0.61), noise, delta=0.01, beta=BETA, regularisation=lam), 1),
        (WG(traveller(0.69), noise, delta=0.01, beta=BETA, regularisation=lam), 1),
        (GAllocation(noise, delta=0.01, beta=BETA, regularisation=lam, reference=80, costs=True), 3),
    ):
        answers = [best_arm(policy, problem, seed=seed) for seed in range(100)]
        assert all(answer.settled for answer in answers)
        assert sum(answer.arm == arm for answer in answers) >= 95
