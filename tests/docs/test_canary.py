"""The page about a canary, typed as it stands: its commands print what it shows."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

from typer.testing import CliRunner

from allais.cli.app import app

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "canary.md").read_text(encoding="utf-8")
SESSIONS = re.findall(r"^```console\n\$ (.*?)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_page_s_commands_print_what_it_shows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    subprocess.run([sys.executable, str(ROOT / "examples" / "canary" / "canary.py")], check=True)
    log = (tmp_path / "log.csv").read_text(encoding="utf-8").splitlines()
    assert "\n".join(log[:3]) in PAGE
    assert len(SESSIONS) == 2
    for command, shown in SESSIONS:
        name, *arguments = shlex.split(command)
        assert name == "allais"
        assert CliRunner().invoke(app, arguments).output == shown
    assert (tmp_path / "page.html").exists()
