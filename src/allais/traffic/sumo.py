"""Run the programs of Eclipse SUMO, each in a process of its own, so that a crash is an error and not the end."""

from __future__ import annotations

import gzip
import importlib.util
import re
import subprocess
import zlib
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from xml.etree import ElementTree

from allais._system.processes import guard, marked_environment
from allais.errors import MissingExtra, ToolFailed

MISSING = "traffic needs Eclipse SUMO, which is not installed. Run in the folder of allais: pip install '.[traffic]'."
TOLD = 400  # characters of a failed program's last words that an error repeats
OURS = re.compile(r"[^\s'\"]*[/\\]allais-\w+-\w+[/\\]")  # folders that are gone when somebody reads this


class SumoMissingError(MissingExtra):
    """Eclipse SUMO is not installed."""


class SumoError(ToolFailed):
    """A program of Eclipse SUMO failed."""


def is_installed() -> bool:
    """Whether the programs are there."""
    found = importlib.util.find_spec("sumo")
    return found is not None and found.origin is not None  # a folder of that name is no package


def program(name: str) -> str:
    """The path of a program of the eclipse-sumo package."""
    if not is_installed():
        raise SumoMissingError(MISSING)
    import sumo

    return str(Path(sumo.SUMO_HOME, "bin", name))


def run(name: str, arguments: Sequence[str | Path]) -> str:
    """Run a program to its end; what it warned about."""
    command = [program(name), *map(str, arguments)]
    home = str(Path(command[0]).parents[1])  # where it looks for its own data
    known = {**marked_environment(guard().mark()), "SUMO_HOME": home}  # it ends with this process, however that ends
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=known)
    if done.returncode != 0:
        ended = f"signal {-done.returncode}" if done.returncode < 0 else f"return code {done.returncode}"
        told = [
            line for line in done.stderr.splitlines() if not line.startswith("Warning")
        ]  # a warning is not why it failed
        words = OURS.sub("", " ".join(" ".join(told).split()))[-TOLD:].strip(" .") or ended
        raise SumoError(f"{name} must end well; it failed ({words}). Check the network, the demand and the memory.")
    return done.stderr


def version() -> str:
    """The version of SUMO: the same seed gives the same delays with the same version only."""
    program("sumo")  # says what to install
    return metadata.version("eclipse-sumo")


PACKED = b"\x1f\x8b"  # how a .gz begins


def read_text(path: str | Path, thing: str) -> str:
    """The text of a file, unpacked if it is a .gz."""
    try:
        content = Path(path).read_bytes()
        return (gzip.decompress(content) if content.startswith(PACKED) else content).decode("utf-8-sig")
    except UnicodeDecodeError:
        reason = "it is not text"
    except (EOFError, zlib.error, gzip.BadGzipFile):
        reason = "its packing is damaged"
    except OSError as error:
        reason = str(error.strerror)
    raise ValueError(f"{thing} is read from a file; {path} cannot be read ({reason}). Check the path.")


def parsed(content: str, thing: str, name: str) -> ElementTree.Element:
    """The root of an XML text."""
    try:
        return ElementTree.fromstring(content)
    except (ElementTree.ParseError, ValueError) as error:  # a ValueError: an encoding that nobody knows
        raise ValueError(f"{thing} must be whole XML; {name} is damaged ({error}). Make it again.") from None
