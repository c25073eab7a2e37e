"""A run's folder on the disk of one host is enough: workers on other hosts fetch and send what belongs to the run."""

from __future__ import annotations

import pytest

from netdsl.distributed.control.identity import SECRET
from tests.hosts.laboratory import laboratory
from tests.hosts.trainings import (
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
            assert not other.call("sh", "-c", "ls -d /tmp/run /tmp/netdsl-run-* 2>/dev/null || true")
