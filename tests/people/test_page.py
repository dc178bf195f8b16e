"""The page of an interview in a real browser: from the first click to a fitted preference."""

import base64
import json
import re

import numpy as np
import pytest

from allais.people import Choices, Family, posterior, write_page
from allais.people.interview.candidates import parameter_information
from allais.people.interview.files import CHECK_EVERY, PAIRS, PEOPLE, planned
from tests.browser import chromium as opened_browser
from tests.browser import opened_without_complaint

FAMILY = Family(stake=100)
TRUE = np.array([[0.5, 0.8, 2.0, 2.0]])


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "interview.html"
    write_page(FAMILY, path, (-50, 200), seed=1, unit="euros", title="A few <questions>")
    return path


@pytest.fixture(scope="module")
def browser():
    with opened_browser() as one:
        yield one


def begun(view, name="ann"):
    view.fill("#name", name)
    view.click("text=Begin")


def offered(view):
    """The options that the page shows, as numbers."""
    return view.evaluate("optionsOf(current)")


def option(given):
    return given if isinstance(given, int | float) else dict(given)


def answer_of(options, rng):
    choice = Choices.from_rows([("x", [option(one) for one in options], 0)])
    return "A" if rng.random() < np.exp(FAMILY.log_chances(TRUE, choice))[0, 0] else "B"


def downloaded(view, tmp_path):
    with view.expect_download() as caught:
        view.click("#download")
    path = tmp_path / caught.value.suggested_filename
    caught.value.save_as(path)
    return path


def test_the_plan_holds_the_chances_of_the_family():
    plan = planned(FAMILY, (-50.0, 200.0), 1, 20, "euros")
    table = np.frombuffer(base64.b64decode(plan["chances"]), np.uint8).reshape(PAIRS, PEOPLE)
    assert table.std() > 50  # people differ
    assert len(plan["check_places"]) == len(plan["checks"]) == 3
    assert all(place // CHECK_EVERY == block for block, place in enumerate(plan["check_places"]))
    assert plan["check_places"][0] > 0
    assert plan["id"] != planned(FAMILY, (-50.0, 200.0), 2, 20, "euros")["id"]
    with pytest.raises(ValueError, match="questions must be a whole number, 1 or more; got 0"):
        planned(FAMILY, (-50.0, 200.0), 1, 0, "")


def test_from_the_first_click_to_a_fitted_preference(browser, page, tmp_path):
    view = opened_without_complaint(browser, page, 1280, 900, "light")
    begun(view, "Ann Ö. 7")
    rng, seen = np.random.default_rng(3), []
    for number in range(20):
        assert f"Question {number + 1} of 20" in view.inner_text("#app")
        options = offered(view)
        seen.append(json.dumps(options))
        side = answer_of(options, rng)
        if number % 2:
            view.keyboard.press({"A": "ArrowLeft", "B": "b"}[side])
        else:
            view.click(f".card >> nth={'AB'.index(side)}")
    assert len(set(seen)) == 20
    path = downloaded(view, tmp_path)
    assert path.name == "Ann_Ö_7.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    assert sum(one["check"] for one in document["answers"]) in (2, 3)
    choices = Choices.read(path)
    assert len(choices) == 20
    assert choices.people == ("Ann Ö. 7",)
    fitted = posterior(choices, FAMILY, seed=1)
    # twenty answers leave less than the prior of what they are about, and the truth is within four spreads
    assert (fitted.places.std(axis=0)[:2] < 0.8 * FAMILY.prior.spread[:2]).all()
    assert (np.abs(fitted.place - FAMILY.unconstrained(TRUE)[0]) < 4.0 * fitted.places.std(axis=0)).all()
    view.close()


def test_the_page_asks_what_tells_most_by_its_table(browser, page):
    """The script's choice is that of the same formula in Python, over the same table."""
    view = opened_without_complaint(browser, page, 800, 800, "light")
    begun(view)
    plan = view.evaluate("plan")
    table = (np.frombuffer(base64.b64decode(plan["chances"]), np.uint8).reshape(PAIRS, PEOPLE) + 0.5) / 256.0
    weights, asked = np.full(PEOPLE, 1.0 / PEOPLE), []
    for number in range(10):
        current = view.evaluate("current")
        if number not in plan["check_places"]:
            mean = table @ weights
            inside = -(table * np.log2(table) + (1 - table) * np.log2(1 - table)) @ weights
            gain = -(mean * np.log2(mean) + (1 - mean) * np.log2(1 - mean)) - inside
            gain[asked] = -np.inf
            assert gain[current] == pytest.approx(gain.max(), abs=1e-12)
            if number == 0:
                assert gain == pytest.approx(parameter_information(np.log(table.T)), abs=1e-9)
            weights = weights * table[current]
            weights /= weights.sum()
            asked.append(current)
        view.keyboard.press("a")
    view.close()


def test_an_answer_can_be_taken_back_and_a_reload_loses_nothing(browser, page):
    view = opened_without_complaint(browser, page, 800, 800, "light")
    begun(view)
    first = offered(view)
    view.keyboard.press("a")
    second = offered(view)
    view.keyboard.press("Backspace")
    assert offered(view) == first
    view.keyboard.press("a")
    assert offered(view) == second
    view.reload()
    assert "Question 2 of 20" in view.inner_text("#app")
    assert offered(view) == second
    view.close()


def test_the_back_button_shows_the_question_before(browser, page):
    view = opened_without_complaint(browser, page, 800, 800, "light")
    begun(view)
    assert view.is_disabled("text=Back")
    first = offered(view)
    view.click(".card >> nth=0")
    assert offered(view) != first
    view.click("text=Back")
    assert offered(view) == first
    assert "Question 1 of 20" in view.inner_text("#app")
    view.close()


def test_a_page_about_costs_asks_about_waiting(browser, tmp_path):
    path = tmp_path / "wait.html"
    write_page(Family(stake=30, costs=True), path, (0, 60), seed=1, unit="minutes")
    view = opened_without_complaint(browser, path, 800, 800, "light")
    assert "which one you would rather wait" in view.inner_text("#app")
    begun(view)
    assert view.inner_text("h2") == "Which would you rather wait?"
    assert view.locator(".bar .gain").count() == 0  # every minute is a loss
    view.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_it_can_be_read_and_touched_at_every_width(browser, page, width, scheme):
    view = opened_without_complaint(browser, page, width, 844, scheme)
    begun(view)
    assert view.evaluate("document.documentElement.scrollWidth") <= width
    boxes = [view.locator(".card").nth(k).bounding_box() for k in (0, 1)]
    assert all(box["height"] >= 44 and box["width"] >= 44 for box in boxes)  # what a thumb needs
    assert boxes[1]["y"] + boxes[1]["height"] <= 844  # both options in one view
    assert (boxes[0]["y"] == boxes[1]["y"]) == (width == 1280)
    colours = view.evaluate("[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]")
    dark = [np.mean([int(n) for n in re.findall(r"\d+", colour)[:3]]) < 128 for colour in colours]
    assert dark == ([True, False] if scheme == "light" else [False, True])
    bars = view.evaluate("[...document.querySelectorAll('.bar > span')].map(one => one.getBoundingClientRect().width)")
    assert min(bars) > 0
    view.close()
