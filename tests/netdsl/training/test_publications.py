"""Snapshots and logs at addresses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from netdsl.distributed.run import Run
from netdsl.errors import SolverError, StorageError
from netdsl.solver.events import Action, Event, Notice, SnapshotSaved, TrainingProgress
from netdsl.solver.settings import open_settings
from netdsl.storage import publisher
from netdsl.storage.cache_folder import cache_folder
from netdsl.storage.drivers import DriverStorage
from netdsl.storage.local_copies import ALLOWED
from netdsl.training.job import train_alone
from netdsl.training.publications import published_log
from tests.memory_storage import Put, stored

PREFIX = "memory://bucket/snaps/small"
NET = """name: "small"
layer { name: "data" type: "Data" top: "data" top: "label" data_param { source: "digits" batch_size: 5 shuffle: true } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
        inner_product_param { num_output: 10 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
"""
SOLVER = """net: "net.prototxt" base_lr: 0.001 lr_policy: "fixed" momentum: 0.9 max_iter: 6 snapshot: 2 display: 1
random_seed: 1 snapshot_prefix: "PREFIX"
"""
NAMES = [f"small_iter_{number}.{kind}" for number in (2, 4, 6) for kind in ("caffemodel", "resume.json", "solverstate")]


@pytest.fixture
def run(put: Put, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Run]:
    monkeypatch.setenv(ALLOWED, "memory://bucket/snaps/")
    Path("net.prototxt").write_text(NET)

    def new_run(prefix: str = PREFIX, **settings: Any) -> Run:
        Path("solver.prototxt").write_text(SOLVER.replace("PREFIX", prefix))
        return Run(open_settings("solver.prototxt"), folder=Path.cwd(), **settings)

    return new_run


def outgoing() -> list[Path]:
    return list((cache_folder() / "outgoing").iterdir())


def stop_after(count: int) -> Callable[[], Action]:
    actions = iter([Action.NONE] * (count - 1) + [Action.STOP])
    return lambda: next(actions, Action.STOP)


def test_snapshots_are_published_and_resumed_to_the_same_bits(run: Callable[..., Run], published: list[str]) -> None:
    train_alone(run("here"))
    expected = Path("here_iter_6.caffemodel").read_bytes()
    train_alone(run(), requested=stop_after(3))
    for number in (2, 3):
        files = [address for address in published if f"_iter_{number}." in address]
        assert len(files) == 3 and files[-1] == f"{PREFIX}_iter_{number}.solverstate"
    assert not outgoing() and not list(Path.cwd().glob("memory*"))
    train_alone(run(snapshot="auto"))
    assert stored("/bucket/snaps")["/bucket/snaps/small_iter_6.caffemodel"] == expected
    train_alone(run("again", snapshot=f"{PREFIX}_iter_2.solverstate"))
    assert Path("again_iter_6.caffemodel").read_bytes() == expected and not outgoing()
    assert b"memory://bucket/snaps/small_iter_6.caffemodel" in stored()["/bucket/snaps/small_iter_6.solverstate"]


def test_a_damaged_snapshot_is_skipped_and_a_missing_one_is_an_error(run: Callable[..., Run], put: Put) -> None:
    train_alone(run(snapshot="auto"))  # there is none, so training begins
    assert sorted(name.rpartition("/")[2] for name in stored()) == NAMES
    put(f"{PREFIX}_iter_6.caffemodel", b"damaged")
    events: list[Event] = []
    solver = train_alone(run(snapshot="auto"), listeners=[events.append])
    notes = [event.text for event in events if isinstance(event, Notice)]
    assert len(notes) == 1 and notes[0].startswith("skipped a snapshot: ") and solver.iteration == 6
    assert [event.iteration for event in events if isinstance(event, TrainingProgress)] == [4, 5, 6]
    with pytest.raises(StorageError, match=r"^memory://bucket/snaps/small_iter_5.solverstate: there is no such file"):
        train_alone(run(snapshot=f"{PREFIX}_iter_5.solverstate"))
    for number in (2, 4, 6):
        put(f"{PREFIX}_iter_{number}.caffemodel", b"damaged")
    with pytest.raises(SolverError, match=f"^all snapshots of '{PREFIX}' are damaged"):
        train_alone(run(snapshot="auto"))


def test_training_goes_on_while_snapshots_cannot_be_published(
    run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publisher, "PAUSES", (0.01,))
    put_file, is_down = DriverStorage.put, [True]

    def put_or_fail(storage: DriverStorage, path: Path, address: str) -> None:
        if is_down:
            raise StorageError(f"{address}: can't be reached")
        put_file(storage, path, address)

    def mend_after_training(event: Event) -> None:
        if isinstance(event, SnapshotSaved) and event.iteration == 6:
            assert not stored()
            is_down.clear()

    monkeypatch.setattr(DriverStorage, "put", put_or_fail)
    train_alone(run(), listeners=[mend_after_training])
    assert sorted(name.rpartition("/")[2] for name in stored()) == NAMES and not outgoing()
    is_down.append(True)
    lost = pytest.raises(StorageError, match=r"can't be reached; copy the snapshots from /.*/outgoing/\w+/snaps$")
    with lost as left:
        train_alone(run())
    kept = Path(str(left.value).rpartition(" ")[2])
    assert sorted(path.name for path in kept.iterdir()) == NAMES


def test_a_file_may_only_name_an_address_that_is_allowed(
    run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(ALLOWED)
    with pytest.raises(StorageError, match=r"a file names this address.* set NETDSL_ALLOW_ADDRESSES=memory://bucket/"):
        run()


def test_a_log_is_published_after_snapshots_and_continued(run: Callable[..., Run], published: list[str]) -> None:
    address, notes = "memory://bucket/logs/log.jsonl", list[str]()
    for count in (1, 2):
        with published_log(address, notes.append) as log:
            train_alone(run(), listeners=[log])
        lines = [json.loads(line) for line in stored()["/bucket/logs/log.jsonl"].splitlines()]
        snapshots = [line for line in lines if line["event"] == "snapshot"]
        assert len(snapshots) == 3 * count and snapshots[-1]["model"] == f"{PREFIX}_iter_6.caffemodel"
    assert address in published and not notes and not outgoing()
