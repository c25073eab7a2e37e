"""`zoo report`: a run with several workers in numbers and pictures."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from netdsl.distributed.record import RoundRecord
from netdsl.distributed.run_log import RECORDS, open_run_log
from tests.zoo.logs.conftest import averaging, shards


def write(run: str, records: list[RoundRecord]) -> None:
    with open_run_log(Path(run)) as log:
        for record in records:
            log(record)


def rows(text: str) -> list[str]:
    """Lines with one space where there were more."""
    return [" ".join(line.split()) for line in text.splitlines()]


def test_a_run_in_numbers_and_pictures(zoo) -> None:
    write("run", averaging())
    done = zoo("report", "run")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[0] == (
        "run: 3 workers, 4 rounds, iteration 40 after 20.0 s: 2 iterations/s by each worker, 6 iterations/s in all"
    )
    table = rows(done.out)
    heads = "worker rounds iterations compute wait exchange test other MB divergence at last"
    assert heads in table
    assert "0 4 40 8.00 40% 8.00 40% 2.00 10% 2.00 10% 8.0 0.5208 0.25" in table
    assert "2 4 40 16.00 80% 2.00 10% 2.00 10% 8.0 2.521 2.25" in table
    assert "all 120 36.00 60% 12.00 20% 6.00 10% 2.00 3% 4.00 7%" in table
    assert "test accuracy: best 1 at iteration 30, last 0.9 at iteration 40\n" in done.out
    assert "test loss: best 0.25 at iteration 40, last 0.25 at iteration 40\n" in done.out
    for name in ("rounds.png", "curves.png"):
        assert Path("run", name).read_bytes().startswith(b"\x89PNG")


def test_exchanges_beside_computing_and_nothing_that_is_not(zoo) -> None:
    write("run", shards())
    table = rows(zoo("report", "run").out)
    assert "worker rounds iterations compute broadcast reduce prepare" in table
    assert "0 6 24 12.00 100% 6.00 9.00 3.00" in table


def test_one_worker(zoo) -> None:
    write("run", averaging(rounds=1, workers=1))
    out = zoo("report", "run").out
    assert out.startswith("run: 1 worker, 1 round, iteration 10 after 5.0 s: 2 iterations/s in all\n")
    assert not any(row.startswith("all") for row in rows(out))


def test_json_and_a_folder_for_the_pictures(zoo) -> None:
    write("run", averaging())
    done = zoo("report", "run", "--json", "-o", "pictures/here")
    found = json.loads(done.out)
    assert (found["run"], found["rounds"], found["iterations_per_second"]) == ("run", 4, 6.0)
    assert found["workers"][1]["times"]["wait"] == 4.0
    assert found["tests"][0] == {
        "name": "accuracy", "best": 1.0, "best_iteration": 30, "last": 0.9, "last_iteration": 40
    }  # fmt: skip
    assert sorted(path.name for path in Path("pictures/here").iterdir()) == ["curves.png", "rounds.png"]
    assert not list(Path("run").glob("*.png"))


def test_a_run_that_was_killed_or_is_under_way(zoo) -> None:
    write("run", averaging())
    path = Path("run", RECORDS)
    path.write_bytes(path.read_bytes()[:-30])
    done = zoo("report", "run")
    assert (done.code, done.err) == (0, "")
    assert any(row.startswith("2 3 30 ") for row in rows(done.out))


def test_what_is_no_run(zoo) -> None:
    Path("other").mkdir()
    for name in ("missing", "other"):
        done = zoo("report", name)
        assert (done.code, done.out) == (2, "")
        assert done.err == (
            f"zoo: {name}/records.jsonl: can't be read: No such file or directory; "
            "name the folder of a run with several workers\n"
        )


def test_a_run_without_rounds(zoo) -> None:
    write("run", [])
    done = zoo("report", "run")
    assert (done.code, done.err) == (2, "zoo: run: no round is complete yet; try again later\n")


def test_pictures_that_cannot_be_written(zoo) -> None:
    write("run", averaging())
    Path("file").touch()
    done = zoo("report", "run", "-o", "file")
    assert (done.code, done.err) == (2, "zoo: file: can't be created: File exists\n")


def test_the_table_needs_no_matplotlib(zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    write("run", averaging())
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = zoo("report", "run")
    assert "iterations/s in all" in done.out
    assert (done.code, done.err) == (2, "zoo: plots need matplotlib: pip install 'netdsl[logs]'\n")
