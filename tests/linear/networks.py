"""The 3x3 grid network of Appendix E-B: six paths over twelve links, one with a rare long delay."""

import numpy as np

from allais import ArmNoise, Discrete, LinearBandit, Normal, Preference, TverskyKahneman, expected_value

PATHS = [(1, 2, 5, 10), (1, 4, 9, 12), (3, 8, 11, 12), (3, 6, 7, 10), (3, 6, 9, 12), (1, 4, 7, 10)]
LINK_DELAYS = np.array([30.0, 10, 30, 5, 1, 20, 15, 7, 20, 30, 1, 30])
TAIL = Discrete({100: 0.01, 0: 0.99})
LAWS = [Normal(0, 1), Normal(0, 1), TAIL, Normal(0, 1), Normal(0, 1), Normal(0, 1)]
VALID_NOISE = ArmNoise(LAWS)
NOISE_AS_RUN = ArmNoise(LAWS, scales=[1.0] * 6)  # the paper takes every noise for a standard normal one
BETA = float(np.linalg.norm(LINK_DELAYS))


def grid_network():
    features = np.zeros((6, 12))
    for arm, links in enumerate(PATHS):
        features[arm, np.array(links) - 1] = 1.0
    return LinearBandit(features, LINK_DELAYS, VALID_NOISE, arms=[1, 2, 3, 4, 5, 6])


def traveller(eta):
    return Preference(TverskyKahneman(eta), reference=80, costs=True)


def clock():
    return expected_value(reference=80, costs=True)
