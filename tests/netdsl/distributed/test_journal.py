"""Journals with damaged entries, in every file and way: the run resumes from the previous entry and reports it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from caffe_proto import caffe_pb2 as pb
from netdsl.distributed.journal import Journal, Membership, Retention, members_after, note_membership, read_memberships
from netdsl.errors import DistributedError, SolverError
from netdsl.solver.events import Notice
from tests.netdsl.distributed.conftest import Simulate

STRATEGY = "averaging:tau=3"


def changed(**fields: object) -> Callable[[Path], None]:
    return lambda path: path.write_text(json.dumps(json.loads(path.read_text()) | fields)) and None


def flip_a_bit(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 8
    path.write_bytes(data)


DAMAGE: dict[str, Callable[[Path], object]] = {
    "a bit": flip_a_bit,
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-5]),
    "zeros": lambda path: path.write_bytes(bytes(path.stat().st_size)),
    "empty": lambda path: path.write_bytes(b""),
    "not UTF-8": lambda path: path.write_bytes(b'{"round": 3, "score": null, "files": {"\xff": ""}}'),
}
OF_WHOLE: dict[str, Callable[[Path], object]] = {
    **DAMAGE,
    "an object": lambda path: path.write_text("{}"),
    "no files": changed(files={}),
    "other types": changed(files=[1, 2]),
    "another round": changed(round=2),
    "another version": changed(version=99),
    "the first version": lambda path: path.write_text(path.read_text().replace('"version": 2,', "")),
}
CASES = [("whole.json", name) for name in OF_WHOLE]
CASES += [(file, name) for file in ("worker-0.npz", "worker-1.json") for name in DAMAGE]
CASES += [("worker-1.npz", "gone")]


def damage(path: Path, how: str) -> None:
    if how == "gone":
        path.unlink()
    else:
        OF_WHOLE[how](path)


@pytest.mark.parametrize(("file", "how"), CASES)
def test_a_damaged_entry_is_skipped_and_the_end_is_the_same(run: Simulate, folder: Path, file: str, how: str) -> None:
    journal = Journal(folder, Retention(newest=3))
    run(STRATEGY, journal=journal, stop=3)
    damage(folder / "round-00000003" / file, how)
    ended = run(STRATEGY, journal=journal)
    assert [record.number for record in ended.records if record.rank == 0] == [3, 4]
    assert torch.equal(ended.weights[0], ended.weights[1])
    told = [event.text for event in ended.events if isinstance(event, Notice)]
    assert told and f"from round 2, because a newer entry is damaged: {folder / 'round-00000003'}" in told[0]


def test_if_no_entry_is_complete_the_run_does_not_start_over(run: Simulate, folder: Path) -> None:
    journal = Journal(folder, Retention())
    run(STRATEGY, journal=journal, stop=2)
    for entry in folder.iterdir():
        flip_a_bit(entry / "worker-0.npz")
    with pytest.raises(DistributedError, match=r"all saved rounds are damaged: .*to start again, remove this folder"):
        run(STRATEGY, journal=journal)


def test_an_entry_without_all_its_workers_parts_is_damaged(run: Simulate, folder: Path) -> None:
    journal = Journal(folder, Retention(newest=3))
    run(STRATEGY, 3, journal=journal, stop=2)
    entry = journal.newest()
    assert entry is not None and (entry.members, entry.parts) == ((0, 1, 2), [0, 1, 2])
    changed(members=[0, 1, 2, 5])(entry.path / "whole.json")
    entry = journal.newest()
    assert entry is not None and entry.round == 1


def test_a_state_that_is_not_finite_is_not_saved(run: Simulate, folder: Path, param: pb.SolverParameter) -> None:
    param.base_lr, param.weight_decay, param.max_iter = 1e30, 1e30, 1
    with pytest.raises(SolverError, match="iteration 1: the weights of layer 'ip' aren't finite, so they aren't saved"):
        run("averaging:tau=1", journal=Journal(folder, Retention()))
    assert not list(folder.glob("*/whole.json"))


def test_entries_that_other_workers_replaced_are_removed(tmp_path: Path) -> None:
    for after, members in [(0, (0, 1, 2)), (5, (0, 2)), (9, (0, 1, 2)), (7, (0, 2)), (7, (2,))]:
        note_membership(tmp_path, Membership(after, members))
    memberships = read_memberships(tmp_path)
    assert [(each.after, each.members) for each in memberships] == [(0, (0, 1, 2)), (5, (0, 2)), (7, (2,))]
    assert [members_after(memberships, number) for number in (0, 4, 5, 6, 7, 100)] == [
        (0, 1, 2),
        (0, 1, 2),
        (0, 2),
        (0, 2),
        (2,),
        (2,),
    ]
    assert members_after(memberships[1:], 4) == ()


@pytest.mark.parametrize("text", ["", "{}", '[{"after": 1, "members": [2, 1]}]', '[{"after": -1, "members": [1]}]'])
def test_a_damaged_file_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "memberships.json").write_text(text)
    with pytest.raises(DistributedError, match=r"memberships.json: the file is damaged|not a valid membership"):
        read_memberships(tmp_path)
