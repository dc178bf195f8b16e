"""Where a utility is flat, outcomes that feel alike are told apart by what was told."""

import json

import numpy as np
import pytest

from allais import NPTS, WUCB, Bounded, Learner, Preference, TverskyKahneman, ValueStream


def capped(x):
    """Gains beyond 2 and losses beyond -1 feel alike, and so do the smallest ones."""
    return np.clip(x - np.clip(x, -0.25, 0.25), -1.0, 2.0)


def by_the_minute(x):
    """Feelings that differ by whole steps only."""
    return np.floor(4.0 * np.abs(x)) * np.sign(x)


SAMPLES = np.random.default_rng(1).normal(size=5_000).round(3) * 2.0


def people(utility, costs):
    return Preference(TverskyKahneman(0.61), utility=utility, reference=0.1, costs=costs)


@pytest.mark.parametrize("utility", [capped, by_the_minute])
@pytest.mark.parametrize("costs", [False, True])
@pytest.mark.parametrize("way", ["one by one", "at once", "merged", "saved"])
def test_quantile_and_survival_go_by_what_was_told(utility, costs, way, tmp_path):
    stream = ValueStream(people(utility, costs))
    if way == "one by one":
        for sample in SAMPLES.tolist():
            stream.add(sample)
    else:
        stream.add_many(SAMPLES[:3_000])
        stream.add_many(SAMPLES[3_000:])
    if way == "merged":
        whole = ValueStream(people(utility, costs))
        whole.add_many(SAMPLES[:10])
        whole.merge(stream)
        samples, stream = np.append(SAMPLES, SAMPLES[:10]), whole
    else:
        samples = SAMPLES
    if way == "saved":
        stream.save(tmp_path / "stream.npz")
        stream = ValueStream.load(tmp_path / "stream.npz", trust=[__name__])
    for p in np.arange(1, 257) / 256:  # shares that are doubles, so that nobody rounds
        assert stream.quantile(p) == np.quantile(samples, p, method="inverted_cdf")
    for x in np.append(samples[:300], np.linspace(-8.0, 8.0, 101)):
        assert stream.survival(x) == pytest.approx((samples > x).mean(), abs=1e-15)


@pytest.mark.parametrize("utility", [capped, by_the_minute])
@pytest.mark.parametrize("costs", [False, True])
def test_a_learner_lists_every_outcome_once(utility, costs, tmp_path):
    learner = WUCB.as_printed(people(utility, costs), Bounded(-20, 20)).start(["A21", "A28"], seed=1)
    learner.observe("A21", SAMPLES)
    distinct, counts = np.unique(SAMPLES, return_counts=True)

    def listed(one):
        raw, seen = one.outcomes("A21")
        order = np.argsort(raw)
        return raw[order], seen[order]

    np.testing.assert_array_equal(listed(learner), (distinct, counts))
    learner.save(tmp_path / "learner.json")
    np.testing.assert_array_equal(listed(Learner.load(tmp_path / "learner.json", trust=[__name__])), (distinct, counts))
    for sample in SAMPLES[:2_000].tolist():
        learner.forget("A21", sample)
    rest, left = np.unique(SAMPLES[2_000:], return_counts=True)
    np.testing.assert_array_equal(listed(learner), (rest, left))
    with pytest.raises(ValueError, match="only an outcome that was seen can be forgotten"):
        learner.forget("A21", 19.5)


def test_a_file_that_lists_an_outcome_twice_opens_with_it_once():
    learner = NPTS(people(capped, False), Bounded(-20, 20)).start(["A21", "A28"], seed=1)
    learner.observe("A21", SAMPLES)
    document = json.loads(json.dumps(learner.snapshot()))
    arm = document["arms"][0]
    often = int(np.argmax(arm["counts"]))
    assert arm["counts"][often] > 1
    arm["counts"][often] -= 1
    for name, value in (("outcomes", arm["outcomes"][often]), ("felt", arm["felt"][often]), ("counts", 1)):
        arm[name].insert(often, value)
    from allais.files import checksum

    document["checksum"] = checksum(document)
    raw, counts = Learner.from_snapshot(document, trust=[__name__]).outcomes("A21")
    np.testing.assert_array_equal(raw, learner.outcomes("A21")[0])
    np.testing.assert_array_equal(counts, learner.outcomes("A21")[1])
