"""Common random numbers: one seed for run r of every option, refused where a promise needs independent options."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pytest

from allais import LUCB, WLUCB, WSR, Bounded, Finite, Normal, Preference, Simulator, TopTwo, TverskyKahneman, search
from allais.linear import AdditiveNoise, LinGapE
from allais.policies.core.base import setting
from allais.searches.asynchronous import with_common_numbers
from allais.searches.runs import Seeds
from tests.cli.test_best_arm import COIN as SPEC
from tests.cli.test_best_arm import run, runs_of
from tests.searches.simulators import ARMS, coin

PEOPLE = Preference(TverskyKahneman(0.8), TverskyKahneman(0.85))
SURE = WLUCB(PEOPLE, Bounded(-1, 1), delta=0.1)
COIN = Simulator(coin, ARMS)


@dataclass(frozen=True)
class Paired(WSR):
    """A policy that would compare runs by their number."""

    common_random_numbers: bool = setting(False)


def test_run_r_of_every_option_has_one_seed_and_no_two_runs_of_an_option_have():
    seeds = Seeds(np.random.SeedSequence(3), 5, common=True)
    own = Seeds(np.random.SeedSequence(3), 5)
    for number in (0, 1, 77):
        assert len({seeds.of(arm, number) for arm in range(5)}) == 1
        assert len({own.of(arm, number) for arm in range(5)}) == 5
    assert len({seeds.of(0, number) for number in range(1_000)}) == 1_000


def test_a_search_gives_options_the_same_random_numbers_and_its_journal_remembers(tmp_path):
    path = tmp_path / "runs.jsonl"
    with ThreadPoolExecutor(2) as executor:
        answer = search(SURE, COIN, seed=1, executor=executor, journal=path, common_random_numbers=True)
    header, *runs = [json.loads(line) for line in path.read_text().splitlines()]
    assert header["common_random_numbers"] is True
    by_number = {}
    for one in runs:
        by_number.setdefault(one["index"], set()).add(one["seed"])
    assert all(len(seeds) == 1 for seeds in by_number.values())
    assert answer.arm == "A"
    again = search(SURE, COIN, seed=1, journal=path, common_random_numbers=True)
    assert again.intervals == answer.intervals
    message = "those of .* were made with them, and this search is without. Use another journal, or the old setting"
    with pytest.raises(ValueError, match=message):
        search(SURE, COIN, seed=1, journal=path)
    search(SURE, COIN, seed=1, journal=tmp_path / "own.jsonl", max_runs=5)
    with pytest.raises(ValueError, match="were made without them, and this search is with"):
        search(SURE, COIN, seed=1, journal=tmp_path / "own.jsonl", common_random_numbers=True)


def test_a_test_that_multiplies_the_evidence_of_options_is_refused():
    message = r"make options dependent; \w+ multiplies their evidence"
    with pytest.raises(ValueError, match=message):
        search(TopTwo(PEOPLE, Finite([-1, 1]), delta=0.1), COIN, seed=1, common_random_numbers=True)
    with pytest.raises(ValueError, match=message):
        with_common_numbers(LinGapE(PEOPLE, AdditiveNoise(Normal(0, 1)), delta=0.1, beta=None))


def test_marginal_promises_stay_and_a_policy_with_the_setting_is_told():
    for policy in (SURE, LUCB(Bounded(-1, 1), delta=0.1), WSR(PEOPLE, budget=60)):
        assert with_common_numbers(policy) is policy
    paired = Paired(PEOPLE, budget=60)
    assert with_common_numbers(paired).common_random_numbers


def test_a_policy_that_compares_by_number_gets_common_seeds_without_being_asked(tmp_path):
    path = tmp_path / "runs.jsonl"
    search(Paired(PEOPLE, budget=60, common_random_numbers=True), COIN, seed=1, journal=path)
    header, *runs = [json.loads(line) for line in path.read_text().splitlines()]
    assert header["common_random_numbers"]
    assert len({one["seed"] for one in runs if one["index"] == 0}) == 1


def test_a_spec_and_the_command_line_ask_for_common_random_numbers(tmp_path):
    spec = tmp_path / "coin.toml"
    plain = SPEC.format(function="coin", policy="WSR", setting="budget = 60")
    spec.write_text(plain)
    assert run(spec, "--journal", tmp_path / "flag.jsonl", "--common-random-numbers").exit_code == 0
    spec.write_text(f"common_random_numbers = true\n{plain}")
    assert run(spec, "--dry-run").exit_code == 0
    result = run(spec, "--journal", tmp_path / "spec.jsonl")
    assert "30 pilot runs are used again" in result.output  # they had the common seeds
    for name in ("flag", "spec"):
        runs = runs_of(tmp_path / f"{name}.jsonl")
        assert len({one["seed"] for one in runs if one["index"] == 1}) == 1
    spec.write_text(f"common_random_numbers = 1\n{plain}")
    assert "line 1: common_random_numbers is true or false; got 1" in run(spec).output
