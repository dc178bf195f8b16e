"""How long a caller waits, in minutes, under four ways to run a call centre: one run, one caller."""

import simpy

MORNING = 60.0  # minutes until the caller that is observed
LONGEST = 30.0  # then the caller hangs up
BETWEEN_CALLS, TALK = 1.0, 4.5  # minutes, on average
SHORT_STAFFED = 0.04  # the share of mornings on which only half of the team turns up
PLANS = {"five agents": 5, "six agents": 6, "four and a promise": 4, "seven agents, slower": 7}
PROMISE = 6.0  # minutes after which a machine calls back, if the queue is long
SLOWER = 1.2  # beginners take longer


def wait(plan, rng):
    """The wait of the caller who rings after an hour."""
    env = simpy.Environment()
    agents = PLANS[plan]
    if rng.random() < SHORT_STAFFED:
        agents = (agents + 1) // 2
    desk = simpy.Resource(env, capacity=agents)
    talk = TALK * (SLOWER if "slower" in plan else 1.0)
    observed = env.event()

    def call(observe):
        start = env.now
        if "promise" in plan and len(desk.queue) >= 1:
            yield env.timeout(PROMISE)  # the caller is rung back then, by an agent from another team
            if observe:
                observed.succeed(PROMISE)
            return
        with desk.request() as turn:
            yield turn | env.timeout(LONGEST)
            if observe:
                observed.succeed(min(env.now - start, LONGEST))
            yield env.timeout(rng.exponential(talk))

    def calls():
        while env.now < MORNING:
            yield env.timeout(rng.exponential(BETWEEN_CALLS))
            env.process(call(observe=False))
        env.process(call(observe=True))

    env.process(calls())
    return float(env.run(until=observed))
