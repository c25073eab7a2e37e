"""TensorBoard's events, read back from their file."""

from __future__ import annotations

from pathlib import Path

from tensorboardX.proto.event_pb2 import Event
from tensorboardX.record_writer import masked_crc32c

from netdsl.solver import events
from netdsl.solver.events import Output, TrainingProgress
from zoo.logs.trackers import TensorBoardWriter


def scalars(folder: Path) -> dict[tuple[str, int], float]:
    data, found = next(folder.iterdir()).read_bytes(), {}
    while data:
        size = int.from_bytes(data[:8], "little")
        assert int.from_bytes(data[8:12], "little") == masked_crc32c(data[:8])
        event = Event.FromString(data[12 : 12 + size])
        found.update({(value.tag, event.step): value.simple_value for value in event.summary.value})
        data = data[16 + size :]
    return found


def test_losses_and_scores(tmp_path: Path) -> None:
    board = TensorBoardWriter(tmp_path / "run")
    board(TrainingProgress(3, 0.5, 0.25, (Output("loss", (0.5,), 1.0),)))
    board(events.TestFinished(4, 0, None, (Output("accuracy", (0.75,)),)))
    board.close()
    assert scalars(tmp_path / "run") == {
        ("train/loss", 3): 0.5,
        ("train/rate", 3): 0.25,
        ("test/accuracy", 4): 0.75,
    }
