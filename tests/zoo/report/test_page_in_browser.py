"""Report pages in a browser: at any width, light or dark, no element overflows, and no script or resource is loaded."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from tests.zoo.browser import CHROMIUM, Browser, open_browser
from tests.zoo.logs.conftest import averaging
from tests.zoo.report.recorded import net, write_run
from zoo.report.page import write_comparison, write_report
from zoo.report.recorded_run import read_run

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium: apt-get install chromium")

HOSTILE = "<script>document.title='run'</script><img src=http://192.0.2.1/x onerror=alert(1)>"
WIDTHS_AND_SCHEMES = [(width, scheme) for width in (360, 1400) for scheme in ("light", "dark")]

# Elements that extend beyond the page and aren't inside an element that scrolls.
TOO_WIDE = """
[...document.querySelectorAll("body *")].filter(element => {
  if (element.getBoundingClientRect().right <= document.documentElement.clientWidth + 1) return false;
  for (let outer = element.parentElement; outer; outer = outer.parentElement)
    if (outer.matches(".scroll, svg") ) return false;
  return !element.closest("details:not([open])");
}).map(element => element.outerHTML.slice(0, 200))
"""
UNNAMED = """
[...document.querySelectorAll("img, svg[role=img], [role=region], table th")].filter(
  element => !(element.getAttribute("alt") || element.getAttribute("aria-label") || element.textContent.trim())
    && !element.matches(".bars, thead th:first-child")
).map(element => element.outerHTML.slice(0, 200))
"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Write a report of a net with a hostile name, one of an unfinished run, and a comparison."""
    folder = tmp_path_factory.mktemp("pages")
    write_run(folder / "hostile", averaging(workers=12), params=net(HOSTILE, HOSTILE))
    write_run(folder / "unfinished", averaging(rounds=2), weights=False, base_lr=0.5)
    runs = [read_run(folder / name) for name in ("hostile", "unfinished")]
    for run in runs:
        write_report(run, run.folder / "report.html")
    write_comparison(runs, folder / "comparison.html")
    return [*(run.folder / "report.html" for run in runs), folder / "comparison.html"]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with open_browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


def test_no_element_overflows_the_page_and_no_resource_is_loaded(pages: list[Path], browser: Browser) -> None:
    for page in pages:
        backgrounds = set()
        for width, scheme in WIDTHS_AND_SCHEMES:
            browser.open(page, width, scheme)
            assert browser.evaluate("document.documentElement.scrollWidth") <= width
            assert browser.evaluate(TOO_WIDE) == []
            assert browser.evaluate("document.scripts.length") == 0
            assert browser.said("Log.entryAdded") == [] == browser.said("Runtime.consoleAPICalled")
            urls = [event["request"]["url"] for event in browser.said("Network.requestWillBeSent")]
            assert [url[:60] for url in urls if not url.startswith(("data:", page.resolve().as_uri()))] == []
            backgrounds.add((scheme, browser.evaluate("getComputedStyle(document.documentElement).backgroundColor")))
            backgrounds.add((scheme, browser.evaluate("getComputedStyle(document.body).backgroundColor")))
        assert len({color for _, color in backgrounds if color != "rgba(0, 0, 0, 0)"}) == 2


def test_a_name_in_a_net_is_text(pages: list[Path], browser: Browser) -> None:
    browser.open(pages[0], 1400, "light")
    assert browser.evaluate("document.querySelector('h1').textContent") == HOSTILE
    assert browser.evaluate("document.title") == f"{HOSTILE}: report of a training"
    drawn = browser.evaluate("[...document.querySelectorAll('.nd-box title')].map(title => title.textContent)")
    assert any(text.startswith(f"{HOSTILE} (Convolution)") for text in drawn)


def test_pages_are_accessible_to_screen_readers(pages: list[Path], browser: Browser) -> None:
    for page in pages:
        browser.open(page, 1400, "light")
        assert browser.evaluate("document.documentElement.lang") == "en"
        assert browser.evaluate(UNNAMED) == []
        levels = browser.evaluate("[...document.querySelectorAll('h1, h2, h3')].map(head => +head.tagName[1])")
        assert levels[0] == 1 and levels.count(1) == 1
        assert all(later - earlier <= 1 for earlier, later in pairwise(levels))
        missing = "[...document.querySelectorAll('nav a')].filter(a => !document.querySelector(a.hash)).length"
        assert browser.evaluate(missing) == 0
