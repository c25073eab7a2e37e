"""The batch script of the documentation, on a real SLURM: it trains, and the run continues after a requeue and after
the loss of a node."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.hosts.laboratory import REPOSITORY, laboratory
from tests.hosts.slurm import Slurm, why_without_slurm
from tests.hosts.trainings import train_on_one_machine, trained_weights, training_command
from tests.patience import PATIENCE

pytestmark = [pytest.mark.hosts, pytest.mark.usefixtures("possible")]
_PAGE = REPOSITORY / "docs/clusters.md"
_ITERATIONS = 600


def _script() -> str:
    """Return the only batch script on the page."""
    (script,) = re.findall(r"^```bash\n(#!/bin/bash\n.*?)^```$", _PAGE.read_text(), re.MULTILINE | re.DOTALL)
    return script


def _undisturbed(slurm: Slurm, job: int) -> None:
    """Do nothing."""


def _requeue(slurm: Slurm, job: int) -> None:
    slurm.call("scontrol", "requeue", str(job))


def _lose_a_node(slurm: Slurm, job: int) -> None:
    nodes = slurm.state_of(job).rpartition("node")[2]
    slurm.lose(f"node{re.findall('[0-9]', nodes)[-1]}")


@pytest.mark.parametrize(("harm", "restarts"), [(_undisturbed, 0), (_requeue, 1), (_lose_a_node, 1)])
def test_the_batch_script_of_the_page_trains(
    harm: Callable[[Slurm, int], None], restarts: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if reason := why_without_slurm():
        pytest.skip(reason)
    expected = train_on_one_machine(tmp_path_factory.mktemp("one"), 2, iterations=_ITERATIONS)
    with laboratory(3) as made:
        training_command(made.folder, iterations=_ITERATIONS)
        (made.folder / "bin").mkdir()
        zoo = made.folder / "bin/zoo"
        zoo.write_text(f'#!/bin/sh\nexec {sys.executable} -m zoo "$@"\n')
        zoo.chmod(0o755)
        script = made.folder / "train.sbatch"
        script.write_text(_script())
        slurm = Slurm(made)
        path = f"{zoo.parent}:/usr/local/bin:/usr/bin:/bin"
        job = slurm.submit(script, {"PATH": path, "PYTHONPATH": str(REPOSITORY), "OMP_NUM_THREADS": "1"})
        _await(lambda: any(made.folder.glob("run/rounds/*")), slurm, job, made.folder)
        harm(slurm, job)
        _await(lambda: slurm.state_of(job).startswith("COMPLETED"), slurm, job, made.folder)
        assert slurm.state_of(job).split()[1] == str(restarts)
        assert trained_weights(made.folder) == expected


def _await(condition: Callable[[], bool], slurm: Slurm, job: int, folder: Path) -> None:
    until = time.monotonic() + PATIENCE
    while not condition():
        output = "\n".join(path.read_text() for path in folder.glob("slurm-*.out"))
        state = slurm.state_of(job)
        assert not state.startswith(("FAILED", "NODE_FAIL")) and time.monotonic() < until, f"{state}\n{output}"
        time.sleep(0.2)
