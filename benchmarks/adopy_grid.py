"""adopy's grid on a task of two-outcome lotteries; run by a Python that has adopy, with a task file and a result file.

adopy 0.4.1 names `np.int` and `np.float`, which NumPy has no longer since 1.24: there they are put back before it is
imported. Nothing else is changed; with NumPy 1.23 and SciPy 1.10, those of its days, it also takes half the time.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from typing import Any

import numpy as np

PATCHED = np.lib.NumpyVersion(np.__version__) >= "1.24.0"
if PATCHED:
    for _name, _kind in (("int", int), ("float", float)):
        setattr(np, _name, _kind)


def main() -> None:
    import adopy  # type: ignore[import-not-found]  # it needs an environment of its own

    with open(sys.argv[1]) as file:
        task = json.load(file)
    sides = [[np.array(column) for column in zip(*side, strict=True)] for side in task["sides"]]

    def value(side: Any, index: Any, eta: Any, alpha: Any, aversion: Any) -> Any:
        high, p, low = (column[index.astype(int)] for column in sides[side])

        def utility(x: Any) -> Any:
            size = np.abs(x) ** alpha
            return np.where(x < 0, -aversion * size, size)

        def weight(q: Any) -> Any:
            return q**eta / (q**eta + (1 - q) ** eta) ** (1 / eta)

        gains = utility(low) + (utility(high) - utility(low)) * weight(p)
        losses = utility(high) + (utility(low) - utility(high)) * weight(1 - p)
        mixed = weight(p) * utility(high) + weight(1 - p) * utility(low)
        return np.where(low >= 0, gains, np.where(high <= 0, losses, mixed))

    def log_likelihood(choice: Any, index: Any, eta: Any, alpha: Any, aversion: Any, temperature: Any) -> Any:
        natural = [np.exp(z) for z in (alpha, aversion, temperature)]
        low, high = task["eta"]
        eta = low + (high - low) / (1.0 + np.exp(-eta))
        a, b = (value(side, index, eta, *natural[:2]) for side in (0, 1))
        distance = np.where(choice == 1, a - b, b - a) / natural[2]
        return -np.logaddexp(0.0, -distance)

    names = ["eta", "alpha", "aversion", "temperature"]
    described = adopy.Task(designs=["index"], responses=["choice"])
    model = adopy.Model(task=described, params=names, func=log_likelihood)
    grid = {name: np.array(nodes) for name, nodes in zip(names, task["nodes"], strict=True)}
    engine = adopy.Engine(described, model, {"index": np.arange(len(sides[0][0]))}, grid, {"choice": [0, 1]})
    at_first = ("_marg_log_lik", "_ent_marg", "_ent_cond", "_mutual_info")
    prior = {name: getattr(engine, name) for name in at_first}  # for all people the same
    means, asked, seconds = [], [], []
    for chances, draws in zip(task["chances"], task["draws"], strict=True):
        engine.log_post = np.copy(engine.log_prior)
        for name, known in prior.items():
            setattr(engine, name, known)
        mine = []
        for draw in draws:
            started = time.process_time()
            design = engine.get_design("optimal")
            index = round(design["index"])
            engine.update(design, {"choice": int(draw < chances[index])})
            seconds.append(time.process_time() - started)
            mine.append(index)
        means.append(engine.post_mean.tolist())
        asked.append(mine)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
    found = {"means": means, "asked": asked, "seconds": seconds, "memory": memory, "numpy": np.__version__,
             "patched": PATCHED}  # fmt: skip
    with open(sys.argv[2], "w") as file:
        json.dump(found, file)


if __name__ == "__main__":
    main()
