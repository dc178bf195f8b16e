"""Simulators of the benchmark `search`: an inventory, a queueing network, and a flow line of many options.

- The (s, S) inventory of simopt's documentation (after Kleijnen et al. 2008): full backlogging, demand of a day
  exponential with mean 100, lead times Poisson with mean 6 days, an order that is placed in the evening arrives in the
  morning l + 1 days later. A day costs 1 per unit on hand and 4 per unit owed; an order costs 36, and 2 per unit. A run
  is 20 days of warm-up and 100 days that count, from a stock of s; its outcome is the cost per day. 50 options: s from
  600 to 1000 in steps of 100, and S from 1050 to 1500 in steps of 50.
- The queueing network is a small emergency department (ciw): patients arrive every 6 minutes on average and see a
  nurse (5 minutes on average); 40 % go home, 35 % see a doctor (20 minutes), 25 % have an X-ray (15 minutes) and see a
  doctor then. Eleven people are to be shared out: nurses, doctors, and machines with their staff. A run is a shift of
  8 hours; its outcome is the mean time that those who left were there.
- The flow line is that of Pichitlamken, Nelson and Hong (2006), which PyPRS runs: three stations with exponential
  service at rates s1 + s2 + s3 = L, places b2 + b3 = L before and at stations 2 and 3, work without end before station
  1. A run has 2,000 jobs of warm-up; its outcome is the throughput of the next 50. L = 30 has 11,774 options, L = 50
  has 57,624.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numba
import numpy as np

from allais._checks import FloatArray, IntArray

INVENTORY = [(s, S) for s in range(600, 1001, 100) for S in range(1050, 1501, 50)]
DAYS, WARM = 100, 20
STAFF = [(nurses, doctors, 11 - nurses - doctors) for nurses in (1, 2, 3) for doctors in (4, 5, 6, 7)]
SHIFT = 480.0  # minutes
JOBS, WARM_JOBS = 50, 2_000


def inventory(option: tuple[int, int], rng: np.random.Generator) -> float:
    """The cost per day of one run."""
    days = DAYS + WARM
    return float(_stock(option[0], option[1], rng.exponential(100.0, days), rng.poisson(6.0, days)))


@numba.njit(cache=True)
def _stock(s, S, demand, lead):  # type: ignore[no-untyped-def]  # noqa: N803  # a kernel; (s, S) is its name
    days = demand.size
    arriving = np.zeros(days + 64)
    stock, ordered, cost = float(s), 0.0, 0.0
    for day in range(days):
        stock += arriving[day]
        ordered -= arriving[day]
        stock -= demand[day]
        today = max(stock, 0.0) + 4.0 * max(-stock, 0.0)
        position = stock + ordered
        if position < s:
            order = S - position
            today += 36.0 + 2.0 * order
            ordered += order
            arriving[min(day + lead[day] + 1, days + 63)] += order
        if day >= WARM:
            cost += today
    return cost / DAYS


def emergency(option: tuple[int, int, int], rng: np.random.Generator) -> float:
    """The mean minutes that patients stay, of one shift."""
    import ciw

    ciw.seed(int(rng.integers(2**31)))
    simulation = ciw.Simulation(_department(option))
    simulation.simulate_until_max_time(SHIFT)
    records = simulation.get_all_records()
    first: dict[int, float] = {}
    last: dict[int, float] = {}
    for record in records:
        first[record.id_number] = min(first.get(record.id_number, np.inf), record.arrival_date)
        if record.destination == -1:
            last[record.id_number] = record.exit_date
    return float(np.mean([left - first[patient] for patient, left in last.items()]))


@cache
def _department(option: tuple[int, int, int]) -> Any:
    import ciw

    exponential, never = ciw.dists.Exponential, None
    return ciw.create_network(
        arrival_distributions=[exponential(1 / 6), never, never],
        service_distributions=[exponential(1 / 5), exponential(1 / 20), exponential(1 / 15)],
        routing=[[0.0, 0.35, 0.25], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]],
        number_of_servers=list(option),
    )


def flow_lines(total: int) -> list[tuple[int, int, int, int, int]]:
    """The options of a flow line: rates s1, s2, s3 and places b2, b3.

    >>> len(flow_lines(30)), len(flow_lines(50))
    (11774, 57624)
    """
    rates = [(a, b, total - a - b) for a in range(1, total - 1) for b in range(1, total - a)]
    return [(*rate, places, total - places) for rate in rates for places in range(1, total)]


def throughput(option: tuple[int, int, int, int, int], rng: np.random.Generator) -> float:
    """The throughput of one run."""
    return float(_line(*option, rng.standard_exponential((WARM_JOBS + JOBS, 3))))


@numba.njit(cache=True)
def _line(s1, s2, s3, b2, b3, work):  # type: ignore[no-untyped-def]  # a kernel
    """Times at which jobs leave each station: a job waits for work on it, for the one before it, and for a place."""
    jobs = work.shape[0]
    second, third = np.zeros(jobs), np.zeros(jobs)  # when jobs left stations 2 and 3
    one = two = three = begin = 0.0
    for job in range(jobs):
        one += work[job, 0] / s1
        if job >= b2:
            one = max(one, second[job - b2])  # a place at station 2 is free once that job has left it
        two = max(one, two) + work[job, 1] / s2
        if job >= b3:
            two = max(two, third[job - b3])
        three = max(two, three) + work[job, 2] / s3
        second[job], third[job] = two, three
        if job == WARM_JOBS - 1:
            begin = three
    return JOBS / (three - begin)


def shared_throughput(rates: IntArray, work: FloatArray) -> FloatArray:
    """The throughput of many options under the same random numbers, one row of `rates` for each."""
    return np.asarray(_lines(rates, work))


@numba.njit(cache=True)
def _lines(rates, work):  # type: ignore[no-untyped-def]  # a kernel
    found = np.zeros(rates.shape[0])
    for k in range(rates.shape[0]):
        found[k] = _line(rates[k, 0], rates[k, 1], rates[k, 2], rates[k, 3], rates[k, 4], work)
    return found
