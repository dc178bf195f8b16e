"""Who looks at a page: a cookie that stands for a key, and forms that no other site can send.

The cookie holds no key: it is a random text by which this process knows the key and until when it counts. Signing out
ends it here, so that a copy opens nothing; so does revoking the key. After a restart one signs in again.
"""

from __future__ import annotations

import math
import secrets
import time
from typing import Any
from urllib.parse import parse_qs, urlsplit

from fastapi import Request, Response
from pydantic import TypeAdapter, ValidationError

from allais.serve.api.http import service_of
from allais.serve.core.errors import Refused
from allais.serve.core.evaluations import MOST_PREFERENCES, Wanted
from allais.serve.core.keys import Key, digest_of

COOKIE = "allais_session"
LASTS = 12 * 3600  # seconds
MOST = 10_000  # browsers that are signed in at a time
MOST_FIELDS = 100  # of a form
PREFERENCES = {
    "tversky_kahneman": "what people feel (prospect theory)",
    "expected_value": "the mean",
    "cvar": "the worst 10%",
}
POLICIES = {"NPTS": "NPTS, which learns fastest", "WUCB": "W-UCB, which keeps intervals"}


class SignInNeeded(Exception):  # noqa: N818
    """Nobody is signed in."""


class Sessions:
    """The browsers that are signed in."""

    def __init__(self) -> None:
        # by the digest of a cookie, so that the time of a lookup tells nothing: the key's id, and until when
        self._begun: dict[str, tuple[str, float]] = {}

    def begin(self, request: Request, response: Response, key: Key) -> None:
        """Sign in a browser that has shown a key."""
        named = secrets.token_urlsafe(32)
        self._begun[digest_of(named)] = (key.id, time.monotonic() + LASTS)
        if len(self._begun) > MOST:
            del self._begun[next(iter(self._begun))]
        secure = is_secure(request)
        response.set_cookie(COOKIE, named, max_age=LASTS, httponly=True, samesite="strict", secure=secure)

    def end(self, request: Request, response: Response) -> None:
        """Sign a browser out, and everyone with a copy of its cookie."""
        self._begun.pop(digest_of(request.cookies.get(COOKIE, "")), None)
        response.delete_cookie(COOKIE, httponly=True, samesite="strict")

    def viewer(self, request: Request, scope: str, about: str | None) -> Key:
        """The key of the viewer."""
        id_, until = self._begun.get(digest_of(request.cookies.get(COOKIE, "")), ("", 0.0))
        if until < time.monotonic():
            raise SignInNeeded
        try:
            return service_of(request).ring.admit_known(id_, scope, about)
        except Refused as refusal:
            if refusal.status == 401:
                raise SignInNeeded from None
            raise


def is_secure(request: Request) -> bool:
    """Whether a browser came by https, to us or to the proxy before us."""
    return request.url.scheme == "https" or request.headers.get("x-forwarded-proto") == "https"


async def form_of(request: Request) -> dict[str, str]:
    """What a form of the dashboard sent; forms of other sites are refused."""
    origin = request.headers.get("origin")
    site = request.headers.get("sec-fetch-site", "same-origin")
    ours = urlsplit(origin).netloc == request.headers.get("host") if origin else site in ("same-origin", "none")
    if not ours or site not in ("same-origin", "none"):
        raise Refused(403, "a form must come from this page; this one came from another site. Open the page itself.")
    try:
        fields = parse_qs((await request.body()).decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS)
    except ValueError:
        raise Refused(422, "invalid form. Reload the page.") from None
    return {name: given[0].strip() for name, given in fields.items()}


def settings_of(form: dict[str, str]) -> dict[str, Any]:
    """The settings of a new experiment, as the form says them."""
    low, high = number_of(form, "low"), number_of(form, "high")
    named = form.get("preference", "")
    if named not in PREFERENCES or form.get("policy") not in POLICIES:
        raise Refused(422, "invalid form. Reload the page.")
    preference: dict[str, Any] = {"name": named, "costs": bool(form.get("costs"))}
    preference["reference"] = number_of(form, "reference") if form.get("reference") else 0.0
    if named == "cvar":
        preference["level"] = 0.1
    return {
        "policy": {"type": form["policy"]},
        "arms": [line.strip() for line in form.get("arms", "").splitlines() if line.strip()],
        "preference": preference,
        "rewards": {"type": "Bounded", "low": low, "high": high},
        "unit": form.get("unit", ""),
    }


def wanted_of(form: dict[str, str]) -> Wanted:
    """What is to be evaluated, as the form says it: names of preferences, a floor such as 5%, and a person."""
    names = tuple(part.strip() for part in form["by"].split(",") if part.strip())
    if len(names) > MOST_PREFERENCES:
        raise Refused(422, f"at most {MOST_PREFERENCES} preferences are evaluated; got {len(names)}. Leave some out.")
    floor = form["floor"].strip()
    least = number_of({"floor": floor.replace("%", "e-2")}, "floor") if floor else None
    if least is not None and not 0.0 <= least <= 1.0:
        raise Refused(422, f"a floor is a probability; got {floor[:40]}. Write 5%.")
    return Wanted(names, least, form["person"].strip() or None)


def number_of(form: dict[str, str], name: str) -> float:
    """A number of a form."""
    try:
        found = float(form.get(name, ""))
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise Refused(422, f"an outcome is a number; got {form.get(name, '')[:40]!r}. Write one.")
    return found


def fits(kind: Any, text: str) -> bool:
    """Whether a text is of a kind: the name of an experiment, or of a person."""
    try:
        TypeAdapter(kind).validate_python(text)
    except ValidationError:
        return False
    return True
