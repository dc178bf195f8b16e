"""The file of `allais serve`: where it listens, where the data is, what callers may, and experiments to begin."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import Field, ValidationError

from allais.serve.api.schemas import ExperimentName, ExperimentSettings, Strict


class Limits(Strict):
    """What one caller may ask for."""

    requests_per_second: Annotated[float, Field(gt=0)] = 10_000.0  # of each key
    wrong_keys_per_minute: Annotated[float, Field(ge=1)] = 60.0  # from each address
    answers_per_minute: Annotated[float, Field(ge=1)] = 120.0  # by each link to an interview
    body_bytes: Annotated[int, Field(ge=1_000)] = 1_000_000
    head_bytes: Annotated[int, Field(ge=1_000)] = 32_768  # of the address and the headers of a request
    head_seconds: Annotated[float, Field(gt=0)] = 10.0  # until they are complete
    body_seconds: Annotated[float, Field(gt=0)] = 60.0  # until a body has come, or what is sent is read on
    idle_seconds: Annotated[int, Field(ge=1)] = 5  # of a connection between two requests
    connections: Annotated[int, Field(ge=1)] = 1_000
    connections_per_address: Annotated[int, Field(ge=1)] = 500  # a proxy is one address


Told = Literal["verdict", "guardrail", "drift"]


class Webhook(Strict):
    """An address that is told about verdicts, guardrails and drift."""

    url: Annotated[str, Field(pattern=r"^https?://[^/?#\s@]+(/\S*)?$")]
    secret_file: str  # by whose content messages are signed
    events: list[Told] = Field(default_factory=lambda: list(get_args(Told)))
    experiments: list[ExperimentName] | None = None  # all, if it is left out
    retry_seconds: Annotated[float, Field(gt=0)] = 5.0  # until the second attempt; each later pause is twice as long
    give_up_hours: Annotated[float, Field(gt=0)] = 72.0


Origin = Annotated[str, Field(pattern=r"^https?://[^/\s*]+$")]  # as browsers send it: without a path


class ServerSettings(Strict):
    """All of the file; every entry may be left out."""

    database: str = "advisor.db"  # the path of a file, or postgresql://...
    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65_535)] = 8420
    only: list[ExperimentName] | None = None  # the experiments of this process; all, if it is left out
    snapshot_every: Annotated[int, Field(ge=100)] = 20_000  # events
    request_log: bool = False  # a line per request: method, route, status, milliseconds, name of the key, id
    log_format: Literal["text", "json"] = "text"
    origins: list[Origin] = Field(default_factory=list)  # the sites whose pages may call from a browser
    limits: Limits = Limits()
    webhooks: dict[ExperimentName, Webhook] = Field(default_factory=dict)  # by a name of the operator's
    experiments: dict[ExperimentName, ExperimentSettings] = Field(default_factory=dict)


def read_settings(path: Path | None) -> ServerSettings:
    """The settings that a file has, or the usual ones."""
    if path is None:
        return ServerSettings()
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"the settings of a service are a TOML file; {path} cannot be read ({error}).") from None
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path}: settings must be TOML; {error}. Repair that line.") from None
    try:
        return ServerSettings.model_validate(content)
    except ValidationError as error:
        others = error.error_count() - 1
        more = f" There are {others} more mistakes." if others > 1 else " There is one more mistake." if others else ""
        raise ValueError(f"{path}: {sentence_of(error.errors())}{more}") from None


def sentence_of(errors: Sequence[Any]) -> str:
    """What is wrong with what came, in one sentence about the first of the errors that pydantic found."""
    first = errors[0]
    if first["type"] == "json_invalid":
        return f"a body must be JSON; this one is not ({first['ctx']['error']}). Repair it."
    place = ".".join(str(part) for part in first["loc"] if part != "body") or "what was sent"
    said = "there is no such entry" if first["type"] == "extra_forbidden" else str(first["msg"])
    return f"{place}: {said[:1].lower()}{said[1:]}. Check it against the schema."
