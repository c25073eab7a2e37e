"""Servers in this process."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from netdsl.solver.solver import ignore_event
from zoo.answers.answerer import AnswererRequest
from zoo.serving.server import Server, open_server
from zoo.serving.settings import ServerSettings

SETTINGS = ServerSettings(port=0, rate=0)
TOKEN = "a token of many letters"


@contextmanager
def serving(model: Path, settings: ServerSettings = SETTINGS, **request: Any) -> Iterator[Server]:
    """Run a server in a thread that ends with the context."""
    server = open_server(AnswererRequest(str(model), **request), settings, ignore_event, pytest.fail)
    thread = threading.Thread(target=server.serve_until_ended)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        yield server
    finally:
        server.should_exit = True
        thread.join()
