"""Files of trips, as users of SUMO have them: read, joined, and when their traffic begins and ends."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

from allais.traffic.files import parsed, read_text

THING = "a demand"
ROOTS = ("routes", "additional", "trips")
TRAVELLERS = ("vehicle", "trip", "flow", "person", "personFlow", "container", "containerFlow")


def read_trips(paths: Iterable[str | Path]) -> str:
    """The text of one file of trips, or of several as if they were one."""
    texts = []
    for path in paths:
        text = read_text(path, THING)
        trips_of(text, Path(path).name)
        texts.append(text)
    if not texts:
        raise ValueError("a demand is read from a file; got none. Give a .rou.xml.")
    if len(texts) == 1:
        return texts[0]
    joined = ElementTree.Element("routes")
    for text in texts:
        joined.extend(ElementTree.fromstring(text))
    return ElementTree.tostring(joined, encoding="unicode")


def trips_of(text: str, name: str = "the file") -> ElementTree.Element:
    """The trips in a text; refused where it is something else."""
    root = parsed(text, THING, name)
    if root.tag not in ROOTS:
        raise ValueError(f"{THING} is a file of trips or routes; {name} holds <{root.tag}>. Give a .rou.xml.")
    includes = root.find("include")
    if includes is not None:
        raise ValueError(f"{THING} must be whole; {name} includes {includes.get('href')!r}. Give both files instead.")
    return root


def span_of(root: ElementTree.Element) -> tuple[float, float]:
    """Seconds at which the first leaves and the last does: never, where there are no trips or a flow has no end."""
    begins, ends = [], []
    for element in root:
        if element.tag not in TRAVELLERS:
            continue
        flow = element.tag.lower().endswith("flow")
        begin = _seconds(element.get("begin", "0") if flow else element.get("depart", ""))
        if begin is None:  # it leaves with another one
            continue
        begins.append(begin)
        ends.append(_end(element, begin) if flow else begin)
    return (min(begins), max(ends)) if begins else (0.0, math.inf)


def until(text: str, last: float) -> str:
    """The trips of a text that begin by some time: who comes later is waited for in vain.

    >>> until('<routes><trip depart="5"/><trip depart="9"/><flow begin="0" end="10" number="5"/></routes>', 6.0)
    '<routes><trip depart="5" /><flow begin="0" end="6.0" period="2.0" /></routes>'
    """
    root = ElementTree.fromstring(text)
    for element in list(root):
        if element.tag not in TRAVELLERS:
            continue
        flow = element.tag.lower().endswith("flow")
        begin = _seconds(element.get("begin", "0") if flow else element.get("depart", ""))
        if begin is not None and begin > last:
            root.remove(element)
        elif flow and begin is not None and _end(element, begin) > last:
            number = element.attrib.pop("number", None)
            if number is not None and "period" not in element.attrib:  # evenly until the end that it had
                element.set("period", str((_end(element, begin) - begin) / float(number)))
            element.set("end", str(last))
    return ElementTree.tostring(root, encoding="unicode")


def _end(flow: ElementTree.Element, begin: float) -> float:
    end = _seconds(flow.get("end", ""))
    if end is not None:
        return end
    period, number = _seconds(flow.get("period", "")), _seconds(flow.get("number", ""))
    return math.inf if period is None or number is None else begin + period * number


def _seconds(text: str) -> float | None:
    """A time as SUMO writes it: seconds, or hours:minutes:seconds, or days before that.

    >>> _seconds("90"), _seconds("0:01:30"), _seconds("1:00:01:30"), _seconds("triggered")
    (90.0, 90.0, 86490.0, None)
    """
    parts = text.split(":")
    try:
        numbers = [float(part) for part in parts]
    except ValueError:
        return None
    if len(numbers) not in (1, 3, 4) or not all(map(math.isfinite, numbers)):
        return None
    return sum(number * scale for number, scale in zip(reversed(numbers), (1.0, 60.0, 3600.0, 86400.0), strict=False))
