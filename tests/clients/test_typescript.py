"""The client for JavaScript and TypeScript: its own tests by node against a real service, its package, its README."""

import json
import os
import re
import shutil
import subprocess
import tarfile
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from allais.serve.settings_file import ServerSettings
from tests.browser import chromium
from tests.serve.conftest import ROUTES, Caller

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "clients" / "typescript"


def required(found, what):
    """A program or a folder; without it a test is skipped, unless node is required."""
    if found is None or not Path(found).exists():
        if os.environ.get("ALLAIS_NODE") == "required":
            pytest.fail(f"these tests need {what}, which was not found: install it, or leave ALLAIS_NODE out")
        pytest.skip(f"no {what} was found: the client for JavaScript is not tested")
    return str(found)


def node():
    return required(shutil.which("node"), "node")


def installed():
    """The packages that only the development of the client needs."""
    return Path(required(PACKAGE / "node_modules", f"{PACKAGE.name}/node_modules (npm ci in {PACKAGE.name})"))


def run(*command, cwd=PACKAGE, **environment):
    done = subprocess.run(
        command, cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def caller(tmp_path_factory):
    """A service with the experiment of the README; pages of one other site may call it."""
    database = str(tmp_path_factory.mktemp("service") / "advisor.db")
    with Caller(ServerSettings(database=database)) as client:
        client.create("to-work")
        yield client


def of(caller):
    return {"ALLAIS_ADDRESS": str(caller.base_url), "ALLAIS_KEY": caller.key}


def test_the_tests_of_the_client_pass_against_a_service(caller):
    said = run(node(), "--test", "--test-reporter=tap", "test/client.test.js", **of(caller))
    assert re.search(r"^# pass 10$", said, re.MULTILINE), said


def test_the_providers_work_in_the_sdks_of_openfeature(caller):
    installed()
    said = run(node(), "--test", "--test-reporter=tap", "test/openfeature.test.js", **of(caller))
    assert re.search(r"^# pass 5$", said, re.MULTILINE), said


def test_the_types_are_those_of_the_source_and_programs_compile_with_them(tmp_path):
    tsc = str(installed() / "typescript" / "bin" / "tsc")
    run(node(), tsc, "--project", "tsconfig.json", "--outDir", str(tmp_path), "--emitDeclarationOnly")
    for made in tmp_path.iterdir():
        packed = (PACKAGE / "types" / made.name).read_text(encoding="utf-8")
        assert packed == made.read_text(encoding="utf-8"), f"{made.name} is old: run `npm run types`"
    run(node(), tsc, "--project", "test/tsconfig.json")


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    """A folder in which the package is installed as `npm pack` makes it."""
    folder = tmp_path_factory.mktemp("packed")
    npm = required(shutil.which("npm"), "npm")
    run(npm, "pack", "--offline", "--ignore-scripts", "--pack-destination", str(folder))
    (archive,) = folder.glob("*.tgz")
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    (folder / "node_modules").mkdir()
    (folder / "package").rename(folder / "node_modules" / "allais")
    return folder


def test_the_package_has_what_it_needs_and_nothing_else(packed):
    here = packed / "node_modules" / "allais"
    files = {str(path.relative_to(here)) for path in here.rglob("*") if path.is_file()}
    assert files == {
        "LICENSE", "README.md", "package.json", "src/index.js", "src/openfeature.js", "types/index.d.ts",
        "types/openfeature.d.ts",
    }  # fmt: skip
    about = json.loads((here / "package.json").read_text())
    assert "dependencies" not in about
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert about["version"] == newest[1]
    assert (here / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()


def test_the_lock_names_no_registry():
    lock = (PACKAGE / "package-lock.json").read_text()
    assert "integrity" in lock
    assert "resolved" not in lock
    assert "://" not in re.sub(r'"url": "[^"]*"', "", lock)


def test_the_readme_runs_as_it_is_typed(packed, caller):
    shutil.copytree(installed() / "@openfeature", packed / "node_modules" / "@openfeature")
    text = (PACKAGE / "README.md").read_text(encoding="utf-8")
    typed = "\n".join(re.findall(r"^```js\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    typed = typed.replace("http://127.0.0.1:8420", str(caller.base_url)).replace("alk_...", caller.key)
    (packed / "typed.mjs").write_text(typed, encoding="utf-8")
    before = caller.get("/v1/experiments/to-work").json()["outcomes"]
    said = run(node(), "typed.mjs", cwd=packed).splitlines()
    assert len(said) == 4
    assert "404 an experiment must exist; there is no 'no-such-experiment'" in said[2]
    assert said[3] in ROUTES["arms"]
    assert caller.get("/v1/experiments/to-work").json()["outcomes"] == before + 2


class Quiet(SimpleHTTPRequestHandler):
    """Serves the source of the client as the pages of another site would."""

    def log_message(self, *_):
        pass


CALLING = """async ([address, key]) => {
    const { Client } = await import("/src/index.js");
    const advisor = new Client(address, key, { tries: 1 });
    try {
        const choice = await advisor.decide("to-work");
        await advisor.reward("to-work", choice, 7);
        return (await advisor.recommend("to-work")).arm;
    } catch (error) {
        return `${error.status} ${error.message}`;
    }
}"""


def test_a_page_of_a_site_that_is_allowed_calls_from_a_browser(tmp_path):
    with (
        ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(PACKAGE))) as pages,
        chromium() as browser,
    ):
        serving = threading.Thread(target=pages.serve_forever, args=(0.01,))
        serving.start()
        address = f"http://127.0.0.1:{pages.server_address[1]}"
        said = {}
        with Caller(ServerSettings(database=str(tmp_path / "advisor.db"), origins=[address])) as caller:
            caller.create("to-work")
            for other in (False, True):
                view = browser.new_page()
                view.goto(f"{address.replace('127.0.0.1', 'localhost') if other else address}/package.json")
                said[other] = view.evaluate(CALLING, [str(caller.base_url), caller.key])
                view.close()
                assert caller.get("/v1/experiments/to-work").json()["outcomes"] == 1
            for path, site_of in (("/v1/experiments", "https://elsewhere.test"), ("/sign-in", address)):
                plain = caller.get(path, headers={"Origin": site_of})
                assert plain.status_code == 200
                assert "access-control-allow-origin" not in plain.headers
        pages.shutdown()
        serving.join()
    assert said[False] in ROUTES["arms"]
    assert "does not answer" in said[True]  # which is all that a browser tells a page about it
