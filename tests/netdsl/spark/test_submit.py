"""The command line with Spark, alone and under spark-submit."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from netdsl.distributed.run import Run
from netdsl.distributed.run_worker import MODEL

pytestmark = pytest.mark.spark

BIN = Path(sys.executable).parent
TRAIN = ["train", "lenet", "--data", "digits", "--workers", "2", "--backend", "spark", "--max-iter", "4"]
TRAIN += ["--strategy", "averaging:tau=2", "--run"]


def called(*words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(list(map(str, words)), capture_output=True, text=True, env={**os.environ, **environment})


def test_the_command_line_runs_on_spark(folder: Path) -> None:
    done = called(BIN / "zoo", *TRAIN, folder)
    assert done.returncode == 0, done.stderr
    assert (folder / MODEL).exists()
    reported = called(BIN / "zoo", "report", folder)
    assert "2 workers, 2 rounds, iteration 4" in " ".join(reported.stdout.split())  # for a terminal of any width
    assert reported.stdout.count(socket.gethostname()) == 2
    failed = called(BIN / "zoo", *TRAIN, "other", "--master", "nowhere")
    assert failed.returncode == 2
    assert failed.stderr.splitlines()[-1].startswith("zoo: Spark doesn't start at master 'nowhere'")


def test_the_command_runs_under_spark_submit(folder: Path) -> None:
    submit = [BIN / "spark-submit", "--master", "local-cluster[2,2,1024]", "--conf", "spark.task.cpus=2"]
    submit += ["--conf", "spark.ui.enabled=false", BIN / "zoo-spark.py"]
    done = called(*submit, *TRAIN, folder, "--transport", "relay", PYSPARK_PYTHON=sys.executable)
    assert done.returncode == 0, done.stderr
    assert (folder / MODEL).exists()
    assert Run.load(folder).threads == 2
    failed = called(*submit, *TRAIN, folder, PYSPARK_PYTHON=sys.executable)
    assert failed.returncode == 2
    # The complete output.
    assert (
        f"zoo: {folder}: the folder already contains a run; name another folder with --run, or continue that one: "
        f"zoo train --resume {folder}" in failed.stdout.splitlines()
    )
