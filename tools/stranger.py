"""`python -m tools.stranger [WHEEL]`: the first ten minutes of a stranger, typed from the page, with a stopwatch.

The lines are those of docs/ten-minutes.md, in an empty environment and a copy of the examples and clients; what is
installed is the wheel, which is built before if none is named. Each section of the page is a row of its table: how
many commands, how many seconds, and how many CPU seconds the programs took. `--write` puts the table there.
"""

import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from tools.type_readme import ROOT, empty_environment

PAGE = ROOT / "docs" / "ten-minutes.md"
SECTION = re.compile(r"^## (.+?)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
LINES = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
ANSWERS = re.compile(r"^```text\n(.*?)^```", re.MULTILINE | re.DOTALL)
TABLE = re.compile(r"(?<=<!-- stopwatch -->\n\n)(?:\|.*\n)*")
KEY = re.compile(rb"alk_[\w-]+")
LONGEST = 300.0  # seconds until a service is up
DECIDED = (0, 1)  # exit codes of a verdict: 1 is "worse"


class Measured(NamedTuple):
    """A section of the page, typed."""

    name: str
    commands: int
    seconds: float
    cpu_seconds: float  # which other programs do not lengthen much


def sections(text: str) -> list[tuple[str, list[str]]]:
    """The sections of the page that have lines to type.

    >>> sections("## Install\\n```sh\\npip install .   # here\\n```\\n## More\\n")
    [('Install', ['pip install .'])]
    """
    return [(name, lines) for name, body in SECTION.findall(text) if (lines := lines_of(body))]


def lines_of(body: str) -> list[str]:
    """The lines of a section, without their comments."""
    return [line.partition("  #")[0].strip() for line in "".join(LINES.findall(body)).splitlines()]


def says(page: str, said: str) -> None:
    """Check that every answer on the page is what was printed: line breaks do not count, `...` is anything.

    >>> says("```text\\nChoose B. ... runs\\n```\\n", "Choose\\n B. It took 7 runs.")
    """
    for answer in ANSWERS.findall(page):
        wanted = r"\s.*?".join(re.escape(part) for part in " ".join(answer.split()).split(" ..."))
        if not re.search(wanted, " ".join(said.split())):
            raise SystemExit(f"the page must say what is printed; it says\n{answer}\nand this was printed:\n{said}")


class Terminal:
    """A folder, an environment, and the service that runs in another window."""

    def __init__(self, folder: Path, package: str) -> None:
        self.folder, self.package = folder / "copy", package
        self.folder.mkdir()
        shutil.copytree(ROOT / "examples", self.folder / "examples")
        left_out = shutil.ignore_patterns("node_modules")
        shutil.copytree(ROOT / "clients", self.folder / "clients", ignore=left_out)
        _, self.environment = empty_environment(folder)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.service: subprocess.Popen[bytes] | None = None

    def type(self, line: str) -> str:
        """Run one line of the page, and return what it printed; if it fails, say that, and stop."""
        print("$", line, flush=True)
        words = [word.replace(".[", f"{self.package}[", 1) for word in shlex.split(line)]
        if words[0] == "export":  # the key is the one that was printed
            return ""
        words[0] = shutil.which(words[0], path=self.environment["PATH"]) or words[0]
        if words[1] == "serve":
            return self._serve(words)
        done = subprocess.run(words, cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False)
        print(done.stdout[-400:].rstrip(), flush=True)
        if done.returncode not in (DECIDED if words[1] == "verdict" else (0,)):
            raise SystemExit(f"a line of the page must run; this one ended with {done.returncode}.\n{done.stderr}")
        return done.stdout

    def _serve(self, words: list[str]) -> str:
        """Start the service on a free port, and wait for its key and its address."""
        log = self.folder / "service.txt"
        with log.open("wb") as out:
            self.service = subprocess.Popen(
                [*words, "--port", str(self.port)], cwd=self.folder, env=self.environment, stdout=out, stderr=out
            )
        began = time.monotonic()
        while b"Serving" not in (said := log.read_bytes()) or not KEY.search(said):
            if self.service.poll() is not None or time.monotonic() - began > LONGEST:
                raise SystemExit(f"the service must start; it said {said.decode(errors='replace')!r}.")
            time.sleep(0.1)
        key = KEY.search(said)
        assert key is not None
        self.environment |= {"ALLAIS_KEY": key[0].decode(), "ALLAIS_ADDRESS": f"http://127.0.0.1:{self.port}"}
        return said.decode()

    def close(self) -> None:
        """End the service."""
        if self.service is not None:
            self.service.terminate()
            self.service.wait(30)
            self.service = None


def built(folder: Path) -> str:
    """Build the wheel in a folder."""
    subprocess.run([sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), str(ROOT)], check=True)
    (wheel,) = folder.glob("*.whl")
    return str(wheel)


def cpu_seconds() -> float:
    """What the programs so far took, those that have ended."""
    used = os.times()
    return used.children_user + used.children_system


def measured(wheel: str | None = None) -> list[Measured]:
    """Type the page, section by section."""
    found = []
    with tempfile.TemporaryDirectory() as place:
        terminal = Terminal(Path(place), wheel or built(Path(place)))
        try:
            for name, body in SECTION.findall(PAGE.read_text(encoding="utf-8")):
                began, before, lines = time.monotonic(), cpu_seconds(), lines_of(body)
                said = "\n".join(map(terminal.type, lines))
                seconds = time.monotonic() - began
                terminal.close()  # what a program took is known when it has ended
                if lines:
                    found.append(Measured(name, len(lines), seconds, cpu_seconds() - before))
                says(body, said)
        finally:
            terminal.close()
    return found


def table_of(rows: list[Measured]) -> str:
    """The table of the page."""
    _, *columns = zip(*rows, strict=True)
    whole = [*rows, Measured("in all", *map(sum, columns))]
    lines = [f"| {row.name} | {row.commands} | {row.seconds:.0f} | {row.cpu_seconds:.0f} |" for row in whole]
    return "\n".join(["| | commands | seconds | CPU seconds |", "|---|---|---|---|", *lines]) + "\n"


def main() -> None:
    """Measure, print, and write."""
    given = [word for word in sys.argv[1:] if word != "--write"]
    table = table_of(measured(str(Path(given[0]).resolve()) if given else None))
    print(table)
    if "--write" in sys.argv:
        PAGE.write_text(TABLE.sub(lambda _: table, PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
