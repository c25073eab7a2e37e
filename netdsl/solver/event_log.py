"""A log of one JSON object per line, which programs read back."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO

from caffe_proto.errors import FileError
from netdsl.solver.events import Displayed, Event, Saved, Tested, as_numbers


class EventLog:
    """Appends what happens to a file; a run that was resumed goes on in it."""

    def __init__(self, path: str | Path) -> None:
        self._path, self._start = Path(path), time.monotonic()
        self._file = self._opened()

    def _opened(self) -> TextIO:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            before = self._path.read_bytes()[-1:] if self._path.exists() else b""
            file = self._path.open("a", buffering=1, encoding="utf-8")
        except OSError as problem:
            raise FileError(f"{self._path}: can't be written: {problem.strerror}") from None
        if before not in (b"", b"\n"):  # a line that a kill cut off
            file.write("\n")
        return file

    def __call__(self, event: Event) -> None:
        """Write what happened, if it is worth a line."""
        found = as_object(event)
        if found is not None:
            seconds = round(time.monotonic() - self._start, 3)
            self._file.write(json.dumps(found | {"seconds": seconds}) + "\n")

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def as_object(event: Event) -> dict[str, Any] | None:
    """An event as JSON has it, or None if it isn't worth a line."""
    match event:
        case Displayed():
            numbers = _finite(as_numbers(event.outputs))
            loss = {"loss": _number(event.loss), "rate": event.rate}
            return {"event": "train", "iteration": event.iteration, **loss, "outputs": numbers}
        case Tested():
            loss = {} if event.loss is None else {"loss": _number(event.loss)}
            numbers = _finite(as_numbers(event.outputs))
            return {"event": "test", "iteration": event.iteration, "net": event.net, **loss, "outputs": numbers}
        case Saved():
            files = {"model": str(event.model), "state": str(event.state)}
            return {"event": "snapshot", "iteration": event.iteration, **files}
    return None


def read_event_log(path: str | Path) -> Iterator[dict[str, Any]]:
    """The objects of a log; a last line that was cut off by a kill is left out."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise FileError(f"{path}: can't be read: {problem}") from None
    for line in text.splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            continue


def _finite(numbers: Mapping[str, float]) -> dict[str, float | None]:
    return {name: _number(value) for name, value in numbers.items()}


def _number(value: float) -> float | None:
    """JSON has no NaN."""
    return value if math.isfinite(value) else None
