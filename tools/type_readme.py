"""`python -m tools.type_readme [WHEEL]`: does what README.md says, line by line, in an empty environment.

Its first `pip install` gets the wheel that is named, or this repository. Then the Python examples run, and every line
that begins with `allais`, each in a copy of the examples. Lines of `make`, and those whose comment speaks of minutes,
are left out.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
EXAMPLES = """
import doctest, sys
flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
failed, tried = doctest.testfile(sys.argv[1], module_relative=False, optionflags=flags)
sys.exit(bool(failed) or not tried)
"""


def lines_of(readme: str, word: str) -> list[str]:
    """The lines of the code blocks that begin with a word and take no minutes, without their comments.

    >>> lines_of("```\\nallais value 7:1  # what it is worth\\nallais traffic run  # minutes\\n```\\n", "allais")
    ['allais value 7:1']
    """
    blocks = [block for language, block in BLOCK.findall(readme) if not language]
    lines = [line.partition("#") for block in blocks for line in block.splitlines()]
    return [line.strip() for line, _, comment in lines if line.startswith(f"{word} ") and "minute" not in comment]


def empty_environment(folder: Path) -> tuple[Path, dict[str, str]]:
    """Make an environment without packages: the folder of its programs, and the variables as after `activate`."""
    subprocess.run([sys.executable, "-m", "venv", str(folder / "empty")], check=True)
    programs = folder / "empty" / ("Scripts" if os.name == "nt" else "bin")
    known = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    return programs, known | {
        "ALLAIS_CACHE_DIR": str(folder / "cache"),
        "MPLBACKEND": "Agg",
        "PATH": os.pathsep.join([str(programs), known["PATH"]]),
        "PIP_CONSTRAINT": str(ROOT / "constraints.txt"),
        "PYTHONUTF8": "1",
    }


def typed(command: list[str], folder: Path, environment: dict[str, str]) -> None:
    """Run one command; if it fails, say what it printed, and stop."""
    print("$", shlex.join([Path(command[0]).name, *command[1:]])[:110], flush=True)
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        said = done.stdout + done.stderr
        raise SystemExit(f"a line of the README must run; this one ended with {done.returncode}.\n{said}")


def type_readme(package: str, folder: Path) -> int:
    """Install a wheel or a folder into an empty environment, and do what the README says; return how many lines ran."""
    readme = README.read_text(encoding="utf-8")
    programs, environment = empty_environment(folder)
    suffix = ".exe" if os.name == "nt" else ""
    shutil.copytree(ROOT / "examples", folder / "copy" / "examples")
    installs, commands = lines_of(readme, "pip"), lines_of(readme, "allais")
    if not installs or not commands:
        raise SystemExit("the README must say how to install and what to type; no such lines were found in it.")
    for line in installs:
        words = [word.replace(".[", f"{package}[", 1) for word in shlex.split(line)[1:]]
        typed([str(programs / f"python{suffix}"), "-m", "pip", *words, "--quiet"], ROOT, environment)
    typed([str(programs / f"python{suffix}"), "-c", EXAMPLES, str(README)], folder / "copy", environment)
    for line in commands:
        typed([str(programs / f"allais{suffix}"), *shlex.split(line)[1:]], folder / "copy", environment)
    return len(installs) + len(commands)


def main() -> None:
    """Type the README with the package that is named."""
    package = str(Path(sys.argv[1]).resolve()) if len(sys.argv) > 1 else str(ROOT)
    with tempfile.TemporaryDirectory() as folder:
        print(f"{type_readme(package, Path(folder))} lines of the README ran, and its examples.")


if __name__ == "__main__":
    main()
