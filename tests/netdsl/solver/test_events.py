"""The log of events: its lines, reading it back, and what remains of it after a kill."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from caffe_proto.errors import FileError
from netdsl.solver import events
from netdsl.solver.events import EventLog, IterationFinished, Output, SnapshotSaved, TrainingProgress, read_event_log

OUTPUTS = (Output("loss", (0.5,), 1.0), Output("top", (0.25, float("nan"))))


def written(path: Path) -> list[dict[str, object]]:
    lines = EventLog(path)
    lines(IterationFinished(1))
    lines(TrainingProgress(2, 0.5, 0.01, OUTPUTS))
    lines(events.TestFinished(3, 1, None, OUTPUTS))
    lines(SnapshotSaved(4, Path("a.caffemodel"), Path("a.solverstate")))
    lines.close()
    return list(read_event_log(path))


def test_each_display_test_and_snapshot_has_one_object(tmp_path: Path) -> None:
    found = written(tmp_path / "runs/log.jsonl")
    assert all(each.pop("seconds") >= 0 for each in found)
    numbers = {"loss": 0.5, "top[0]": 0.25, "top[1]": None}  # JSON doesn't support NaN
    assert found == [
        {"event": "train", "iteration": 2, "loss": 0.5, "rate": 0.01, "outputs": numbers},
        {"event": "test", "iteration": 3, "net": 1, "outputs": numbers},
        {"event": "snapshot", "iteration": 4, "model": "a.caffemodel", "state": "a.solverstate"},
    ]


def test_a_resumed_run_appends_after_a_truncated_line(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps({"event": "train"}) + '\n{"event": "tra')
    assert [each["event"] for each in written(path)] == ["train", "train", "test", "snapshot"]


def test_an_unwritable_log_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="can't be written"):
        EventLog(tmp_path)
