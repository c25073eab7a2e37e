"""The event log of a run: a file with one JSON object per line, which programs can read."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO

from caffe_proto.errors import FileError
from netdsl.solver.events import Event, Notice, SnapshotSaved, TestFinished, TrainingProgress, WeightsLoaded, as_numbers


class EventLog:
    """A listener that appends events to a file; a resumed run continues its file."""

    def __init__(self, path: str | Path) -> None:
        self._path, self._start = Path(path), time.monotonic()
        self._file = self._open()

    def _open(self) -> TextIO:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            last_byte = self._path.read_bytes()[-1:] if self._path.exists() else b""
            file = self._path.open("a", buffering=1, encoding="utf-8")
        except OSError as problem:
            raise FileError(f"{self._path}: can't be written: {problem.strerror}") from None
        if last_byte not in (b"", b"\n"):  # the process was killed while it wrote a line
            file.write("\n")
        return file

    def __call__(self, event: Event) -> None:
        """Write an event, if it is of a kind that is logged."""
        entry = event_as_json(event)
        if entry is not None:
            seconds = round(time.monotonic() - self._start, 3)
            self._file.write(json.dumps(entry | {"seconds": seconds}) + "\n")

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def event_as_json(event: Event) -> dict[str, Any] | None:
    """The JSON object of an event, or None if events of its kind aren't logged."""
    match event:
        case TrainingProgress():
            numbers = _finite(as_numbers(event.outputs))
            loss = {"loss": _number(event.loss), "rate": event.rate}
            return {"event": "train", "iteration": event.iteration, **loss, "outputs": numbers}
        case TestFinished():
            loss = {} if event.loss is None else {"loss": _number(event.loss)}
            numbers = _finite(as_numbers(event.outputs))
            classes = {"classes": {str(each.label): each.value for each in event.classes}} if event.classes else {}
            return {
                "event": "test",
                "iteration": event.iteration,
                "net": event.net,
                **loss,
                "outputs": numbers,
                **classes,
            }
        case SnapshotSaved():
            files = {"model": str(event.model), "state": str(event.state)}
            return {"event": "snapshot", "iteration": event.iteration, **files}
        case WeightsLoaded():
            return {"event": "weights", "files": list(map(str, event.paths)), "text": str(event.report)}
        case Notice():
            return {"event": "notice", "text": event.text}
    return None


def read_event_log(path: str | Path) -> Iterator[dict[str, Any]]:
    """The JSON objects of a log. Lines that aren't complete, because the process was killed, are skipped."""
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
    """The value, or None in place of the numbers that JSON doesn't have."""
    return value if math.isfinite(value) else None
