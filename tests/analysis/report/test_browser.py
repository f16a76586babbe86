"""The report as people meet it: in a browser, by mouse and keyboard, on a phone, in the dark and on paper."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Browser

ENTER, TAB = ("Enter", 13, "\r"), ("Tab", 9)


@pytest.fixture(autouse=True)
def page(browser: Browser, file: Path) -> Iterator[Browser]:
    browser.resize(1200)
    browser.prefer("light")
    browser.open(file)
    yield browser
    assert browser.said == [], "errors, warnings or requests"


def opened(page: Browser) -> list[str]:
    ids: list[str] = page.value("[...document.querySelectorAll('details.operator[open]')].map(part => part.id)")
    return ids


def test_a_click_opens_an_operators_part(page: Browser) -> None:
    assert opened(page) == []
    assert page.value("document.querySelector('#op-wrong pre').checkVisibility()") is False
    page.click("#op-wrong > summary")
    assert opened(page) == ["op-wrong"]
    assert page.value("document.querySelector('#op-wrong pre').checkVisibility()") is True
    page.click("#op-wrong > summary")
    assert opened(page) == []


def test_a_link_opens_what_it_leads_to_every_time(page: Browser) -> None:
    for _ in range(2):
        page.click("nav a[href='#op-wrong']")
        page.wait_for("document.querySelector('#op-wrong').open")
        page.click("#op-wrong > summary")
        page.wait_for("!document.querySelector('#op-wrong').open")


def test_an_address_opens_what_it_names(page: Browser, file: Path) -> None:
    page.open(Path("/dev/null"))
    page.open(file, "#op-with-overload")
    page.wait_for("document.querySelector('#op-with-overload').open")


def test_the_keyboard_is_enough(page: Browser) -> None:
    page.press(*TAB)
    assert page.value("document.activeElement.textContent") == "Skip to the content"
    assert page.value("document.activeElement.getBoundingClientRect().left") >= 0, "it shows itself"
    page.value("document.querySelector('#op-right > summary').focus()")
    page.press(*ENTER)
    page.wait_for("document.querySelector('#op-right').open")
    outline = "getComputedStyle(document.querySelector('#op-right > summary')).outlineStyle"
    assert page.value(outline) == "solid"


def test_all_can_be_opened_and_closed(page: Browser) -> None:
    page.click("button.all")
    assert len(opened(page)) == 3
    page.click("button.all + button.all")
    assert opened(page) == []


def test_a_phone_scrolls_tables_and_not_the_page(page: Browser) -> None:
    page.resize(360, 740)
    page.click("button.all")
    assert page.value("document.documentElement.scrollWidth") <= 360
    assert page.value("[...document.querySelectorAll('svg:not(.key)')].every(part => part.clientWidth > 200)")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_the_page(page: Browser, scheme: str) -> None:
    """4.5 to 1 is what WCAG wants of text, also of marks and of the names of a chart's lines."""
    page.prefer(scheme)
    page.click("button.all")
    worst = page.worst_contrast()
    assert worst >= 4.5
    dark = page.value("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
    assert dark == (scheme == "dark")


def test_paper_shows_all_of_it(page: Browser) -> None:
    page.value("window.dispatchEvent(new Event('beforeprint'))")
    assert len(opened(page)) == 3
    page.prefer("light", "print")
    assert page.value("document.querySelector('nav').checkVisibility()") is False
    page.value("window.dispatchEvent(new Event('afterprint'))")
    assert opened(page) == []


def test_a_picture_of_it_is_not_blank(page: Browser, tmp_path: Path) -> None:
    page.screenshot(tmp_path / "report.png")
    assert (tmp_path / "report.png").stat().st_size > 20_000
