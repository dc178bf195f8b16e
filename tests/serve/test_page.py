"""The examples of the page about the service run as they stand."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path

from allais.serve.workers import compile_ahead
from tests.serve.processes import Served

PAGE = (Path(__file__).parents[2] / "docs" / "serving.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)


def test_the_examples_of_the_page_answer_what_it_says(tmp_path):
    settings = tomllib.loads(blocks("toml")[0])
    compile_ahead()  # else the interview is put off
    served = Served(tmp_path, str(tmp_path / "advisor.db"), settings["experiments"]["routes"])
    try:
        known = {"URL": served.address, "KEY": served.key, "AUTH": f"Authorization: Bearer {served.key}"}
        commands, answers = blocks("bash"), blocks("json")
        assert len(commands) == len(answers) > 5
        for command, answer in zip(commands, answers, strict=True):
            lines = re.split(r"\n(?=curl|ID=)", command)
            said = "\n".join(lines).replace("\ncurl", "\necho; curl")  # answers of JSON end without a new line
            done = subprocess.run(
                ["bash", "-c", said],
                cwd=tmp_path,
                env={**os.environ, **known},
                capture_output=True,
                text=True,
                check=False,
            )
            heard = [line for line in done.stdout.splitlines() if line]
            assert heard == answer.splitlines(), done.stderr
    finally:
        served.kill()
