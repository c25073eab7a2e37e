"""The log of a run, which survives kills and is read back, and reports on their way to it."""

from __future__ import annotations

import json
import resource
from pathlib import Path

import msgspec
import pytest

from caffe_proto.errors import FileError
from netdsl.distributed.journal import Journal, Retention
from netdsl.distributed.run_log import (
    RECORDS,
    Activity,
    RoundRecord,
    Span,
    Told,
    from_plain,
    open_run_log,
    read_records,
    to_plain,
)
from netdsl.errors import DistributedError
from netdsl.model.weights.match import LoadReport
from netdsl.solver import events
from netdsl.solver.events import IterationFinished, Output
from tests.netdsl.distributed.conftest import Simulate

SPANS = [Span(Activity.COMPUTE, 2.5, 3.0), Span(Activity.REDUCE, 2.75, 3.5, 2)]
FIRST = RoundRecord(1, 0, 2.5, 3.5, 10, 5, 0.5, 0.25, 0.125, 64, 0.75, {"accuracy": 0.5}, SPANS)
OUTPUTS = (Output("loss", (0.5,), 1.0), Output("prob", (0.25, 0.75)))


def write(run: Path, *records: RoundRecord) -> None:
    with open_run_log(run) as log:
        for record in records:
            log(record)


def cut(run: Path, size: int) -> None:
    path = run / RECORDS
    path.write_bytes(path.read_bytes()[:-size])


def test_a_runs_log_is_read_back(run: Simulate, folder: Path, tmp_path: Path) -> None:
    journal = Journal(folder, Retention())
    stopped = run("averaging:tau=3", journal=journal, stop=2)
    write(tmp_path / "run", *stopped.records)
    ended = run("averaging:tau=3", journal=journal)
    write(tmp_path / "run", *ended.records)
    found = read_records(tmp_path / "run")
    assert [(each.number, each.rank) for each in found] == [
        (number, rank) for number in (1, 2, 3, 4) for rank in (0, 1)
    ]
    assert found == sorted(stopped.records + ended.records, key=lambda record: (record.number, record.rank))


def test_each_record_is_readable_as_soon_as_it_is_written(tmp_path: Path) -> None:
    with open_run_log(tmp_path) as log:
        assert read_records(tmp_path) == []
        log(FIRST)
        assert read_records(tmp_path) == [FIRST]


def test_the_last_record_of_a_repeated_round_counts(tmp_path: Path) -> None:
    again = RoundRecord(2, 1, 7.5, 8.5, divergence=0.5)
    write(tmp_path, RoundRecord(2, 1, 3.5, 4.5), RoundRecord(1, 1, 2.5), FIRST, RoundRecord(2, 0, 3.5), again)
    assert read_records(tmp_path) == [FIRST, RoundRecord(1, 1, 2.5), RoundRecord(2, 0, 3.5), again]


def test_a_line_that_a_kill_truncated_is_ignored(tmp_path: Path) -> None:
    write(tmp_path, FIRST, RoundRecord(2, 0, 3.5))
    cut(tmp_path, 1)  # complete except for its end record
    assert read_records(tmp_path) == [FIRST]
    write(tmp_path, RoundRecord(3, 0, 4.5))
    assert read_records(tmp_path) == [FIRST, RoundRecord(3, 0, 4.5)]


def test_a_truncated_first_line_is_ignored(tmp_path: Path) -> None:
    write(tmp_path, FIRST)
    cut(tmp_path, 20)
    assert read_records(tmp_path) == []
    write(tmp_path, FIRST)
    assert read_records(tmp_path) == [FIRST]


def test_nan_values_survive(tmp_path: Path) -> None:
    write(tmp_path, RoundRecord(1, 0, 2.5, divergence=float("nan"), accuracy={"loss": float("inf")}))
    (found,) = read_records(tmp_path)
    assert found.divergence != found.divergence
    assert found.accuracy == {"loss": float("inf")}


def record_with(**changes: object) -> str:
    return json.dumps(to_plain(FIRST) | changes)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "\0\0\0",
        "[1, 2]",
        "5",
        "[" * 100_000,
        '{"kind": "Record", "number": 1}',
        json.dumps(to_plain(IterationFinished(3))),
        record_with(kind="Other"),
        record_with(number="one"),
        record_with(stop=None),
        record_with(divergence="far"),
        record_with(accuracy=[0.5]),
        record_with(accuracy={"accuracy": "good"}),
        record_with(spans=5),
        record_with(spans=[{"activity": "sleep", "start": 0.5, "stop": 1.5}]),
        record_with(spans=[{"activity": "test", "start": "early", "stop": 1.5}]),
    ],
)
def test_a_line_that_is_not_a_record_is_refused(tmp_path: Path, line: str) -> None:
    write(tmp_path, FIRST)
    with (tmp_path / RECORDS).open("a") as file:
        file.write(line + "\n")
    with pytest.raises(
        DistributedError, match=r"records.jsonl:2: the line isn't the record of a round; remove this line"
    ):
        read_records(tmp_path)


def test_a_folder_without_a_log_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        DistributedError,
        match=r"records.jsonl: the records can't be read: No such file.*name a folder that --run wrote",
    ):
        read_records(tmp_path)


def test_a_log_in_an_impossible_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("")
    with pytest.raises(FileError, match=r"records.jsonl: the file can't be written"), open_run_log(tmp_path / "run"):
        pass


def test_a_full_disk_is_reported(tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with open_run_log(tmp_path) as log:
        log(FIRST)
        resource.setrlimit(resource.RLIMIT_FSIZE, ((tmp_path / RECORDS).stat().st_size + 10, before[1]))
        try:
            with pytest.raises(FileError, match=r"records.jsonl: the file can't be written: File too large"):
                log(FIRST)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert read_records(tmp_path) == [FIRST]


@pytest.mark.parametrize(
    "told",
    [
        events.NetCreated("net_param", 1, (events.CreatedLayer("a", ("x",), ("y",), ((2, 3),), (0.5,)),), ("y",)),
        events.DataOpened("folder:a", 3, ("cat", "dog"), True),
        events.WeightsLoaded((Path("a.caffemodel"),), LoadReport(("a",), ("b",), (), ())),
        events.IterationFinished(3),
        events.TrainingProgress(20, 0.5, 0.01, OUTPUTS),
        events.DebugInfo(20, (events.BlobMagnitude("conv1", "0", True, False, 0.5),)),
        events.TestStarted(20, 1),
        events.TestFinished(20, 1, None, OUTPUTS),
        events.TestFinished(20, 1, 0.25, OUTPUTS),
        events.SnapshotSaved(20, Path("a.caffemodel"), Path("a.solverstate")),
        RoundRecord(4, 1, 2.5, 3.5, accuracy={"accuracy": 0.9}, spans=[Span(Activity.COMPUTE, 2.5, 3.0, 2)]),
    ],
    ids=lambda told: type(told).__name__,
)
def test_a_report_is_read_as_it_was_sent(told: Told) -> None:
    assert from_plain(msgspec.msgpack.decode(msgspec.msgpack.encode(to_plain(told)))) == told


def test_a_report_of_an_unknown_kind_is_refused() -> None:
    with pytest.raises(DistributedError, match=r"sent an unknown report.*Nonsense"):
        from_plain({"kind": "Nonsense"})
