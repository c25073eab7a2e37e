"""Training runs in TensorBoard and MLflow, read back from their files."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tensorboardX.proto.event_pb2 import Event
from tensorboardX.record_writer import masked_crc32c

from caffe_proto.errors import FileError, MissingExtraError
from netdsl.solver import events
from netdsl.solver.events import Output, TrainingProgress
from zoo.logs.trackers import MlflowWriter, TensorBoardWriter


def tensorboard_scalars(folder: Path) -> dict[tuple[str, int], float]:
    data, found = next(folder.iterdir()).read_bytes(), {}
    while data:
        size = int.from_bytes(data[:8], "little")
        assert int.from_bytes(data[8:12], "little") == masked_crc32c(data[:8])
        event = Event.FromString(data[12 : 12 + size])
        found.update({(value.tag, event.step): value.simple_value for value in event.summary.value})
        data = data[16 + size :]
    return found


def test_losses_and_scores_are_tracked(tmp_path: Path) -> None:
    board = TensorBoardWriter(tmp_path / "run")
    board(TrainingProgress(3, 0.5, 0.25, (Output("loss", (0.5,), 1.0),)))
    board(events.TestFinished(4, 0, None, (Output("accuracy", (0.75,)),)))
    board.close()
    assert tensorboard_scalars(tmp_path / "run") == {
        ("train/loss", 3): 0.5,
        ("train/rate", 3): 0.25,
        ("test/accuracy", 4): 0.75,
    }


def mlflow_values(folder: Path, name: str) -> list[float]:
    """Return the values of a metric from MLflow's own files."""
    (file,) = folder.glob(f"*/*/metrics/{name}")
    return [float(line.split()[1]) for line in file.read_text().splitlines()]


def test_mlflow_has_parameters_metrics_and_the_last_model(tmp_path: Path) -> None:
    pytest.importorskip("mlflow", reason="needs mlflow")
    for iteration in (10, 20):
        (tmp_path / f"net_iter_{iteration}.caffemodel").write_bytes(b"weights")
    store = tmp_path / "store"
    with MlflowWriter(store.as_uri(), "run", {"base_lr": "0.1", "Trains on": "digits:train"}) as log:
        log(events.TrainingProgress(0, 2.5, 0.1, (events.Output("odd:name", (1.0, 2.0)),)))
        log(events.TrainingProgress(10, 1.5, 0.1, ()))
        log(events.TestFinished(10, 0, None, (events.Output("accuracy", (0.5,)),)))
        for iteration in (10, 20):
            files = tmp_path / f"net_iter_{iteration}.caffemodel", tmp_path / "state"
            log(events.SnapshotSaved(iteration, *files))
    assert mlflow_values(store, "train/loss") == [2.5, 1.5]
    assert mlflow_values(store, "train/odd_name_1_") == [2.0]
    assert mlflow_values(store, "test/accuracy") == [0.5]
    assert [file.read_text() for file in store.glob("*/*/params/base_lr")] == ["0.1"]
    assert [file.name for file in store.glob("*/*/artifacts/*")] == ["net_iter_20.caffemodel"]
    (about,) = store.glob("*/*/meta.yaml")
    assert "status: 3" in about.read_text()  # finished


def test_a_failed_training_is_tracked_as_a_failed_run(tmp_path: Path) -> None:
    pytest.importorskip("mlflow", reason="needs mlflow")
    with pytest.raises(FileError), MlflowWriter(tmp_path.as_uri(), "run", {}):
        raise FileError("the disk is full")
    (about,) = tmp_path.glob("*/*/meta.yaml")
    assert "status: 4" in about.read_text()


def test_a_missing_server_is_reported(tmp_path: Path) -> None:
    pytest.importorskip("mlflow", reason="needs mlflow")
    with pytest.raises(FileError, match=r"^MLflow at http://127\.0\.0\.1:9: can't be written to: "):
        MlflowWriter("http://127.0.0.1:9", "run", {})


def test_a_lost_store_is_reported_once_and_training_continues(tmp_path: Path) -> None:
    pytest.importorskip("mlflow", reason="needs mlflow")
    notes: list[str] = []
    log = MlflowWriter((tmp_path / "store").as_uri(), "run", {}, notes.append)
    (tmp_path / "store").rename(tmp_path / "elsewhere")
    for iteration in (0, 10):
        log(events.TrainingProgress(iteration, 2.5, 0.1, ()))
    log.close()
    assert len(notes) == 1 and notes[0].startswith(
        "MLflow: the log can't be written any more, but training continues: "
    )


def test_a_missing_tracker_is_reported_with_the_package_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(MissingExtraError, match=r"netdsl\[mlflow\]"):
        MlflowWriter("auto", "run", {})
