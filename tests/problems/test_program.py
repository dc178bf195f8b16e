"""External programs as problems: no injection, rewards read, and every failure said in one sentence."""

import multiprocessing
import os
import resource
import shlex
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from allais import Bounded, Program, search, testing
from allais._system.processes import guard
from allais.errors import RunFailed
from allais.policies import SR
from allais.searches import Failures

PYTHON = sys.executable
ECHO = f"{PYTHON} -c 'import sys; print(sys.argv[1:]); print(len(sys.argv[1]))' {{arm}} {{seed}}"


def script(code):
    braces = code.replace("{", "{{").replace("}", "}}")
    return f"{PYTHON} -c {shlex.quote(braces)} {{arm}} {{seed}}"


def test_a_program_is_a_problem():
    problem = Program(script("import sys; print(float(sys.argv[2]) / 2**31)"), ["A", "B"])
    testing.check_problem(problem, draws=3)
    assert problem.run(0, 2**30) == 0.5
    assert problem.draw(1, np.random.default_rng(1), 2).shape == (2,)


def test_an_arms_name_never_becomes_a_command(tmp_path):
    names = [
        f"; touch {tmp_path}/evil",
        f"$(touch {tmp_path}/evil)",
        f"`touch {tmp_path}/evil`",
        "a b",
        "'",
        '"',
        "{seed}",
    ]
    problem = Program(ECHO, names)
    for arm, name in enumerate(names):
        assert problem.run(arm, 7) == len(name)  # one word, as it is
    assert not (tmp_path / "evil").exists()


def test_the_reward_is_read_from_the_last_line_or_from_json():
    assert Program(script("print('warming up'); print(' 1e3 ')"), 1).run(0, 1) == 1000.0
    whole = script("""print('{"mean": {"delay": [3, 4.5]},'); print('"x": 1}')""")
    assert Program(whole, 1, field="mean.delay.1").run(0, 1) == 4.5
    last = script("""print('loading'); print('{"delay": 7}')""")
    assert Program(last, 1, field="delay").run(0, 1) == 7.0


def test_the_seed_reaches_the_program_and_the_folder_is_where_it_runs(tmp_path):
    problem = Program(script("import os, sys; open('seen', 'w').write(sys.argv[2]); print(0)"), 1, folder=str(tmp_path))
    problem.run(0, 123)
    assert (tmp_path / "seen").read_text() == "123"


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (Program(script("print('done')"), 1), "reward as a number on its last line; .* printed 'done' last"),
        (Program(script("print('nan')"), 1), "printed 'nan' last"),
        (Program(script("pass"), 1), "printed '' last"),
        (Program(script("print('{}')"), 1, field="delay"), "in the JSON field 'delay'"),
        (Program(script("print('true')"), 1, field="0"), "in the JSON field '0'"),
        (Program(script("import sys; sys.exit('out of fuel')"), 1), r"exit code 0; .* ended with 1 \(out of fuel\)"),
        (Program("./no-such-program {arm} {seed}", 1), "a program must start; .*No such file"),
        (Program(script("import time; time.sleep(60)"), 1, time_limit=0.2), "must end within 0.2 s"),
    ],
)
def test_a_run_that_gives_no_reward_says_why(problem, message):
    with pytest.raises(RunFailed, match=message):
        problem.run(0, 1)


def test_a_time_limit_ends_what_the_program_started_too(tmp_path):
    child = tmp_path / "child.py"
    child.write_text("import os, sys, time; open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(60)")
    parent = tmp_path / "parent.py"
    parent.write_text(f"import subprocess; subprocess.run([{PYTHON!r}, {str(child)!r}, {str(tmp_path / 'pid')!r}])")
    for limit in (3, 30):  # on a busy machine the child may not have begun in the first
        with pytest.raises(RunFailed, match="must end within"):
            Program(f"{PYTHON} {parent} {{arm}} {{seed}}", 1, time_limit=limit).run(0, 1)
        if (tmp_path / "pid").exists():
            break
    assert is_gone(int((tmp_path / "pid").read_text()))


def is_gone(*pids):
    """Whether processes end soon: a killed orphan is gone when its new parent has noticed."""
    for _ in range(600):
        if not any(map(_alive, pids)):
            return True
        time.sleep(0.05)
    return False


LEAVES_CHILDREN = """
import os, subprocess, sys, time
def child(**more):
    silent = dict(stdin=-3, stdout=-3, stderr=-3)
    return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], **silent, **more).pid
with open(sys.argv[1] + ".new", "w") as file:
    print(child(), child(start_new_session=SESSION), file=file)
os.rename(sys.argv[1] + ".new", sys.argv[1])
"""


def test_what_a_program_leaves_in_the_background_ends_with_its_run(tmp_path):
    code = LEAVES_CHILDREN.replace("SESSION", "False") + "print(7)"
    problem = Program(f"{PYTHON} -c {shlex.quote(code)} {tmp_path}/pids {{arm}} {{seed}}", 1)
    assert problem.run(0, 1) == 7.0
    assert is_gone(*map(int, (tmp_path / "pids").read_text().split()))


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="finds what left its group in /proc")
def test_a_time_limit_ends_what_left_the_group_of_the_program(tmp_path):
    code = LEAVES_CHILDREN.replace("SESSION", "True") + "time.sleep(600)"
    for limit in (3, 30):  # on a busy machine the children may not have begun in the first
        problem = Program(f"{PYTHON} -c {shlex.quote(code)} {tmp_path}/pids {{arm}} {{seed}}", 1, time_limit=limit)
        with pytest.raises(RunFailed, match=f"must end within {limit} s"):
            problem.run(0, 1)
        if (tmp_path / "pids").exists():
            break
    assert is_gone(*map(int, (tmp_path / "pids").read_text().split()))


def test_closing_ends_the_runs_of_other_threads():
    problem = Program(script("import time; time.sleep(600)"), 1)
    with ThreadPoolExecutor(2) as threads:
        runs = [threads.submit(problem.run, 0, seed) for seed in (1, 2)]
        while len(problem._running) < 2:
            time.sleep(0.01)
        problem.close()
        for run in runs:
            with pytest.raises(RunFailed, match="ended with -9"):
                run.result(timeout=60)
    with pytest.raises(RunFailed, match="must be open to be run"):
        problem.run(0, 1)


def test_a_guard_that_was_killed_is_replaced(tmp_path):
    kept = guard()
    Program(script("print(1)"), 1).run(0, 1)
    first = kept._process.pid
    os.kill(first, signal.SIGKILL)
    assert is_gone(first)
    Program(script("print(1)"), 1).run(0, 1)
    assert kept._process.pid != first
    assert _alive(kept._process.pid)


def test_a_fork_has_a_guard_of_its_own_and_its_runs_end_with_it(tmp_path):
    """The parent lives on: the guard of the fork must not wait for it."""
    Program(script("print(1)"), 1).run(0, 1)  # the parent has a guard
    code = LEAVES_CHILDREN.replace("SESSION", "True") + "time.sleep(600)"
    problem = Program(f"{PYTHON} -c {shlex.quote(code)} {tmp_path}/pids {{arm}} {{seed}}", 1)
    process = multiprocessing.get_context("fork").Process(target=problem.run, args=(0, 1))
    process.start()
    while not (tmp_path / "pids").exists():
        time.sleep(0.05)
    process.kill()
    process.join()
    assert is_gone(*map(int, (tmp_path / "pids").read_text().split()))


def test_of_a_long_output_the_end_is_kept_and_memory_does_not_grow():
    loud = "import sys\nfor _ in range(150): sys.stdout.write('x' * 2**20 + '\\n'); sys.stderr.write('y' * 2**18)\n"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert Program(script(loud + "print(7)"), 1).run(0, 1) == 7.0
    with pytest.raises(RunFailed, match=r"ended with 3 \(y{200}\)"):
        Program(script(loud + "sys.exit(3)"), 1).run(0, 1)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 60 * 1024  # kB, of 150 MB and more that were printed twice


def test_a_reward_is_not_read_from_a_line_that_was_cut_off():
    long = script("print('1' * 100_000)")
    with pytest.raises(RunFailed, match=r"printed '' last \(of 100,001 bytes, the last 65,536 are kept\)"):
        Program(long, 1).run(0, 1)
    many = script("print('[' + '0, ' * 50_000); print('7]')")
    with pytest.raises(RunFailed, match=r"printed '7\]' last \(of 150,005 bytes"):
        Program(many, 1, field="50000").run(0, 1)
    last = script("print('x' * 10**6); print('[' + '0, ' * 10_000 + '7]')")
    assert Program(last, 1, field="10000").run(0, 1) == 7.0


def test_a_time_limit_of_centuries_is_none():
    assert Program(script("print(7)"), 1, time_limit=1e10).run(0, 1) == 7.0
    assert Program(script("print(7)"), 1, time_limit=1e300).run(0, 1) == 7.0


def test_the_output_of_a_failed_run_is_for_the_log(tmp_path):
    code = "import sys; print('at step 3'); print('no fuel', file=sys.stderr); sys.exit(2)"
    policy = SR(budget=6, rewards=Bounded(0, 1))
    with pytest.raises(
        RunFailed, match=r"ended with 2 \(no fuel\)\. Repair it\. What it printed is in .*runs.failures.log"
    ):
        search(policy, Program(script(code), 2), seed=1, journal=tmp_path / "runs.jsonl")
    text = (tmp_path / "runs.failures.log").read_text()
    assert "-- standard output\nat step 3\n-- standard error\nno fuel\n" in text


def _alive(pid):
    status = Path(f"/proc/{pid}/stat")
    if Path("/proc").exists():
        return status.exists() and status.read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_retry_has_the_same_seed_and_is_counted_as_one_run(tmp_path):
    flaky = tmp_path / "flaky.py"
    flaky.write_text(
        "import pathlib, sys\n"
        "mark = pathlib.Path(sys.argv[0]).with_name('-'.join(sys.argv[1:]))\n"
        "if not mark.exists():\n    mark.touch(); sys.exit(3)\n"
        "print(int(sys.argv[2]) % 2)\n"
    )
    problem = Program(f"{PYTHON} {flaky} {{arm}} {{seed}}", ["A", "B"])
    policy = SR(budget=6, rewards=Bounded(0, 1))
    with pytest.raises(RunFailed, match="ended with 3"):
        search(policy, problem, seed=1, failures=Failures(retries=0))
    answer = search(policy, problem, seed=2, failures=Failures(retries=1))
    assert answer.settled
    assert answer.failures == ()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Program("sim {arm} {seed} {plan}", 2), r"may hold {arm} and {seed}; got {plan}"),
        (lambda: Program("sim {arm} {seed.__class__}", 2), r"got {seed.__class__}"),
        (lambda: Program("sim {arm!r} {seed}", 2), r"got {arm!r}"),
        (lambda: Program("sim {seed:05d} {arm}", 2), r"got {seed:05d}"),
        (lambda: Program("sim {} {arm} {seed}", 2), r"got {}"),
        (lambda: Program("sim {arm}", 2), "needs {seed}, or every run would be the same"),
        (lambda: Program("sim {seed}", 2), "needs {arm}"),
        (lambda: Program("sim 'open {arm} {seed}", 2), "words as a shell splits them"),
        (lambda: Program("sim {arm {seed}", 2), "words as a shell splits them"),
        (lambda: Program("", 2), "must name a program; got nothing"),
        (lambda: Program("sim {arm} {seed}", ["--help"]), "begins with a dash would be read as an option"),
        (lambda: Program("sim {arm} {seed}", ["a\0b"]), "without null characters"),
        (lambda: Program("sim {arm} {seed}", 2, time_limit=0), "time_limit must be above 0"),
    ],
)
def test_a_wrong_command_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
    Program("sim --plan={arm} {seed}", ["--help"])  # harmless there
