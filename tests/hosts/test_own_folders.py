"""A run's folder on the disk of one host is enough: workers on other hosts fetch and send what belongs to the run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from netdsl.distributed.control.identity import SECRET
from tests.hosts import loop_driver
from tests.hosts.laboratory import laboratory
from tests.hosts.trainings import (
    SETTINGS,
    Launcher,
    start_training,
    train_on_one_machine,
    trained_weights,
    training_command,
)
from tests.patience import PATIENCE

pytestmark = [pytest.mark.hosts, pytest.mark.usefixtures("possible")]

_HOSTS, _ITERATIONS = 3, 8


@pytest.mark.parametrize("launcher", [Launcher.TORCHRUN, Launcher.MPI, Launcher.SPARK])
def test_workers_train_without_a_common_folder(launcher: Launcher, tmp_path_factory: pytest.TempPathFactory) -> None:
    expected = train_on_one_machine(tmp_path_factory.mktemp("one"), _HOSTS, iterations=_ITERATIONS)
    with laboratory(_HOSTS) as made:
        first, folder = made.hosts[0], made.folder
        command = training_command(folder, "--run", "/tmp/run", iterations=_ITERATIONS)
        programs = start_training(launcher, made, command, environment={SECRET: "only for workers of this training"})
        codes = [program.wait(3 * PATIENCE) for program in programs]
        assert not any(codes), programs[0].text()
        assert "doesn't see /tmp/run" in programs[0].text()
        first.call("cp", "-r", "/tmp/run", str(folder / "run"))
        assert trained_weights(folder) == expected
        for other in made.hosts[1:]:
            assert not other.call("sh", "-c", "ls -d /tmp/run /tmp/.netdsl-* 2>/dev/null || true")


def test_a_programs_own_loop_runs_without_a_common_folder(tmp_path: Path) -> None:
    words = [sys.executable, loop_driver.__file__]
    subprocess.run(
        [*words, str(tmp_path / "one.npz"), "--master", "local[2]"], env={**os.environ, **SETTINGS}, check=True
    )
    with laboratory(loop_driver.WORKERS) as made:
        (driver,) = start_training(Launcher.SPARK, made, [*words, "several.npz"])
        assert driver.wait(3 * PATIENCE) == 0, driver.text()
        expected, found = np.load(tmp_path / "one.npz"), np.load(made.folder / "several.npz")
        assert expected.files == found.files
        assert [expected[name].tobytes() for name in expected] == [found[name].tobytes() for name in found]
        for host in made.hosts:
            left = host.call("find", "/tmp", "-maxdepth", "1", "-name", "netdsl-*", "-o", "-name", ".netdsl-*").split()
            assert left == [str(made.folder)]
