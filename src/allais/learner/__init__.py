"""Learner: a policy with memory, in a process, a file or a folder."""

from allais.learner.choices import Choice, Drift, Ellipsoid, NotNow, Recommendation
from allais.learner.contextual import ContextualLearner
from allais.learner.learner import Learner
from allais.learner.linear import LinearLearner

__all__ = ["Choice", "ContextualLearner", "Drift", "Ellipsoid", "Learner", "LinearLearner", "NotNow", "Recommendation"]
