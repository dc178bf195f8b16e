"""Simulators at the top of a module, so that other processes find them."""

import os
import subprocess
import sys
import time

ARMS = ["A", "B", "C"]
CHANCE = {"A": 0.9, "B": 0.4, "C": 0.2}


def coin(arm, rng):
    """A gain of 1 or a loss of 1, at once."""
    return 1.0 if rng.random() < CHANCE[arm] else -1.0


def slow_coin(arm, rng):
    """The same, after 20 ms; losses take twice as long."""
    outcome = coin(arm, rng)
    time.sleep(0.02 if outcome > 0 else 0.04)
    return outcome


def broken(arm, rng):
    """Crashes on every third run or so."""
    if rng.random() < 0.3:
        raise ZeroDivisionError("no such plan")
    return coin(arm, rng)


def crashing(arm, rng):
    """Crashes on every run."""
    raise ZeroDivisionError("always")


def always_lose(arm, rng):
    """A loss of 1, whatever the arm."""
    return -1.0


def dying(arm, rng):
    """Takes its worker with it."""
    os._exit(1)


def starting_others(path, rng):
    """Starts two programs, one of them in a session of its own, writes down all three processes, and hangs."""
    sleeper = [sys.executable, "-c", "import time; time.sleep(600)"]
    others = [subprocess.Popen(sleeper, start_new_session=own).pid for own in (False, True)]
    with open(f"{path}.{os.getpid()}.new", "w") as file:
        print(os.getpid(), *others, file=file)
    os.rename(file.name, f"{path}.{os.getpid()}.pids")
    time.sleep(600)


if __name__ == "__main__":  # as an external program: arm, seed
    import numpy as np

    if sys.argv[3:] == ["others"]:
        starting_others(sys.argv[1], None)
    print(coin(sys.argv[1], np.random.default_rng(int(sys.argv[2]))))
