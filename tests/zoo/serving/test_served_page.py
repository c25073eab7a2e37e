"""The page of a server, in a real browser."""

from __future__ import annotations

import base64
from dataclasses import replace
from pathlib import Path

import cv2
import pytest

from tests.zoo.browser import CHROMIUM, Browser, open_browser
from tests.zoo.models import classifier, detector, photo, quarters
from tests.zoo.serving.conftest import SETTINGS, TOKEN, serving

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed"),
]
ANSWER = "document.getElementById('answer').innerText"
ERROR = "document.getElementById('error')"


def drop(browser: Browser, data: bytes) -> None:
    """Drop a file on the page."""
    text = base64.b64encode(data).decode()
    browser.evaluate(
        f"""{{const bytes = Uint8Array.from(atob("{text}"), each => each.charCodeAt(0)), moved = new DataTransfer();
        moved.items.add(new File([bytes], "dropped"));
        dispatchEvent(new DragEvent("drop", {{ dataTransfer: moved, bubbles: true, cancelable: true }}));}}"""
    )


def pixel(browser: Browser, x: int, y: int) -> list[int]:
    return browser.evaluate(
        f"[...document.getElementById('canvas').getContext('2d').getImageData({x}, {y}, 1, 1).data]"
    )


@pytest.fixture
def browser(tmp_path: Path):
    with open_browser(tmp_path / "profile") as opened:
        yield opened


def test_a_dropped_image_gets_bars_and_another_file_a_message(browser, tmp_path) -> None:
    with serving(classifier(tmp_path / "four")) as server:
        browser.call("Page.navigate", url=server.address)
        browser.wait("document.title === 'four'")
        drop(browser, photo(tmp_path / "a.png", 1).read_bytes())
        browser.wait(f"{ANSWER}.includes('dög')")
        widths = browser.evaluate(
            "[...document.querySelectorAll('.track div')].map(each => each.getBoundingClientRect().width)"
        )
        assert len(widths) == 4 and widths == sorted(widths, reverse=True) and widths[0] > widths[3]
        drop(browser, b"no image")
        browser.wait(f"!{ERROR}.hidden")
        assert "can't be decoded as an image" in browser.evaluate(f"{ERROR}.innerText")
        assert browser.evaluate(ANSWER) == ""
        browser.call("Emulation.setDeviceMetricsOverride", width=320, height=640, deviceScaleFactor=1, mobile=True)
        assert browser.evaluate("document.documentElement.scrollWidth") <= 320
    drop(browser, b"anything")
    browser.wait(f"{ERROR}.innerText.includes('The server doesn')")


def test_boxes_are_drawn_on_the_image(browser, tmp_path) -> None:
    image = quarters(160, 240)
    with serving(detector(tmp_path / "quarters")) as server:
        browser.call("Page.navigate", url=server.address)
        browser.wait("document.title === 'quarters'")
        drop(browser, cv2.imencode(".png", image)[1].tobytes())
        browser.wait(f"{ANSWER}.includes('red')")
    assert pixel(browser, 180, 60) == [255, 0, 0, 255]
    assert pixel(browser, 239, 60) != [255, 0, 0, 255]  # the border of the box


def test_a_server_with_a_token_requests_it(browser, tmp_path) -> None:
    with serving(classifier(tmp_path / "four"), replace(SETTINGS, token=TOKEN)) as server:
        browser.call("Page.navigate", url=server.address)
        browser.wait("document.readyState === 'complete' && !document.getElementById('asks').hidden")
        assert browser.evaluate("document.title") == "zoo serve"
        browser.evaluate(f"document.getElementById('token').value = '{TOKEN}'")
        browser.evaluate("document.getElementById('token').dispatchEvent(new Event('change'))")
        browser.wait("document.title === 'four' && document.getElementById('asks').hidden")
