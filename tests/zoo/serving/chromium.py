"""A browser without a window, told what to do over a pipe."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
_FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe")


class Page:
    """A page of a browser."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._to, self._from = to_browser, os.fdopen(from_browser, "rb", closefd=False)
        self._count, self._rest, self._session = 0, b"", {}
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = {"sessionId": self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]}

    def call(self, method: str, **params: Any) -> Any:
        """The result of one of the browser's methods."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": params, **self._session}
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = json.loads(self._next())
            if answer.get("id") == self._count:
                assert "error" not in answer, answer
                return answer["result"]

    def _next(self) -> bytes:
        while b"\0" not in self._rest:
            part = os.read(self._from.fileno(), 1 << 20)
            assert part, "the browser ended"
            self._rest += part
        message, _, self._rest = self._rest.partition(b"\0")
        return message

    def run(self, script: str) -> Any:
        """The value of a script, which is waited for."""
        result = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def wait(self, condition: str) -> None:
        """Wait until an expression is true."""
        self.run(
            f"new Promise(done => {{ const look = () => ({condition}) ? done() : setTimeout(look, 20); look(); }})"
        )


@contextmanager
def page(profile: Path) -> Iterator[Page]:
    """A new page of a new browser."""
    read_end, to_browser = os.pipe()
    from_browser, write_end = os.pipe()
    command = [str(BROWSER), *_FLAGS, f"--user-data-dir={profile}", "about:blank"]
    script = 'exec 3<&"$0" 4>&"$1"; shift; exec "$@"'  # a browser's pipes are 3 and 4
    browser = subprocess.Popen(
        ["bash", "-c", script, str(read_end), str(write_end), *command],
        pass_fds=(read_end, write_end),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(read_end)
    os.close(write_end)
    try:
        yield Page(to_browser, from_browser)
    finally:
        browser.kill()
        browser.wait()
        os.close(to_browser)
        os.close(from_browser)
