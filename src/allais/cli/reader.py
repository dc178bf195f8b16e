"""A TOML file read table by table; what is wrong in it is refused with its line and the nearest right name."""

from __future__ import annotations

import inspect
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from allais._checks import MOST, brief, nearest, whole
from allais.lotteries import Lottery
from allais.lotteries.finite import lottery_of
from allais.policies import Guardrail
from allais.policies.choosing import AUTO, from_auto
from allais.policies.core.base import Policy
from allais.preferences import Preference
from allais.preferences.named import preference_named
from allais.problems import Bandit
from allais.settings import entries_of, family
from allais.weights import Mixed

# The values of these keys are themselves settings, each of a family.
NESTED = {
    **dict.fromkeys(("gains", "losses", "of"), "weight"),
    "utility": "utility",
    **dict.fromkeys(("band", "evidence"), "band"),
    "memory": "memory",
}

HIDDEN = ("preference", "rewards", "of_mean")  # parameters of a policy: tables of their own, or internal

Place = tuple[str, ...]


class Reader:
    """The tables of one file, and what can be made of them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"a spec is a TOML file; {path} cannot be read ({error}). Check the path.") from None
        try:
            self._whole: dict[str, Any] = tomllib.loads(self._text)
        except tomllib.TOMLDecodeError as error:
            raise ValueError(f"{path}: a spec must be TOML; {error}. Repair that line.") from None
        except RecursionError:
            raise ValueError(f"{path}: a spec's tables are nested too deeply. Flatten it.") from None
        except ValueError:  # one that is not from TOML itself
            raise ValueError(
                f"{path}: a spec holds numbers that can be read; one has thousands of digits. Shorten it."
            ) from None

    def require_tables(self, needed: Iterable[str], tables: Iterable[str], keys: Iterable[str]) -> None:
        """Refuse a file that lacks a table it needs, or has keys that nothing reads."""
        self._require_known(self._whole, (*keys, *tables), ())
        for name in needed:
            if name not in self._whole:
                self._refuse((), f"a spec needs a table [{name}]; there is none. Add it.")
        for name in tables:
            given = self._whole.get(name)
            if (name == "preference" and isinstance(given, str)) or (name == "rewards" and isinstance(given, list)):
                continue  # a name, or a file in the spec's folder; rewards of each arm
            if not isinstance(self._whole.get(name, {}), dict):
                self._refuse((name,), f"{name} must be a table; got {self._whole[name]!r}. Write [{name}].")

    def unit(self) -> str:
        """What outcomes are measured in; empty where the file does not say."""
        unit = self._whole.get("unit", "")
        if not isinstance(unit, str):
            self._refuse(("unit",), f'unit must be text, such as "minutes"; got {unit!r}. Write it in quotes.')
        return unit

    def whole_number(self, name: str, default: int, least: int = 1, most: int = MOST) -> int:
        """A number of the file itself."""
        with self._refusing(name):
            return whole(name, self._whole.get(name, default), most=most, least=least)

    def bandit(self) -> Bandit:
        """A problem whose arms are lotteries: a text such as "50:0.1,0:0.9", or a table with a type."""
        given = self._whole["problem"]["lotteries"]
        self._require_known(self._whole["problem"], ("lotteries",), ("problem",))
        if not isinstance(given, dict) or not given:
            self._refuse(
                ("problem", "lotteries"), 'lotteries must be a table, such as bus = "50:0.1,0:0.9". Write one.'
            )
        distributions = [self._lottery(entry, ("problem", "lotteries", name)) for name, entry in given.items()]
        return Bandit(distributions, list(given))

    def _lottery(self, entry: Any, place: Place) -> Lottery:
        if isinstance(entry, str):
            with self._refusing(*place):
                return lottery_of(entry)
        return self._made(entry, family("lottery"), place)

    def policy(self, table: Any, place: Place, kinds: dict[str, Any]) -> Policy:
        """A policy, with the preference and the rewards of the file; of the type "auto", the recommended one."""
        if isinstance(table, dict) and table.get("type") == AUTO:
            return self._recommended(table, place)
        make, settings = self._chosen(table, kinds, place)
        takes = inspect.signature(make).parameters
        self._require_known(settings, [key for key in takes if key not in HIDDEN], place)
        for name, build in (("preference", self._preference), ("rewards", self._rewards)):
            given = name in self._whole
            if given and name not in takes and place == ("policy",):
                self._refuse((name,), f"{make.__name__} takes no {name}. Leave the table out, or use another policy.")
            if not given and name in takes and takes[name].default is inspect.Parameter.empty:
                self._refuse(place, f"{make.__name__} needs a table [{name}]; there is none. Add it.")
            if given and name in takes:
                settings[name] = build()
        name = settings.get("name", "a name")
        if not isinstance(name, str) or not name.strip():
            self._refuse((*place, "name"), f"a policy's name must be text; got {name!r}. Write it in quotes.")
        return self._call(make, settings, place, hidden=HIDDEN)

    def _recommended(self, table: dict[str, Any], place: Place) -> Policy:
        """The policy that fits what the file says."""
        if "preference" not in self._whole:
            self._refuse(place, "a policy needs a table [preference]; there is none. Add it.")
        known: dict[str, Any] = {"preference": self._preference()}
        if "rewards" in self._whole:
            known["rewards"] = self._rewards()
        if isinstance(table.get("guardrails"), list):
            limits = [self._guardrail(one, (*place, "guardrails")) for one in table["guardrails"]]
            table = {**table, "guardrails": limits}
        with self._refusing(*place):
            return from_auto(table, **known)

    def _preference(self) -> Preference:
        """The preference: a table, a name such as "p95", or a file beside the spec."""
        given = self._whole["preference"]
        if isinstance(given, str):
            path = self._path.parent / given
            with self._refusing("preference"):
                return Preference.load(path) if path.suffix == ".json" or path.is_file() else preference_named(given)
        make = preference_named if "name" in given else Preference
        return self._call(make, given, ("preference",))

    def _rewards(self) -> Any:
        """The rewards of all arms, or, from tables in a list, of each."""
        given = self._whole["rewards"]
        if not isinstance(given, list):
            return self._made(given, family("rewards"), ("rewards",))
        return [self._made(one, family("rewards"), ("rewards", str(number))) for number, one in enumerate(given)]

    def _made(self, table: Any, kinds: dict[str, Any], place: Place) -> Any:
        """The setting of a family that a table describes."""
        make, settings = self._chosen(table, kinds, place)
        return self._call(make, settings, place)

    def _chosen(self, table: Any, kinds: dict[str, Any], place: Place) -> tuple[Callable[..., Any], dict[str, Any]]:
        """What a table's type names, and its other keys."""
        if not isinstance(table, dict) or "type" not in table:
            meant = next((name for name in kinds if name.lower() == str(table).lower()), next(iter(kinds)))
            self._refuse(
                place,
                f'{".".join(place)} needs a type, such as type = "{meant}"; got {brief(table)}. '
                f'Write {{ type = "{meant}" }}.',
            )
        kind = table["type"]
        if not isinstance(kind, str) or kind not in kinds:
            what = (
                {"policies": "policy", "rewards": "rewards"}.get(place[0], place[-1])
                if place[-1].isdigit()
                else place[-1]
            )
            self._refuse((*place, "type"), f"{kind!r} is no {what} type.{nearest(str(kind), kinds)}")
        return kinds[kind], {key: entry for key, entry in table.items() if key != "type"}

    def _call(
        self, make: Callable[..., Any], settings: dict[str, Any], place: Place, hidden: tuple[str, ...] = ()
    ) -> Any:
        """Make a setting from a table's keys, which are its parameters."""
        needed, others = entries_of(make)
        shown = [key for key in (*needed, *others) if key not in hidden]
        self._require_known({key: None for key in settings if key not in hidden}, shown, place)
        built = {}
        for key, entry in settings.items():
            if key == "components" and isinstance(entry, list):
                entry = [self._lottery(one, (*place, key)) for one in entry]
            elif key == "weights" and make is Mixed and isinstance(entry, list):
                entry = [self._nested(one, "weight", (*place, key)) for one in entry]
            elif key == "guardrails" and isinstance(entry, list):
                entry = [self._guardrail(one, (*place, key)) for one in entry]
            elif key in NESTED and not (key == "evidence" and isinstance(entry, str)):
                entry = self._nested(entry, NESTED[key], (*place, key))
            built[key] = entry
        missing = [key for key in needed if key not in built and key not in hidden]
        if missing:
            self._refuse(place, f"{'.'.join(place)} needs {missing[0]!r}; it is missing. Add it.")
        try:
            if not hasattr(make, "from_setting"):
                return make(**built)
            trust = (str(built.get("function", "")).partition(":")[0],)  # the modules of a spec are its author's own
            self._beside()
            return make.from_setting(trust, **built)
        except (ValueError, TypeError, IndexError) as error:
            culprit = next((key for key in settings if str(error).startswith(key)), None)
            self._refuse((*place, culprit) if culprit else place, str(error))

    def _guardrail(self, table: Any, place: Place) -> Guardrail:
        """A limit: { preference = "p99", at_most = 300 }, with a preference as specs have it elsewhere."""
        if not isinstance(table, dict):
            self._refuse(
                place, f'a guardrail is a table, such as {{ preference = "p99", at_most = 300 }}; got {table!r}.'
            )
        settings = {key: entry for key, entry in table.items() if key != "type"}
        if isinstance(settings.get("preference"), dict):
            given = {key: entry for key, entry in settings["preference"].items() if key != "type"}
            settings["preference"] = self._call(preference_named if "name" in given else Preference, given, place)
        return self._call(Guardrail, settings, place)

    def _nested(self, entry: Any, kinds: str, place: Place) -> Any:
        known = family(kinds)
        known = {"Betting": known["Betting"]} if place[-1] == "evidence" else known  # the band that is evidence, too
        return self._made(entry, known, place)

    def _beside(self) -> None:
        """From here on, modules beside the spec can be imported."""
        folder = str(self._path.resolve().parent)
        if folder not in sys.path:
            sys.path.insert(0, folder)  # workers are told, too

    def _require_known(self, table: dict[str, Any], known: Iterable[str], place: Place) -> None:
        for key in table:
            if key not in known:
                where = f"[{'.'.join(place)}]" if place else "a spec"
                self._refuse((*place, key), f"{where} has no key {key!r}.{nearest(key, known)}")

    @contextmanager
    def _refusing(self, *place: str) -> Iterator[None]:
        """Within: what a setting refuses is refused with the line of this place."""
        try:
            yield
        except (ValueError, TypeError) as error:
            self._refuse(place, str(error))

    def _refuse(self, place: Place, sentence: str) -> NoReturn:
        raise ValueError(f"{self._path}, line {line_of(self._text, place)}: {sentence}") from None


def line_of(text: str, place: Place) -> int:
    """The line of a key: the one that shares the longest beginning with it. Tables in a list have a number.

    >>> line_of('seed = 1\\n[policy]\\ntype = "WSR"\\n', ("policy", "type"))
    3
    >>> line_of('[[policies]]\\n[[policies]]\\ntype = "WSR"\\n', ("policies", "1", "type"))
    3
    """
    table: Place = ()
    listed: dict[Place, int] = {}
    best, line = 0, 1
    for number, content in enumerate(text.split("\n"), start=1):
        header = re.match(r"\s*\[([^\[\]]+)\]", content)
        item = re.match(r"\s*\[\[([^\[\]]+)\]\]", content)
        key = re.match(r"\s*([\w.\-\"]+)\s*=", content)
        if item is not None:
            name = _parts(item[1])
            listed[name] = listed.get(name, -1) + 1
            here = table = (*name, str(listed[name]))
        elif header is not None:
            here = table = _parts(header[1])
        elif key is not None:
            here = (*table, *_parts(key[1]))
        else:
            continue
        shared = len(here) if here == place[: len(here)] else 0
        if shared > best:
            best, line = shared, number
    return line


def _parts(dotted: str) -> Place:
    return tuple(part.strip().strip('"') for part in dotted.split("."))
