"""The experiments, a module for each part of the paper, in the order of the report."""

from __future__ import annotations

from allais.paper.findings import Experiment, Size


def without_sumo() -> str | None:
    """What has to be installed before traffic can be simulated, in a sentence, or None."""
    from allais.traffic import sumo

    return None if sumo.is_installed() else sumo.MISSING


def _listed(
    name: str, title: str, where: str, module: str, quick: tuple[float, Size], full: tuple[float, Size]
) -> Experiment:
    """An experiment; seconds and sizes at both scales. Seconds may be rough: only their ratios are used."""
    missing = {"missing": without_sumo} if name == "vehicles" else {}
    sizes = {"quick": quick[1], "full": full[1]}
    return Experiment(name, title, where, module, sizes, {"quick": quick[0], "full": full[0]}, **missing)


EXACT = 0.5, Size()  # values by arithmetic: nothing is drawn
FEW, MANY = (0.1, 0.05, 0.01), (0.2, 0.1, 0.05, 0.02, 0.01)  # deltas

EXPERIMENTS: tuple[Experiment, ...] = (
    _listed("introduction", "Rare events, and the paradox of Allais", "Section I", "introduction", EXACT, EXACT),
    _listed("weight", "The weight function", "Figure 1", "introduction", EXACT, EXACT),
    _listed(
        "estimator", "The estimator and its concentration", "Section III-A, Theorem 1 and Proposition 1", "theorems",
        (4.3, Size(runs=1_000, samples=(100, 1_000, 10_000))),
        (350.0, Size(runs=5_000, samples=(100, 1_000, 10_000, 100_000))),
    ),
    _listed(
        "regret", "Regret of UCB and W-UCB", "Appendix D, Figure 3", "regret",
        (2.3, Size(rounds=50_000, runs=100)), (40.0, Size(rounds=1_000_000, runs=100)),
    ),
    _listed(
        "setup-regret", "Setup(*): values and regret", "Appendix D, Figure 4", "regret",
        (1.1, Size(rounds=10_000, runs=100, estimates=100)), (11.0, Size(rounds=10_000, runs=1_000, estimates=400)),
    ),
    _listed(
        "budget", "Three arms at a fixed budget", "Appendix E-A, Table III", "best_arm",
        (2.8, Size(runs=100, estimates=100)), (33.0, Size(runs=1_000, estimates=400)),
    ),
    _listed(
        "confidence", "Three arms at a fixed confidence", "Appendix E-A, Figure 5", "best_arm",
        (3.0, Size(deltas=FEW, runs=100, exact_runs=20)), (8.0, Size(deltas=MANY, runs=100, exact_runs=100)),
    ),
    _listed(
        "setup-confidence", "Setup(*) at a fixed confidence", "Appendix E-A, Figure 6", "best_arm",
        (12.0, Size(deltas=FEW, runs=100, exact_runs=2)), (100.0, Size(deltas=MANY, runs=100, exact_runs=20)),
    ),
    _listed(
        "linear-regret", "Linear bandits: OFUL and W-OFUL", "Section V-A", "linear",
        (2.0, Size(rounds=20_000, runs=20)), (17.0, Size(rounds=100_000, runs=100)),
    ),
    _listed(
        "grid-network", "The 3x3 grid network: G-allocation and W-G", "Appendix E-B, Table IV", "linear",
        (9.0, Size(runs=5, estimates=50)), (230.0, Size(runs=100, estimates=400)),
    ),
    _listed("route-table", "The arithmetic of the route table", "Section VI, Table II", "routing", EXACT, EXACT),
    _listed(
        "bounds", "Bounds beside measurements", "Theorems 2 to 11", "theorems",
        (4.0, Size(rounds=20_000, runs=50)), (12.0, Size(rounds=100_000, runs=100)),
    ),
    _listed(
        "sharper", "The same problems, sharper", "Beyond the paper", "sharper",
        (16.0, Size(rounds=20_000, runs=50, linear_runs=10)), (80.0, Size(rounds=100_000, runs=100, linear_runs=50)),
    ),
    _listed(
        "vehicles", "Vehicular routing on a traffic simulator", "Section VI", "routing",
        (65.0, Size(rounds=20_000, runs=4, estimates=200, blocks=15)),
        (385.0, Size(rounds=50_000, runs=10, estimates=400, blocks=60)),
    ),
)  # fmt: skip
BY_NAME = {experiment.name: experiment for experiment in EXPERIMENTS}
