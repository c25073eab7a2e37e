"""A damaged snapshot is never resumed silently: it is skipped, with a message to the user."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from caffe_proto import caffe_pb2 as pb
from caffe_proto.files import read, write
from netdsl.errors import SolverError
from netdsl.solver import state
from netdsl.solver.events import Event, Notice, SnapshotSaved
from netdsl.solver.snapshot_files import newest
from netdsl.solver.solver import Solver


def flip_a_bit(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) * 2 // 3] ^= 4
    path.write_bytes(data)


def cut_at_a_field(path: Path) -> None:
    """Cut off the last layer's blobs, the last history, or the JSON's end, so that the rest is still readable."""
    if path.suffix == ".json":
        content = json.loads(path.read_text())
        path.write_text(json.dumps({name: content[name] for name in ("iteration", "data", "test_data", "random")}))
        path.write_text(path.read_text()[:-1] + ', "files": {}}')
        return
    file = read(path)
    if isinstance(file.message, pb.NetParameter):
        del file.message.layer[-2].blobs[:]
    else:
        del file.message.history[-1]
    write(file, path)


DAMAGE: dict[str, Callable[[Path], object]] = {
    "a bit": flip_a_bit,
    "a field": cut_at_a_field,
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-9]),
    "zeros": lambda path: path.write_bytes(bytes(path.stat().st_size)),
    "empty": lambda path: path.write_bytes(b""),
}


def solver_of(net: object, folder: Path, events: list[Event] | None = None, **settings: object) -> Solver:
    param = pb.SolverParameter(base_lr=0.01, lr_policy="fixed", momentum=0.9, **settings)
    param.snapshot_prefix = str(folder / "s")
    return Solver(param, net, listen=(events if events is not None else []).append)


def three_snapshots(net: object, folder: Path, **settings: object) -> list[SnapshotSaved]:
    solver, saved = solver_of(net, folder, **settings), []
    for _ in range(3):
        solver.step(2)
        saved.append(solver.snapshot())
    return saved


def file_of(saved: SnapshotSaved, which: str) -> Path:
    resume = saved.state.with_name(saved.state.name.partition(".solverstate")[0] + ".resume.json")
    return {"model": saved.model, "state": saved.state, "resume": resume}[which]


@pytest.mark.parametrize("form", [pb.SolverParameter.BINARYPROTO, pb.SolverParameter.HDF5])
@pytest.mark.parametrize("which", ["model", "state", "resume"])
@pytest.mark.parametrize("damage", DAMAGE)
def test_the_newest_complete_snapshot_is_used_and_the_damaged_one_named(
    damage: str, which: str, form: int, regression, tmp_path: Path
) -> None:
    if form == pb.SolverParameter.HDF5:
        pytest.importorskip("h5py")
    saved = three_snapshots(regression(), tmp_path, snapshot_format=form)
    path = file_of(saved[2], which)
    DAMAGE[damage](path)
    told: list[str] = []
    assert newest(str(tmp_path / "s"), told.append) == saved[1].state
    assert len(told) == 1 and told[0].startswith("skipped a snapshot: ") and path.name in told[0]


@pytest.mark.parametrize("which", ["model", "state", "resume"])
def test_resuming_a_damaged_snapshot_is_an_error_with_advice(which: str, regression, tmp_path: Path) -> None:
    saved = three_snapshots(regression(), tmp_path)
    flip_a_bit(file_of(saved[2], which))
    with pytest.raises(SolverError, match=rf"{file_of(saved[2], which).name}: .* resume from .*s_iter_4\.solverstate"):
        state.restore(solver_of(regression(), tmp_path), saved[2].state)
    for each in saved[:2]:
        each.model.unlink()
    with pytest.raises(SolverError, match="its folder contains no undamaged snapshot"):
        state.restore(solver_of(regression(), tmp_path), saved[2].state)


def test_if_no_snapshot_is_complete_training_does_not_start_over(regression, tmp_path: Path) -> None:
    for saved in three_snapshots(regression(), tmp_path):
        flip_a_bit(saved.model)
    with pytest.raises(
        SolverError, match=r"all snapshots of '.*s' are damaged: .*s_iter_2.*; to start again, remove them"
    ):
        newest(str(tmp_path / "s"))


def test_a_snapshot_without_hashes_is_resumed_with_a_message(regression, tmp_path: Path) -> None:
    saved = three_snapshots(regression(), tmp_path)[2]
    file_of(saved, "resume").unlink()
    events: list[Event] = []
    again = solver_of(regression(), tmp_path, events)
    state.restore(again, saved.state)
    assert again.iteration == 6
    assert [event.text for event in events if isinstance(event, Notice)] == [
        f"snapshot {saved.state} has no hashes, so it can't be checked; Caffe or an older version wrote it"
    ]


def test_an_older_resume_file_restores_its_content(regression, tmp_path: Path) -> None:
    saved = three_snapshots(regression(), tmp_path)[2]
    resume = file_of(saved, "resume")
    old = {name: value for name, value in json.loads(resume.read_text()).items() if name not in ("files", "hash")}
    resume.write_text(json.dumps(old))
    expected = torch.rand(3)
    events: list[Event] = []
    again = solver_of(regression(), tmp_path, events)
    state.restore(again, saved.state)
    assert torch.equal(torch.rand(3), expected) and again.net.batch == 6
    assert any(isinstance(event, Notice) for event in events)


def test_a_complete_snapshot_gives_no_message_and_can_be_renamed(regression, tmp_path: Path) -> None:
    saved = three_snapshots(regression(), tmp_path)[2]
    events: list[Event] = []
    for which, name in {"model": "best.caffemodel", "state": "best.solverstate", "resume": "best.resume.json"}.items():
        file_of(saved, which).rename(tmp_path / name)
    saved.model.write_bytes(b"another model has this name now")
    again = solver_of(regression(), tmp_path, events)
    state.restore(again, tmp_path / "best.solverstate")
    assert again.iteration == 6 and events == []


def test_a_snapshot_consists_of_three_synced_files(regression, tmp_path: Path, monkeypatch) -> None:
    import os

    synced: list[str] = []
    sync = os.fsync

    def note(handle: int) -> None:
        synced.append(str(Path(f"/proc/self/fd/{handle}").readlink()))
        sync(handle)

    monkeypatch.setattr(os, "fsync", note)
    solver = solver_of(regression(), tmp_path)
    solver.snapshot()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "s_iter_0.caffemodel",
        "s_iter_0.resume.json",
        "s_iter_0.solverstate",
    ]
    files = [name for name in synced if name != str(tmp_path)]
    assert [any(kind in name for name in files) for kind in ("caffemodel", "solverstate", "resume")] == [True] * 3
    assert synced[-1] == str(tmp_path) and len(files) == 3
    assert "resume" in files[-1]
