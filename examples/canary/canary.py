"""`python canary.py`: nine days of a service with two versions, written to log.csv; the canary is 10 % slower.

Each customer is sent to one version, and makes several requests.
"""

import csv
import random
from datetime import datetime, timedelta

START, DAYS, CUSTOMERS = datetime(2026, 11, 1), 9, 6_000


def main() -> None:
    """Write the log, in the order of time."""
    rng, requests = random.Random(1), []
    for customer in range(CUSTOMERS):
        version = rng.choice(["control", "canary"])
        usual = 90.0 * rng.lognormvariate(0.0, 0.25) * (1.1 if version == "canary" else 1.0)
        first = rng.uniform(0.0, DAYS)
        for _ in range(rng.randint(1, 7)):
            when = START + timedelta(days=rng.uniform(first, DAYS))
            slow = 4.0 if rng.random() < 0.01 else 1.0
            ms = usual * slow * rng.lognormvariate(0.0, 0.35)
            requests.append((when.isoformat(" ", "seconds"), version, f"c{customer}", f"{ms:.1f}"))
    with open("log.csv", "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["time", "variant", "customer", "ms"])
        rows.writerows(sorted(requests))
    print(f"log.csv: {len(requests):,} requests")


if __name__ == "__main__":
    main()
