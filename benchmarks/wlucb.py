"""W-LUCB's proofs on the simulators: up to half an hour for one search, so each is made once, and kept as pools are."""

from __future__ import annotations

import json
import sys
from time import process_time

from allais import WLUCB, best_arm
from benchmarks.pools import KEPT, Pool, table_of
from benchmarks.search import DELTA, SIMULATORS, objectives

MOST = 500_000  # runs of one search


def recorded(name: str, kind: str) -> dict[str, float]:
    """One search by W-LUCB: its runs, whether its answer was good enough and it settled, and its seconds of CPU."""
    path = KEPT / f"wlucb-{name}-{kind.replace(' ', '-')}.json"
    if not path.exists():
        _, indifference, reference, bounds = SIMULATORS[name]
        preference, (table, _) = objectives(reference, costs=True)[kind], table_of(name)
        slack = 2.0 * indifference if kind.startswith("CVaR") else indifference
        values = Pool(table).true_values(preference)
        policy = WLUCB(preference, bounds, delta=DELTA, tolerance=slack)
        best_arm(policy, Pool(table), seed=0, max_samples=1_000)  # compiles
        begin = process_time()
        answer = best_arm(policy, Pool(table), seed=0, max_samples=MOST)
        found = {
            "runs": float(answer.samples),
            "good": float(values[int(str(answer.arm))] >= values.max() - slack),
            "settled": float(answer.settled),
            "seconds": process_time() - begin,
        }
        path.write_text(json.dumps(found), encoding="utf-8")
        print(f"recorded {path}", flush=True)
    return dict(json.loads(path.read_text(encoding="utf-8")))


if __name__ == "__main__":  # python -m benchmarks.wlucb emergency mean
    print(recorded(sys.argv[1], sys.argv[2]))
