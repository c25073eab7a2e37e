"""The command line run in this process, as its console script runs it."""

from __future__ import annotations

import io
import resource
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from zoo.cli import main


class Done(NamedTuple):
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str


Zoo = Callable[..., Done]


@pytest.fixture
def zoo(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path) -> Zoo:
    """Run `zoo` in an empty folder; bytes that aren't UTF-8 come back as surrogates."""
    monkeypatch.chdir(tmp_path)

    def run(*words: str, stdin: bytes = b"") -> Done:
        monkeypatch.setattr(sys, "argv", ["zoo", *words])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = (text.decode("utf-8", "surrogateescape") for text in capfdbinary.readouterr())
        assert "Traceback" not in out + err
        return Done(int(ended.value.code or 0), out, err)

    return run


@pytest.fixture
def full_disk() -> Callable[[int], AbstractContextManager[None]]:
    """Let no file grow beyond so many bytes, as on a disk that has no more room."""

    @contextmanager
    def full(size: int) -> Iterator[None]:
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    return full
