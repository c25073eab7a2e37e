"""A headless browser that is controlled through a pipe: it opens no port, and pages need no scripts."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader, FileIO
from itertools import count
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe")
_PATIENCE = 120  # seconds, after which the browser ends and the test fails


class Browser:
    """A browser with one page. `events` contains its messages."""

    def __init__(self, requests: FileIO, answers: BufferedReader) -> None:
        self._requests, self._answers = requests, answers
        self._numbers, self._rest = count(1), b""
        self.events: list[dict[str, Any]] = []
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Log", "Runtime"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method of the page, and return the result."""
        return self._call(method, self._session, **params)

    def open(self, path: Path, width: int, scheme: str) -> None:
        """Open a file in a window of some width, in light or dark mode."""
        self.events.clear()
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600
        )
        self.call("Page.navigate", url=path.resolve().as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self._take()

    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression in the page, after waiting for it if it is a promise."""
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def wait(self, condition: str) -> None:
        """Wait until an expression is true."""
        self.evaluate(
            f"new Promise(done => {{ const look = () => ({condition}) ? done() : setTimeout(look, 20); look(); }})"
        )

    def screenshot(self, path: Path) -> None:
        """Write a screenshot of the whole page."""
        taken = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(taken["data"]))

    def said(self, method: str) -> list[dict[str, Any]]:
        """Return the page's own messages since it was opened."""
        return [event["params"] for event in self.events if event["method"] == method]

    def _call(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": params} | ({"sessionId": session} if session else {})
        self._requests.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self._take()
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]

    def _take(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            more = self._answers.read1()
            assert more, "the browser has ended"
            self._rest += more
        message, _, self._rest = self._rest.partition(b"\0")
        answer = json.loads(message)
        if "method" in answer:
            self.events.append(answer)
        return answer


@contextmanager
def open_browser(profile: Path) -> Iterator[Browser]:
    """Open a browser with an empty profile in this folder."""
    assert CHROMIUM is not None
    (their_requests, requests), (answers, their_answers) = os.pipe(), os.pipe()
    # The browser reads from descriptor 3 and writes to 4, whatever their numbers are in this process.
    command = f'exec timeout {_PATIENCE} "$@" 3<&{their_requests} 4>&{their_answers}'
    process = subprocess.Popen(
        ["bash", "-c", command, "bash", CHROMIUM, *_FLAGS, f"--user-data-dir={profile}"],
        pass_fds=(their_requests, their_answers),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    os.close(their_requests)
    os.close(their_answers)
    try:
        with os.fdopen(requests, "wb", buffering=0) as asks, os.fdopen(answers, "rb") as hears:
            yield Browser(asks, hears)
    finally:
        process.terminate()
        process.wait(30)
