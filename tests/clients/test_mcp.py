"""The MCP server, by the SDK's own client: over standard input and output as assistants start it, and in memory."""

import asyncio
import sys
from pathlib import Path

import pytest

from allais.serve.settings_file import ServerSettings
from tests.serve.conftest import Caller

SPEC = """
seed = 1

[problem.lotteries]
A = "50:0.1,0:0.9"
B = "7:1"

[preference]
gains = { type = "TverskyKahneman", eta = 0.61 }

[rewards]
type = "Bounded"
low = 0
high = 50

[policy]
type = "WSR"
budget = 40
"""


def client_of(server):
    from mcp import Client  # here: all workers collect this module, and one of them runs it

    return Client(server)


def make_server(*given, **settings):
    from allais.mcp import make_server as make

    return make(*given, **settings)


def started(*words, **environment):
    """A server as an assistant starts it."""
    from mcp import StdioServerParameters
    from mcp.client.stdio import stdio_client

    source = str(Path(__file__).parents[2] / "src")
    command = ["-m", "allais.cli", "mcp", *words]
    return stdio_client(
        StdioServerParameters(command=sys.executable, args=command, env={"PYTHONPATH": source, **environment})
    )


async def called(client, tool, **given):
    answer = await client.call_tool(tool, given)
    assert not answer.is_error, answer.content
    return answer.structured_content


async def refused(client, tool, **given):
    answer = await client.call_tool(tool, given)
    assert answer.is_error
    return answer.content[0].text


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with Caller(ServerSettings(database=str(tmp_path_factory.mktemp("mcp") / "advisor.db"))) as caller:
        caller.create(test={"shares": {"A21": 1, "A28": 1}})
        for k in range(40):
            answer = caller.ask()
            caller.tell(answer["choice"], 7.0 + k % 3 + (10.0 if answer["arm"] == "A28" else 0.0))
        yield caller


def test_an_assistant_values_lotteries_and_plans_a_test_over_stdio(service):
    async def run():
        async with client_of(started("--service", str(service.base_url), ALLAIS_KEY=service.key)) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert (await called(client, "show_experiment", experiment="routes"))["outcomes"] == 40
            assert all(tool.annotations.read_only_hint for tool in tools.values())
            assert "50:0.1,0:0.9" in tools["value_lotteries"].description
            found = await called(client, "value_lotteries", lotteries=["50:0.1,0:0.9", "7:1"])
            assert (found["preferred"], found["the_mean_prefers"]) == ("50:0.1,0:0.9", "7:1")
            first = found["lotteries"][0]
            assert first["mean"] == 5.0
            assert first["certainty_equivalent"] == pytest.approx(9.32, abs=0.01)
            assert "9.3" in first["in_words"]
            tail = await called(client, "value_lotteries", lotteries=["200:0.9,900:0.1", "250:1"], preference="p95",
                                costs=True)  # fmt: skip
            assert tail["preferred"] == "250:1"
            plan = await called(client, "plan_test", outcomes=[1.0, 2.0, 3.0, 4.0] * 50, change=0.1, per_day=1000)
            assert plan["days"] == pytest.approx(plan["units_of_each_group"] / 1000)
            assert "day" in plan["in_words"]
            said = await refused(client, "value_lotteries", lotteries=["50:0.1"])
            assert "probabilit" in said
            assert "a change is a share" in await refused(client, "plan_test", outcomes=[1.0, 2.0], change=0)

    asyncio.run(run())


def test_an_assistant_reads_experiments_and_changes_none(service):
    async def run():
        async with client_of(make_server(str(service.base_url), service.key, Path())) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            assert not names & {"create_experiment", "change_state", "start_search", "stop_search"}
            found = await called(client, "list_experiments")
            assert [one["name"] for one in found["result"]] == ["routes"]
            assert (await called(client, "show_experiment", experiment="routes"))["outcomes"] == 40
            assert (await called(client, "recommend", experiment="routes"))["arm"] == "A28"
            assert len((await called(client, "values_of_arms", experiment="routes"))["arms"]) == 2
            verdict = await called(client, "verdict", experiment="routes")
            assert verdict["verdicts"][0]["group"] == "A28"
            evaluation = await called(client, "evaluation", experiment="routes", by=["p95"])
            assert evaluation["targets"]
            plan = await called(client, "plan_test_of_experiment", experiment="routes", arm="A21", change=0.1)
            assert plan["units_of_each_group"] > 10
            assert "an experiment must exist" in await refused(client, "verdict", experiment="none")
            assert "has none" in await refused(
                client, "plan_test_of_experiment", experiment="routes", arm="x", change=1
            )
            answer = await client.call_tool("create_experiment", {"name": "mine", "settings": {}})
            assert answer.is_error

    asyncio.run(run())


def test_with_writes_an_assistant_creates_and_pauses_experiments(service):
    settings = {
        "policy": {"type": "NPTS"}, "arms": ["a", "b"], "preference": {"name": "expected_value"},
        "rewards": {"type": "Bounded", "low": 0.0, "high": 1.0}, "seed": 1,
    }  # fmt: skip

    async def run():
        server = make_server(str(service.base_url), service.key, allow_writes=True)
        async with client_of(server) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert not tools["create_experiment"].annotations.read_only_hint
            assert (await called(client, "create_experiment", name="mine", settings=settings))["state"] == "running"
            assert (await called(client, "change_state", experiment="mine", to="pause"))["state"] == "paused"
            assert (await called(client, "change_state", experiment="mine", to="resume"))["state"] == "running"
            said = await refused(client, "create_experiment", name="mine", settings=settings)
            assert "experiments must have distinct names" in said

    asyncio.run(run())


def test_with_writes_an_assistant_runs_a_search_from_a_spec(tmp_path):
    (tmp_path / "search.toml").write_text(SPEC)
    (tmp_path / "wrong.toml").write_text("[problem]\n")

    async def run():
        async with client_of(make_server(folder=tmp_path, allow_writes=True)) as client:
            begun = await called(client, "start_search", spec="search.toml")
            assert begun["state"] == "running"
            found = {"state": "running"}
            while found["state"] == "running":
                found = await called(client, "search_status", spec="search.toml", wait_seconds=60)
            assert found["state"] == "ended with code 0", found["said"]
            assert found["said"].startswith('Choose "A".')
            assert found["lines_in_journal"] > 10
            assert Path(begun["report"]).exists()
            await called(client, "start_search", spec="wrong.toml")
            wrong = await called(client, "search_status", spec="wrong.toml", wait_seconds=60)
            assert wrong["state"] == "ended with code 2"
            assert wrong["said"].startswith("error: ")
            for outside in ("../search.toml", "/etc/hosts", "none.toml"):
                assert "a spec is a TOML file within" in await refused(client, "start_search", spec=outside)
            assert "only a running search" in await refused(client, "stop_search", spec="search.toml")

    asyncio.run(run())
