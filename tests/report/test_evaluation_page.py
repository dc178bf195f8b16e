"""The page about what other policies would have been worth, and the picture in Python."""

from __future__ import annotations

import math
import re

import numpy as np

from allais import expected_value, quantile
from allais.evidence import evaluate, read_decisions
from allais.report import write_evaluation


def _log():
    rng = np.random.default_rng(1)
    arm = rng.choice(["a", "b"], size=400)
    return read_decisions({"arm": arm, "outcome": rng.normal(20.0, 3.0, 400), "propensity": np.full(400, 0.5)})


TARGETS = {"a": "a", "half new": {"a": 0.5, "new": 0.5}}


def test_an_open_interval_reaches_the_edge_of_its_picture_and_is_written_in_words(tmp_path):
    write_evaluation(evaluate(_log(), TARGETS, [expected_value(), quantile(0.6)]), tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    ends = re.findall(r'class="interval" x1="([0-9.]+)%" x2="([0-9.]+)%"', page)
    assert len(ends) == 4
    assert ends[1] == ("0.00", "100.00")  # by the mean, half of it may be anything
    assert 0.0 < float(ends[3][0]) < float(ends[3][1]) == 100.0  # the percentile is at least that of what was tried
    assert "anything" in page
    assert " or more" in page
    assert "inf" not in re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL).replace("information", "")
    answer = re.findall(r'<p class="answer">(.*?)</p>', page)
    assert [one.split(" would")[0] for one in answer] == ["a", "a"]  # not what is known in part only
    write_evaluation(evaluate(_log(), {"half new": TARGETS["half new"]}, expected_value()), tmp_path / "page.html")
    assert "by the mean where it was tried, anything in all." in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_an_open_interval_is_drawn_beyond_all_others():
    ax = evaluate(_log(), TARGETS, expected_value()).plot()
    closed, _, open_, _ = (line.get_xdata() for line in ax.lines)
    assert all(map(math.isfinite, open_))
    assert open_[0] < closed[0] < closed[1] < open_[1]
