"""The experiments, one module each, in the order of the report."""

from __future__ import annotations

from allais.paper.findings import Experiment


def without_sumo() -> str | None:
    """What has to be installed before traffic can be simulated, in a sentence, or None."""
    from allais.traffic import sumo

    return None if sumo.is_installed() else sumo.MISSING


def _listed(name: str, title: str, where: str, module: str, quick: float, full: float) -> Experiment:
    missing = {"missing": without_sumo} if name == "vehicles" else {}
    return Experiment(name, title, where, module, {"quick": quick, "full": full}, **missing)


# the numbers are seconds at both scales: roughly is enough, only their ratios are used
EXPERIMENTS: tuple[Experiment, ...] = (
    _listed("introduction", "Rare events, and the paradox of Allais", "Section I", "introduction", 0.5, 0.5),
    _listed("weight", "The weight function", "Figure 1", "weight_curve", 0.2, 0.2),
    _listed(
        "estimator", "The estimator and its concentration", "Section III-A, Theorem 1 and Proposition 1", "estimator",
        4.3, 350.0,
    ),
    _listed("regret", "Regret of UCB and W-UCB", "Appendix D, Figure 3", "regret", 2.3, 40.0),
    _listed("setup-regret", "Setup(*): values and regret", "Appendix D, Figure 4", "setup_regret", 1.1, 11.0),
    _listed("budget", "Three arms at a fixed budget", "Appendix E-A, Table III", "fixed_budget", 2.8, 33.0),
    _listed(
        "confidence", "Three arms at a fixed confidence", "Appendix E-A, Figure 5", "fixed_confidence", 3.0, 8.0
    ),
    _listed(
        "setup-confidence", "Setup(*) at a fixed confidence", "Appendix E-A, Figure 6", "setup_confidence", 12.0, 100.0
    ),
    _listed("linear-regret", "Linear bandits: OFUL and W-OFUL", "Section V-A", "linear_regret", 2.0, 17.0),
    _listed(
        "grid-network", "The 3x3 grid network: G-allocation and W-G", "Appendix E-B, Table IV", "grid_network",
        9.0, 230.0,
    ),
    _listed("route-table", "The arithmetic of the route table", "Section VI, Table II", "route_table", 0.5, 0.5),
    _listed("bounds", "Bounds beside measurements", "Theorems 2 to 11", "measured_bounds", 4.0, 12.0),
    _listed("sharper", "The same problems, sharper", "Beyond the paper", "sharper", 16.0, 80.0),
    _listed("vehicles", "Vehicular routing on a traffic simulator", "Section VI", "vehicles", 65.0, 385.0),
)  # fmt: skip
BY_NAME = {experiment.name: experiment for experiment in EXPERIMENTS}
