"""How long a caller waits, in minutes, under four ways to run a call centre: one run, one caller."""

import heapq

MORNING = 60.0  # minutes until the caller that is observed
LONGEST = 30.0  # then the caller hangs up
BETWEEN_CALLS, TALK = 1.0, 4.5  # minutes, on average
SHORT_STAFFED = 0.05  # the share of mornings on which only half of the team turns up
PLANS = {"five agents": 5, "six agents": 6, "four and a promise": 4, "seven agents, slower": 7}
PROMISE = 6.0  # minutes after which a caller is rung back by another team, if there is a queue
SLOWER = 1.1  # beginners take longer


def wait(plan, rng):
    """The wait of a caller who rings after an hour."""
    agents = PLANS[plan]
    if rng.random() < SHORT_STAFFED:
        agents = (agents + 1) // 2
    talk = TALK * (SLOWER if "slower" in plan else 1.0)
    free_at = [0.0] * agents  # when each agent has finished with all calls so far
    queue = []  # when each caller who waits is helped or hangs up
    now = 0.0
    while True:
        now = min(now + rng.exponential(BETWEEN_CALLS), MORNING)
        queue = [end for end in queue if end > now]
        if "promise" in plan and queue:
            waited = PROMISE
        else:
            waited = min(max(free_at[0] - now, 0.0), LONGEST)
            queue.append(now + waited)
            if waited < LONGEST:
                heapq.heapreplace(free_at, now + waited + rng.exponential(talk))
        if now == MORNING:
            return waited
