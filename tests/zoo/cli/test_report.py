"""`zoo report`: a run in numbers, and as a page."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from netdsl.distributed.run_log import EVENTS, RECORDS
from tests.zoo.logs.conftest import averaging, shards
from tests.zoo.report.recorded import net, write_run
from zoo.report.page import _template_library


def rows(text: str) -> list[str]:
    """Return lines with runs of spaces reduced to one."""
    return [" ".join(line.split()) for line in text.splitlines()]


def test_a_run_is_reported_in_numbers_and_as_a_page(zoo) -> None:
    write_run(Path("run"), averaging())
    done = zoo("report", "run")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[0] == (
        "run: 3 workers, 4 rounds, iteration 40 after 20.0 s: 2 iterations/s by each worker, 6 iterations/s in total"
    )
    table = rows(done.out)
    heads = "worker rounds iterations compute wait exchange test other MB divergence final"
    assert heads in table
    assert "0 4 40 8.00 40% 8.00 40% 2.00 10% 2.00 10% 8.0 0.5208 0.25" in table
    assert "2 4 40 16.00 80% 2.00 10% 2.00 10% 8.0 2.521 2.25" in table
    assert "all 120 36.00 60% 12.00 20% 6.00 10% 2.00 3% 4.00 7%" in table
    assert "test accuracy: best 1 at iteration 30, last 0.9 at iteration 40\n" in done.out
    assert "test loss: best 0.25 at iteration 40, last 0.25 at iteration 40\n" in done.out
    assert done.out.endswith("page: run/report.html\n")
    page = Path("run/report.html").read_text()
    assert page.startswith("<!doctype html>") and page.rstrip().endswith("</html>")
    for heading in ("Curves", "Predictions", "What was trained", "The net", "Slowest layers", "Workers"):
        assert f">{heading}</h2>" in page
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "") and "https://" not in page


def test_the_table_shows_overlapped_exchanges_and_no_empty_columns(zoo) -> None:
    write_run(Path("run"), shards())
    table = rows(zoo("report", "run").out)
    assert "worker rounds iterations compute broadcast reduce prepare" in table
    assert "0 6 24 12.00 100% 6.00 9.00 3.00" in table


def test_a_run_of_one_worker_is_reported(zoo) -> None:
    write_run(Path("run"), averaging(rounds=1, workers=1))
    out = zoo("report", "run").out
    assert out.startswith("run: 1 worker, 1 round, iteration 10 after 5.0 s: 2 iterations/s in total\n")
    assert not any(row.startswith("all") for row in rows(out))


def test_values_that_cannot_vary_have_no_curve(zoo) -> None:
    records = averaging(rounds=4, workers=1)
    for record in records:
        record.divergence = 0.0
    write_run(Path("run"), records)  # at a fixed rate
    zoo("report", "run")
    page = Path("run/report.html").read_text()
    assert "<figcaption>Loss</figcaption>" in page
    assert "Distance of workers" not in page and "<figcaption>Learning rate</figcaption>" not in page
    write_run(Path("several"), lr_policy="inv")
    zoo("report", "several")
    page = Path("several/report.html").read_text()
    assert "Distance of workers" in page and "<figcaption>Learning rate</figcaption>" in page


def test_json_is_printed_and_the_page_can_be_written_elsewhere(zoo) -> None:
    write_run(Path("run"), averaging(), weights=False)
    done = zoo("report", "run", "--json", "-o", "pages/here")
    found = json.loads(done.out)
    assert (found["run"], found["rounds"], found["iterations_per_second"]) == ("run", 4, 6.0)
    assert found["workers"][1]["times"]["wait"] == 4.0
    assert found["tests"][0] == {
        "name": "accuracy", "best": 1.0, "best_iteration": 30, "last": 0.9, "last_iteration": 40
    }  # fmt: skip
    assert [path.name for path in Path("pages/here").iterdir()] == ["report.html"]
    assert not list(Path("run").glob("*.html"))
    assert zoo("report", "run", "--items", "0", "-o", "one.html").code == 0 and Path("one.html").is_file()


def test_a_killed_or_running_run_is_reported(zoo) -> None:
    write_run(Path("run"), averaging())
    path = Path("run", RECORDS)
    path.write_bytes(path.read_bytes()[:-30])
    done = zoo("report", "run")
    assert (done.code, done.err) == (0, "")
    assert any(row.startswith("2 3 30 ") for row in rows(done.out))


def test_a_folder_that_is_not_a_run_is_refused(zoo) -> None:
    Path("other").mkdir()
    for name in ("missing", "other"):
        done = zoo("report", name)
        assert (done.code, done.out) == (2, "")
        assert done.err == (
            f"zoo: {name}/run.json: the run can't be read: No such file or directory; name a folder that --run wrote\n"
        )


def test_a_run_without_rounds_is_reported(zoo) -> None:
    write_run(Path("run"), weights=False)
    Path("run", RECORDS).write_bytes(b"")
    done = zoo("report", "run")
    assert (done.code, done.err) == (
        2,
        "zoo: run: no round is complete yet; wait until one is, or read why in the run's log\n",
    )


def test_an_unwritable_page_is_an_error(zoo) -> None:
    write_run(Path("run"), averaging(), weights=False)
    Path("file").touch()
    done = zoo("report", "run", "--items", "0", "-o", "file")
    problem = "this isn't a folder; choose another folder, or move the file away"
    assert (done.code, done.err) == (2, f"zoo: file: {problem}\n")


def test_the_table_needs_no_jinja(zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    write_run(Path("run"), averaging(), weights=False)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    _template_library.cache_clear()
    done = zoo("report", "run", "--items", "0")
    assert "iterations/s in total" in done.out
    assert (done.code, done.err) == (2, "zoo: the page of a report needs Jinja2: pip install 'netdsl[logs]'\n")


def test_an_unfinished_run_without_tests_or_weights_is_reported(zoo) -> None:
    records = averaging(rounds=2)
    for record in records:
        record.accuracy, record.divergence = {}, None
    write_run(Path("run"), records, events=(), weights=False)
    assert zoo("report", "run").code == 0
    page = Path("run/report.html").read_text()
    assert "This training isn't finished. The page shows the results so far." in page
    assert "There are no losses or test results yet." in page
    assert "There are no weights yet: neither a model nor a snapshot." in page


def test_missing_data_are_reported(zoo) -> None:
    params = net()
    for layer in params.message.layer:
        layer.data_param.source = layer.data_param.source.replace("digits", "lmdb:gone")
    write_run(Path("run"), averaging(), params=params, weights=False)
    done = zoo("report", "run")
    assert done.code == 0
    assert "can&#39;t be opened here, so shapes are guesses" in Path("run/report.html").read_text()


def test_damaged_lines_are_reported(zoo) -> None:
    write_run(Path("run"), averaging(), weights=False)
    with Path("run", EVENTS).open("a") as log:
        log.write('{"event": "train", "itera\n5\n')
    done = zoo("report", "run", "--items", "0")
    assert (done.code, done.err) == (0, "zoo: log.jsonl contains 2 damaged lines, which are left out here\n")
    lines = Path("run", RECORDS).read_text().splitlines(keepends=True)
    Path("run", RECORDS).write_text("".join([*lines[:2], "{oh\n", *lines[2:]]))
    done = zoo("report", "run", "--items", "0")
    assert (done.code, done.err) == (
        2,
        "zoo: run/records.jsonl:3: the line isn't the record of a round; remove this line\n",
    )


def test_damaged_records_of_starts_are_reported(zoo) -> None:
    write_run(Path("run"), averaging(), weights=False)
    Path("run/starts.json").write_text("{")
    done = zoo("report", "run", "--items", "0")
    assert done.code == 0 and done.err.startswith("zoo: run/starts.json: the file is damaged: ")


def test_several_runs_are_compared(zoo) -> None:
    write_run(Path("a"), averaging(rounds=4), weights=False)
    write_run(Path("b"), averaging(rounds=3), weights=False, base_lr=0.5)
    done = zoo("report", "a", "b")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("a: 3 workers") and "\nb: 3 workers" in done.out
    assert done.out.endswith("page: comparison.html\n")
    page = Path("comparison.html").read_text()
    settings = page.split('id="settings"')[1].split("</section>")[0]
    rows = re.findall(r'<th scope="row">(.*?)</th><td>(.*?)</td><td>(.*?)</td>', settings)
    assert ("base_lr", "0.1", "0.5") in rows and {name for name, *_ in rows} <= {"base_lr", "random_seed"}
    accuracy = re.search(r"test accuracy, last</th><td>(.*?)</td><td class=.best.>1 ", page)
    assert accuracy is not None and accuracy[1] == "0.9"
    assert [run["run"] for run in json.loads(zoo("report", "a", "b", "--json").out)] == ["a", "b"]
