"""What tests cost, in CPU time: `python -m pytest -p tests.cpu_times`, with any other options.

Stopwatch times of a busy machine say little. What is counted is the CPU time of the process that runs a test and of the
processes that it started and waited for; what outlives a test, such as a server of PostgreSQL, counts where it ends.
"""

from __future__ import annotations

import resource
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

SHOWN = 40  # files, and tests


class CPUTimes:
    """The CPU seconds of tests and of their files."""

    def __init__(self) -> None:
        self.last = 0.0
        self.tests, self.files = Counter[str](), Counter[str]()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Iterator[None]:
        """Note in the report of each part of a test what was used since the one before; the first has the imports."""
        report: Any = yield
        used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        now = sum(one.ru_utime + one.ru_stime for one in used)
        report.cpu, self.last = now - self.last, now
        return report

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Add a report up; under xdist, in the process that waits for the others."""
        self.tests[report.nodeid] += report.cpu
        self.files[report.nodeid.partition("::")[0]] += report.cpu

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Show what costs most."""
        terminalreporter.section(f"CPU time: {self.files.total():.0f} s, {len(self.tests)} tests")
        for counted in (self.files, self.tests):
            for name, seconds in counted.most_common(SHOWN):
                terminalreporter.write_line(f"{seconds:7.2f} s  {name}")


def pytest_configure(config: pytest.Config) -> None:
    """Register what counts."""
    config.pluginmanager.register(CPUTimes())
