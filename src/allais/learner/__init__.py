"""Learner: a policy with memory, in a process, a file or a folder."""

from allais.learner.learner import Choice, Learner, NotNow, Recommendation

__all__ = ["Choice", "Learner", "NotNow", "Recommendation"]
