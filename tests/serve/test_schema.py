"""Whatever fits the document of the API, and whatever does not, is answered: never by a mistake of ours."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable

from allais.serve.api.http import API_VERSION
from allais.serve.running import make_app
from allais.serve.settings_file import ServerSettings
from tests.serve.conftest import Caller


def test_no_call_ends_in_a_mistake_of_the_service(tmp_path):
    with Caller(ServerSettings(database=str(tmp_path / "advisor.db"))) as caller:
        examine_all(caller, examples=1)


@pytest.mark.slow
def test_no_call_of_many_ends_in_a_mistake_of_the_service(calling):
    with calling() as caller:
        examine_all(caller, examples=15)  # more find nothing more


def examine_all(caller, examples) -> None:
    """So many calls of each kind of every operation."""
    import schemathesis  # here: both workers collect this module, and one of them runs it

    caller.create()
    for _ in range(5):
        caller.ask()
    document = caller.get("/openapi.json").json()
    schema = schemathesis.openapi.from_dict(document)
    schema.config.update(base_url=str(caller.base_url))
    for found in schema.get_all_operations():
        operation = found.ok()
        if (operation.method, operation.path) == ("delete", "/v1/keys/{id}"):
            continue  # it would revoke the key of this test
        for mode in schemathesis.GenerationMode:
            examine(operation, mode, caller, examples)


def examine(operation, mode, caller, examples) -> None:
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi import checks

    every = [checks.status_code_conformance, checks.content_type_conformance, checks.response_schema_conformance]

    @settings(
        max_examples=examples, deadline=None, derandomize=True, database=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(case=operation.as_strategy(generation_mode=mode))
    def one(case) -> None:
        if mode.is_positive and "name" in case.path_parameters:
            case.path_parameters["name"] = "routes"  # a random name would be unknown
        response = case.call(headers={"Authorization": f"Bearer {caller.key}"}, timeout=120)
        case.validate_response(response, checks=[not_a_server_error, *every])
        if response.status_code >= 400:
            assert response.json()["error"].endswith((".", "KEY."))

    with contextlib.suppress(Unsatisfiable):  # nothing can be wrong about a call that takes nothing
        one()


def test_the_page_of_versions_has_every_call_and_the_version_of_the_answers():
    page = (Path(__file__).parents[2] / "docs" / "reference" / "http-api.md").read_text(encoding="utf-8")
    assert re.search(r"^## (\S+)", page, re.MULTILINE)[1] == API_VERSION
    listed = set(re.findall(r"`((?:GET|POST|PUT|PATCH|DELETE) /\S+)`", page.partition("\n## ")[2]))
    paths = make_app(ServerSettings()).app.openapi()["paths"]
    assert listed == {f"{verb.upper()} {path}" for path, verbs in paths.items() for verb in verbs}
