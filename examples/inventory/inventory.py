"""A shop's month as a program of its own: `inventory.py --plan 20-60 --seed 7` prints its cost as JSON.

Plan s-S: when the stock falls to s, order up to S. Demand is even, but now and then a fair doubles it.
"""

import argparse
import json
import random

DAYS, MOST = 30, 3000.0
HOLDING, ORDER, LOST_SALE = 0.5, 40.0, 15.0  # cost of an item a day, of an order, of a customer sent away
FAIR = 0.006  # chance a day that a fair begins; it lasts five days and trebles the demand


def cost(reorder, target, rng):
    """What a month costs: items held, orders made, customers sent away."""
    stock, arriving, fair, total = target, [], 0, 0.0
    for day in range(DAYS):
        stock += sum(size for due, size in arriving if due == day)
        fair = 5 if rng.random() < FAIR else max(fair - 1, 0)
        demand = rng.randint(5, 15) * (3 if fair else 1)
        total += LOST_SALE * max(demand - stock, 0)
        stock = max(stock - demand, 0)
        on_order = sum(size for due, size in arriving if due > day)
        if stock + on_order <= reorder:
            arriving.append((day + 3, target - stock - on_order))
            total += ORDER
        total += HOLDING * stock
    return min(total, MOST)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--plan", required=True)
    parser.add_argument("--seed", type=int, required=True)
    arguments = parser.parse_args()
    reorder, target = map(int, arguments.plan.split("-"))
    print(json.dumps({"plan": arguments.plan, "cost": cost(reorder, target, random.Random(arguments.seed))}))
