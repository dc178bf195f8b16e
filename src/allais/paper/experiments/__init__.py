"""The experiments, one module each, in the order of the report."""

from __future__ import annotations

from allais.paper.experiment import Experiment
from allais.paper.experiments import (
    estimator,
    fixed_budget,
    fixed_confidence,
    grid_network,
    introduction,
    linear_regret,
    measured_bounds,
    regret,
    route_table,
    setup_confidence,
    setup_regret,
    sharper,
    vehicles,
    weight_curve,
)

EXPERIMENTS: tuple[Experiment, ...] = tuple(
    module.EXPERIMENT
    for module in (
        introduction,
        weight_curve,
        estimator,
        regret,
        setup_regret,
        fixed_budget,
        fixed_confidence,
        setup_confidence,
        linear_regret,
        grid_network,
        route_table,
        measured_bounds,
        sharper,
        vehicles,
    )
)
BY_NAME = {experiment.name: experiment for experiment in EXPERIMENTS}
