"""The experiments of the paper at a small size: every one runs, and its findings have the status that is known."""

from dataclasses import asdict

import numpy as np
import pytest

from allais.bands import Holder
from allais.paper.experiments import BY_NAME, EXPERIMENTS, SCALES, ExperimentResult, Size
from allais.paper.measure import stops
from allais.paper.problems import PEOPLE, RANGE_SETUP, RANGE_THREE, SETUP, THREE, printed_statements
from allais.policies import WLUCB, WUCB
from allais.preferences import Preference
from allais.simulation import simulate
from allais.weights import Prelec

SMALL = {
    "introduction": Size(),
    "weight": Size(),
    "route-table": Size(),
    "estimator": Size(runs=200, samples=(100, 1_000)),
    "regret": Size(rounds=20_000, runs=20),
    "setup-regret": Size(rounds=10_000, runs=20, estimates=20),
    "budget": Size(runs=20, estimates=20),
    "confidence": Size(deltas=(0.1, 0.01), runs=20, exact_runs=5),
    "linear-regret": Size(rounds=20_000, runs=5),
    "grid-network": Size(runs=2, estimates=20),
}


def test_every_experiment_has_a_name_of_its_own_and_both_scales():
    assert len(BY_NAME) == len(EXPERIMENTS) == 14
    for experiment in EXPERIMENTS:
        assert tuple(experiment.sizes) == tuple(experiment.seconds) == SCALES


@pytest.mark.parametrize("name", SMALL)
def test_findings_have_the_status_that_is_known(name):
    shares = []
    result = BY_NAME[name].result(SMALL[name], 1, shares.append)
    assert [finding.claim for finding in result.findings if not finding.as_expected] == []
    assert result.findings
    assert result.figures
    assert shares == sorted(shares)
    assert ExperimentResult.from_document(asdict(result)) == result


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("bounds", Size(rounds=5_000, runs=20)),
        ("sharper", Size(rounds=20_000, runs=20, linear_runs=10)),
        ("setup-confidence", Size(deltas=(0.1,), runs=20, exact_runs=2)),
    ],
)
def test_findings_of_the_longer_ones_have_the_status_that_is_known(name, size):
    result = BY_NAME[name].result(size, 1)
    assert [one.claim for one in result.findings if not one.as_expected] == []


def test_printed_statements_of_the_theory_are_decided_by_a_number():
    found = printed_statements()
    assert [finding.erratum for finding in found] == [None, 12, 13, 16, 17, 17, 19]
    assert all(finding.as_expected for finding in found)


def test_the_same_seed_gives_the_same_result_and_another_seed_another():
    size = Size(rounds=500, runs=3, estimates=3)
    first, again, other = (BY_NAME["setup-regret"].result(size, seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_the_regret_of_wucb_on_setup_star_is_not_logarithmic_yet():
    # 20 runs: a logarithm would grow by a third in the last decade; the measured factor is 8.0, some 100 errors away
    results = simulate(WUCB.as_printed(PEOPLE, RANGE_SETUP), SETUP, 10_000, 20, seed=1, checkpoints=[1_000, 10_000])
    assert results.mean_regret[1] > 4.0 * results.mean_regret[0]


def test_the_valid_widths_take_hundreds_of_millions_of_samples():
    found = stops(THREE, PEOPLE, RANGE_THREE, 0.1, 5, np.random.default_rng(1))
    assert (found.samples > 2e8).all()
    assert (found.arm == 0).all()


def test_batches_stop_when_the_rule_in_every_round_does():
    # the mean of 200 runs has a standard error of 1 %: five of them, and the batches' own share
    settings = Holder(undistorted=True)
    batched = stops(
        SETUP, PEOPLE, RANGE_SETUP, 0.1, 200, np.random.default_rng(1), undistorted_widths=True
    ).samples  # fmt: skip
    policy = WLUCB(PEOPLE, RANGE_SETUP, delta=0.1, band=settings)
    exact = simulate(policy, SETUP, 10**7, 200, seed=1, checkpoints=[10**7]).samples
    spread = np.hypot(*(one.std(ddof=1) / np.sqrt(one.size) for one in (batched, exact)))
    assert abs(batched.mean() - exact.mean()) < 0.015 * exact.mean() + 5.0 * spread
    assert spread < 0.02 * exact.mean()


def test_batches_refuse_losses_and_weights_without_a_pair():
    rng = np.random.default_rng(1)
    with pytest.raises(ValueError, match="batches are for rewards of 0 or more"):
        stops(SETUP, Preference(PEOPLE.gains, costs=True), RANGE_SETUP, 0.1, 1, rng)
    with pytest.raises(ValueError, match="need a Hölder weight"):
        stops(SETUP, Preference(Prelec(0.65)), RANGE_SETUP, 0.1, 1, rng)
