"""Runs at addresses: published while they train, resumed on another machine, and written by one process."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import fsspec
import pytest

from netdsl import Net
from netdsl.distributed import run_lease, run_storage
from netdsl.distributed.control.address import ControlAddress, LocalSocket
from netdsl.distributed.journal import Journal, Retention
from netdsl.distributed.launcher import WorkerSpec
from netdsl.distributed.run import Run
from netdsl.distributed.run_lease import VARIABLE
from netdsl.distributed.run_storage import check_published, hold, recorded_folder, run_folder
from netdsl.distributed.strategies.settings import parse
from netdsl.errors import DistributedError, StorageError
from netdsl.solver.events import Event
from netdsl.storage import outgoing, publisher
from netdsl.storage.drivers import DriverStorage
from netdsl.storage.local_copies import local_copy
from netdsl.training import job
from netdsl.training.backends import HERE
from netdsl.training.data_sources import with_data
from tests.memory_storage import Put
from tests.patience import PATIENCE
from zoo.names import solver_of

ADDRESS = "memory://bucket/run"
ROUND = "rounds/round-{:08}/whole.json"


def stored() -> dict[str, bytes]:
    """Return the files at the address, without leases."""
    system: Any = fsspec.filesystem("memory")
    files = {name.removeprefix("/bucket/run/"): system.cat_file(name) for name in system.find("/bucket")}
    return {name: data for name, data in files.items() if not name.startswith("lease-")}


def set_stored(files: dict[str, bytes]) -> None:
    system: Any = fsspec.filesystem("memory")
    system.store.clear()
    for name, data in files.items():
        system.pipe_file(f"/bucket/run/{name}", data)


@pytest.fixture
def machine(put: Put, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Return a function that goes to another machine, which has an empty cache, and returns the run's folder there."""

    def go_to(name: str) -> Path:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / name))
        monkeypatch.setattr(run_lease, "_machine", lambda: name)
        return run_folder(ADDRESS)

    return go_to


def small_run() -> Run:
    """Return LeNet on digits for a few iterations, in rounds of one iteration."""
    settings, _ = solver_of("lenet")
    fields: dict[str, Any] = {"max_iter": 3, "test_interval": 3, "test_iter": [1], "snapshot": 2, "random_seed": 1}
    solver = with_data(settings, "digits", None).with_fields(**fields, display=1)
    return replace(
        Run(solver.with_fields(test_initialization=False)),
        strategy=parse("averaging:tau=1"),
        workers=2,
        keeping=Retention(newest=2),
    )


def train_in(folder: Path) -> None:
    """Begin the run in a folder, or resume it, and train it to its end."""
    hear: list[Event] = []
    with job.holding(folder, HERE):
        run = None if (folder / "run.json").exists() else job.begin(small_run(), folder, HERE)
        job.train(folder, HERE, run=run, listeners=[hear.append])


def model(files: dict[str, bytes]) -> bytes:
    return files["model.caffemodel"]


@contextmanager
def states(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, bytes]]]:
    """Return the list of what the address holds after each change. A kill leaves one of them."""
    kept: list[dict[str, bytes]] = []
    with monkeypatch.context() as patch:
        for name in ("put", "remove"):
            changing = getattr(DriverStorage, name)

            def kept_after(self: DriverStorage, *words: Any, changing: Any = changing) -> None:
                changing(self, *words)
                kept.append(stored())

            patch.setattr(DriverStorage, name, kept_after)
        patch.setattr(outgoing, "AT_ONCE", 1)
        yield kept


def test_a_run_that_is_killed_at_any_moment_ends_on_another_machine_with_the_same_bits(
    machine: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = machine("first")
    with states(monkeypatch) as left:
        train_in(folder)
    files, undisturbed = stored(), (folder / "model.caffemodel").read_bytes()
    assert model(files) == undisturbed and "lenet_iter_2.resume.json" in files
    assert {"solver.prototxt", "run.json", "starts.json", "memberships.json", "records.jsonl", "log.jsonl"} < set(files)
    assert ROUND.format(3) in files and not any("control" in name or "ended" in name for name in files)
    begun = [each for each in left if "run.json" in each]
    assert len(begun) > 10
    middle = None
    for number, state in enumerate(begun[::3]):
        set_stored(state)
        with hold(machine(f"reader{number}")):
            folder = run_folder(ADDRESS)
            assert (folder / "solver.prototxt").exists()
            entry = Journal(folder / "rounds", Retention()).newest(pytest.fail)
        if middle is None and entry is not None:
            middle = state
    set_stored(middle or {})
    train_in(machine("second"))
    assert model(stored()) == undisturbed
    damage(stored(), machine)


def test_the_records_of_a_run_are_read_without_its_rounds(machine: Callable[[str], Path]) -> None:
    folder = machine("first")
    with hold(folder):
        (folder / "rounds").mkdir()
        (folder / "rounds" / "round-00000001").mkdir()
        for name in ("records.jsonl", "rounds/round-00000001/whole.json", "run.json", "model.caffemodel"):
            (folder / name).write_text(name)
    machine("second")
    folder = recorded_folder(ADDRESS)
    assert (folder / "records.jsonl").exists() and (folder / "model.caffemodel").exists()
    assert not (folder / "rounds").exists()
    with pytest.raises(StorageError, match="memory://bucket/none: there is no run at this address"):
        recorded_folder("memory://bucket/none")


def test_a_program_trains_at_an_address(machine: Callable[[str], Path]) -> None:
    machine("first")
    net = Net("lenet")
    net.train("digits", steps=2, workers=1, run=ADDRESS, strategy="averaging:tau=1")
    assert "model.caffemodel" in stored()


def test_a_round_is_published_although_workers_remove_it_meanwhile(
    machine: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = machine("first")
    part, put = folder / "rounds" / "round-00000001" / "worker-0.npz", DriverStorage.put

    def remove_and_put(self: DriverStorage, path: Path, address: str) -> None:
        part.unlink(missing_ok=True)
        put(self, path, address)

    with hold(folder):
        part.parent.mkdir(parents=True)
        part.write_text("values")
        (folder / "run.json").write_text("{}")
        (part.parent / "whole.json").write_text("{}")
        monkeypatch.setattr(DriverStorage, "put", remove_and_put)
        check_published(folder, saved=True)
        end = time.monotonic() + PATIENCE
        while ROUND.format(1) not in stored():
            assert time.monotonic() < end
            time.sleep(0.01)
        assert stored()["rounds/round-00000001/worker-0.npz"] == b"values"
    assert "rounds/round-00000001/worker-0.npz" not in stored()


def saved(folder: Path, name: str = "log.jsonl", text: str = "new") -> None:
    (folder / name).write_text(text)
    check_published(folder, saved=True)


def test_an_address_has_one_writer(machine: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "1")
    first = machine("first")
    with hold(first):
        saved(first, "run.json")
        held = pytest.raises(
            DistributedError, match=r"memory://bucket/run: the run is held by process .* which has just"
        )
        with held, hold(machine("second")):
            pytest.fail("two processes hold the run")
    notes: list[str] = []
    with hold(machine("second"), notes.append):
        assert (run_folder(ADDRESS) / "run.json").read_text() == "new" and not notes
    with hold(machine("first"), notes.append):
        assert "replaces an older state" in notes[0]


def test_files_that_a_killed_publication_left_are_removed(machine: Callable[[str], Path]) -> None:
    first = machine("first")
    with hold(first):
        saved(first, "run.json")
    fsspec.filesystem("memory").pipe_file("/bucket/run/rounds/round-00000009/worker-0.npz", b"without its round")
    with hold(machine("second")):
        pass
    assert list(stored()) == ["run.json"]


def test_a_silent_writer_is_replaced_and_ends(machine: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "0.5")
    first, notes = machine("first"), list[str]()
    with monkeypatch.context() as patch:
        patch.setattr(run_storage._Publisher, "_beat", lambda self: None)
        lost = pytest.raises(DistributedError, match="has taken the run over, so this process ends")
        with lost, hold(first):
            saved(first, "run.json")
            while not stored():
                time.sleep(0.01)
            with hold(machine("second"), notes.append):
                saved(first, "run.json", "old")
                end = time.monotonic() + PATIENCE
                while time.monotonic() < end:
                    check_published(first)
                    time.sleep(0.01)
    assert "takes it over" in notes[-1] and stored()["run.json"] == b"new"


def test_training_goes_on_while_the_storage_cannot_be_reached(
    machine: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, notes = machine("first"), list[str]()
    put = DriverStorage.put
    monkeypatch.setattr(publisher, "PAUSES", (0.01,))

    def fail(self: DriverStorage, path: Path, address: str) -> None:
        raise StorageError(f"{address}: can't be reached")

    with hold(folder, notes.append):
        monkeypatch.setattr(DriverStorage, "put", fail)
        saved(folder, "run.json")
        while not notes:
            check_published(folder)
        assert "training continues, and publishes its rounds later" in notes[0]
        monkeypatch.setattr(DriverStorage, "put", put)
        while len(notes) < 2:
            check_published(folder)
        assert "can be reached again" in notes[1] and stored()["run.json"] == b"new"
    kept = pytest.raises(StorageError, match=r"can't be reached; /.*/runs/\w+/working/run still has everything")
    with kept as problem, hold(folder):
        monkeypatch.setattr(DriverStorage, "put", fail)
        saved(folder, text="last")
    kept_folder = Path(str(problem.value).partition("; ")[2].partition(" still")[0])
    assert (kept_folder / "log.jsonl").read_text() == "last" and "log.jsonl" not in stored()
    monkeypatch.setattr(DriverStorage, "put", put)
    with hold(run_folder(ADDRESS), notes.append):
        pass
    assert stored()["log.jsonl"] == b"last"


def damage(whole: dict[str, bytes], machine: Callable[[str], Path]) -> None:
    """Test that damaged and missing files of a run are named."""
    part = "rounds/round-00000003/worker-0.npz"
    damaged = {**whole, part: whole[part][:-5] + b"wrong"}
    missing = {name: data for name, data in whole.items() if name != part}
    for name, files, problem in (
        ("a", damaged, "has changed since it was saved"),
        ("b", missing, "the file is missing"),
    ):
        set_stored(files)
        notes: list[str] = []
        with hold(machine(name)):
            Journal(run_folder(ADDRESS) / "rounds", Retention()).newest(notes.append)
        assert len(notes) == 1 and part in notes[0] and problem in notes[0] and "resumes from round 2" in notes[0]
    set_stored({**whole, "run.json": b"{"})
    with hold(machine("c")), pytest.raises(DistributedError, match=r"run\.json: the file is damaged"):
        Run.load(run_folder(ADDRESS))


def test_a_worker_elsewhere_copies_the_data_that_the_supervisor_was_given(
    put: Put, machine: Callable[[str], Path], tmp_path: Path
) -> None:
    address, folder = "memory://bucket/rows.csv", tmp_path / "run"
    put(address, "a,label\n1,0\n2,1\n")
    machine("first")
    solver = with_data(solver_of("lenet")[0], f"csv:{local_copy(address)}", None)
    run = Run(solver).settled()
    run.save(folder)
    addresses = tuple(run.copies().values())
    assert addresses == (address,)
    machine("second")
    (tmp_path / "first").rename(tmp_path / "unseen")
    with pytest.raises(StorageError, match="NETDSL_ALLOW_ADDRESSES"):
        Run.load(folder, in_worker=True)
    control = ControlAddress(LocalSocket(""), "")
    with WorkerSpec(str(folder), "", 1, control, 1.0, addresses=addresses).allowing():
        net = Run.load(folder, in_worker=True).solver.net_to_train.net
    sources = [layer.data_param.source.removeprefix("csv:") for layer in net.layer if layer.data_param.source]
    assert sources and all(Path(source).is_relative_to(tmp_path / "second") for source in sources), sources
