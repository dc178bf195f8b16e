"""Forests of conditional distributions: what each arm brings, in each context."""

from allais.forests.forest import OutcomeForest

__all__ = ["OutcomeForest"]
