"""The problems that the paper studies, each defined once."""

from __future__ import annotations

import numpy as np

from allais.linear import LinearBandit
from allais.linear.noise import ArmNoise
from allais.lotteries import Discrete, Normal
from allais.preferences import Preference, expected_value
from allais.problems import Bandit
from allais.rewards import Bounded
from allais.weights import TverskyKahneman

WEIGHT = TverskyKahneman(0.61)
PEOPLE = Preference(WEIGHT)
COSTS = Preference(WEIGHT, costs=True)

# Appendix D: (a) and (b) are costs
FIFTY = Discrete({50: 0.1, 0: 0.9})
SEVEN = Discrete({7: 1.0})
FIVE_HUNDRED = Discrete({500: 0.01, 0: 0.99})
TWO_HUNDRED_FIFTY = Discrete({250: 0.03, 0: 0.97})
PROBLEM_A, RANGE_A = Bandit([FIFTY, SEVEN]), Bounded(0, 50)
PROBLEM_B, RANGE_B = Bandit([FIVE_HUNDRED, TWO_HUNDRED_FIFTY]), Bounded(0, 500)

# Setup(*): rewards
SETUP_1 = Discrete({1: 0.1, 0.2: 0.1, 0: 0.8})
SETUP_2 = Discrete({1: 0.001, 0.2: 0.8, 0: 0.199})
SETUP, RANGE_SETUP = Bandit([SETUP_1, SETUP_2]), Bounded(0, 1)

# Appendix E-A: rewards
THIRTY = Discrete({30: 0.2, 0: 0.8})
THREE, RANGE_THREE = Bandit([FIFTY, THIRTY, SEVEN]), Bounded(0, 50)

# Appendix E-B: six paths over twelve links, one with a rare long delay; costs around the usual route's 80
PATHS = ((1, 2, 5, 10), (1, 4, 9, 12), (3, 8, 11, 12), (3, 6, 7, 10), (3, 6, 9, 12), (1, 4, 7, 10))
LINK_DELAYS = np.array([30.0, 10, 30, 5, 1, 20, 15, 7, 20, 30, 1, 30])
JAM = Discrete({100: 0.01, 0: 0.99})
LAWS = (Normal(0, 1), Normal(0, 1), JAM, Normal(0, 1), Normal(0, 1), Normal(0, 1))
USUAL = 80.0
BETA = float(np.linalg.norm(LINK_DELAYS))
SAFE_ROUTE = Normal(71.0, 1.0)
FAST_ROUTE = Discrete({68: 0.99, 168: 0.01})
CLOCK = expected_value(reference=USUAL, costs=True)


def traveller(eta: float) -> Preference:
    """Someone on the way, under a weight of Tversky and Kahneman: delays below the usual are gains."""
    return Preference(TverskyKahneman(eta), reference=USUAL, costs=True)


DELAYS = traveller(0.61)


def grid_network() -> LinearBandit:
    """The six paths as a linear bandit."""
    features = np.zeros((len(PATHS), LINK_DELAYS.size))
    for arm, links in enumerate(PATHS):
        features[arm, np.array(links) - 1] = 1.0
    return LinearBandit(features, LINK_DELAYS, ArmNoise(LAWS), arms=[1, 2, 3, 4, 5, 6])
