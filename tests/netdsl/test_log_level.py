from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OPENING = "import netdsl; netdsl.open_model('examples/digits.prototxt')"


def run(level: str, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {"NETDSL_LOG": level, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, *command], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


def test_records_are_shown_from_the_wanted_level_on() -> None:
    assert run("", "-c", OPENING).stderr == ""
    assert run("Warning", "-c", OPENING).stderr == ""
    assert "INFO netdsl.model.opening: opened net 'digits'" in run("info", "-c", OPENING).stderr


@pytest.mark.parametrize("command", [["-m", "zoo", "--version"], ["-c", OPENING]])
def test_a_level_that_does_not_exist_is_refused_in_a_sentence(command: list[str]) -> None:
    done = run("loud", *command)
    assert done.returncode and done.stdout == ""
    sentence = "NETDSL_LOG=loud: the level is unknown; set it to debug, info, warning, error"
    assert sentence in done.stderr.splitlines()[-1]
    assert command[0] == "-c" or "Traceback" not in done.stderr


def test_workers_show_records_in_their_logs(tmp_path: Path) -> None:
    command = ["train", "lenet", "--data", "digits", "--max-iter", "2", "--workers", "2", "--run"]
    done = run("debug", "-m", "zoo", *command, str(tmp_path / "run"))
    assert done.returncode == 0, done.stderr
    assert "INFO netdsl.distributed.supervisor: starting 2 workers" in done.stderr
    logs = [path.read_text() for path in (tmp_path / "run").rglob("*.log")]
    assert sum("INFO netdsl.distributed.transports.connect: worker" in log for log in logs) == 2
