"""Probes of packages that are broken in various ways."""

from __future__ import annotations

from pathlib import Path

import pytest

from zoo.doctor.examination import run_probes
from zoo.doctor.results import Outcome

BROKEN = {
    "raising": "raise OSError('libraising.so: cannot open shared object file')",
    "crashing": "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
    "exiting": "raise SystemExit('no license')",
    "leaving": "import os; os.write(2, b'fatal: no license\\n'); os._exit(3)",
    "printing": "print('{\"result\": 1}')",
}


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, program in BROKEN.items():
        (tmp_path / f"{name}.py").write_text(program)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    return tmp_path


def test_each_probe_has_its_outcome_independently_of_the_others(broken: Path) -> None:
    names = ["json", "raising", "crashing", "exiting", "leaving", "printing", "gone", "string"]
    outcomes = dict(run_probes([("imports", name) for name in names]))
    assert {request[1]: outcome for request, outcome in outcomes.items()} == {
        "json": Outcome("json"),
        "raising": Outcome(problem="OSError: libraising.so: cannot open shared object file"),
        "crashing": Outcome(problem="it crashes with SIGSEGV"),
        "exiting": Outcome(problem="SystemExit: no license"),
        "leaving": Outcome(problem="it ends with code 3: fatal: no license"),
        "printing": Outcome("printing"),
        "gone": Outcome(problem="ModuleNotFoundError: No module named 'gone'"),
        "string": Outcome("string"),
    }


def test_a_hanging_probe_is_ended_with_its_children(broken: Path) -> None:
    (broken / "hanging.py").write_text("import os, time\nos.fork()\ntime.sleep(3600)")
    ((_, outcome),) = run_probes([("imports", "hanging")], limit=1)
    assert outcome.problem == "it takes more than 1 s"
