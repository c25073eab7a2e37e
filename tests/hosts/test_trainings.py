"""Training on several hosts ends with the bits of one machine, or soon and with the reason, whatever the network is.

The limits of time are seconds beyond those of a training on one machine, so that they hold on a slow machine too.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from tests.hosts.laboratory import Laboratory, Network, Program, laboratory
from tests.hosts.trainings import (
    MASTER_PORT,
    NET,
    Launcher,
    start_training,
    train_on_one_machine,
    trained_weights,
    training_command,
)
from tests.patience import PATIENCE

pytestmark = [pytest.mark.hosts, pytest.mark.usefixtures("possible")]

_EVERY = (Launcher.TORCHRUN, Launcher.SLURM, Launcher.MPI, Launcher.SPARK)
_RANKED = (Launcher.TORCHRUN, Launcher.SLURM)
_HIGH_PORTS = "ct state new tcp dport 1024-65535"
_APART = r"worker \d on node[12] can't reach worker \d on node[12]: 10\.77\.0\.[23] "  # Spark chooses the ranks
_DRIVER_AT_ONE_ADDRESS = ("spark.driver.host=10.77.0.1", "spark.driver.bindAddress=0.0.0.0")
_DEADLINE = 6.0  # seconds
_SLOWNESS = {Launcher.SPARK: 12.0}  # how many times the seconds of one machine a launcher may need to start
_USUAL_SLOWNESS = 4.0


@dataclass(frozen=True)
class Scenario:
    """What is special about the hosts and the training, and how it ends."""

    network: Network = field(default_factory=Network)
    launchers: Sequence[Launcher] = _EVERY
    hosts: int = 2
    net: str = NET
    iterations: int = 4
    options: Sequence[str] = ()
    spark: Sequence[str] = ()  # Spark's settings
    harm: Callable[[Laboratory], object] | None = None
    harm_at: str = "run/rounds/*"  # the files with which the harm happens, which are a saved round by default
    refusal: str = ""  # a pattern of the reason with which each program ends; empty if the training succeeds
    refused_from: int = 0  # the first program that ends with it; the programs before it are killed
    advice: str = ""  # what at least one program advises
    seconds: float = 30.0  # until all programs have ended
    says: str = ""  # a pattern of what at least one program says


def _cut(made: Laboratory) -> None:
    made.hosts[-1].cut()


def _cut_for(seconds: float, made: Laboratory) -> None:
    made.hosts[-1].cut()
    time.sleep(seconds)
    made.hosts[-1].mend()


SCENARIOS = {
    "plain": Scenario(),
    "master_is_localhost": Scenario(launchers=[Launcher.KUBEFLOW]),
    "own_name_is_loopback": Scenario(Network(own_name_is_loopback=True)),
    "ipv6_only": Scenario(  # MPICH's mpiexec needs IPv4
        Network(ipv6_only=True), launchers=[Launcher.TORCHRUN, Launcher.SLURM, Launcher.SPARK]
    ),
    "dead_interface": Scenario(
        Network(dead_interface=True), launchers=[Launcher.TORCHRUN, Launcher.SLURM, Launcher.MPI]
    ),
    "the_driver_has_a_dead_interface": Scenario(
        Network(dead_interface=True),
        launchers=[Launcher.SPARK],
        refusal=r"slots for only 1 after.*spark\.driver\.host",
        seconds=150.0,
    ),
    "the_driver_names_its_other_interface": Scenario(
        Network(dead_interface=True), launchers=[Launcher.SPARK], spark=_DRIVER_AT_ONE_ADDRESS
    ),
    "gigabit": Scenario(Network(bandwidth="1gbit")),
    "cut_for_a_while": Scenario(
        launchers=[Launcher.TORCHRUN, Launcher.MPI],
        iterations=400,
        options=["--deadline", "60"],
        harm=partial(_cut_for, 3.0),
        seconds=90.0,
    ),
    "only_the_master_port_is_open": Scenario(
        Network(firewalls={0: f"{_HIGH_PORTS} tcp dport != {MASTER_PORT} drop"}),
        launchers=[Launcher.TORCHRUN],
        options=["--transport", "relay"],
    ),
    "workers_apart_with_a_relay": Scenario(
        Network(firewalls={2: "ip saddr 10.77.0.2 drop"}),
        launchers=_RANKED,
        hosts=3,
        options=["--transport", "relay"],
    ),
    **{
        f"workers_apart_by_{verdict}": Scenario(
            Network(firewalls={2: f"ip saddr 10.77.0.2 {verdict}"}),
            launchers=[Launcher.TORCHRUN, Launcher.SLURM, Launcher.SPARK],
            hosts=3,
            options=["--deadline", str(_DEADLINE)],
            spark=["spark.shuffle.io.connectionCreationTimeout=5s"],  # else Spark's executors wait 120 s for each other
            says=rf"transport relay instead of gloo: {_APART}",
        )
        for verdict in ("drop", "reject")
    },
    "workers_apart_with_gloo": Scenario(
        Network(firewalls={2: "ip saddr 10.77.0.2 drop"}),
        launchers=[Launcher.TORCHRUN, Launcher.SLURM, Launcher.SPARK],  # MPI itself needs a way between all ranks
        hosts=3,
        options=["--deadline", str(_DEADLINE), "--transport", "gloo"],
        refusal=rf"transport gloo: {_APART}.*--transport relay",
    ),
    **{
        f"firewall_{verdict}s": Scenario(
            Network(firewalls={0: f"{_HIGH_PORTS} {verdict}"}),
            launchers=_RANKED,
            refusal=r"can't be reached from node1",
            advice="--port",
            seconds=60.0,
        )
        for verdict in ("drop", "reject")
    },
    "firewall_before_the_driver": Scenario(
        Network(firewalls={0: f"tcp dport {MASTER_PORT} drop"}),
        launchers=[Launcher.SPARK],
        refusal=r"node1: the control server at \S+ can't be reached.*spark\.driver\.host",
        seconds=120.0,
    ),
    "the_driver_is_reached_at_one_address": Scenario(
        launchers=[Launcher.SPARK],
        spark=_DRIVER_AT_ONE_ADDRESS,
    ),
    "the_first_worker_is_killed_early": Scenario(
        launchers=_RANKED,
        harm=lambda made: made.hosts[0].call("pkill", "-KILL", "-f", "zoo train"),
        harm_at="run/lease.json",
        refusal=r"the first worker, process \d+ of \S+ on node0 since [^,]*, ended without a reason",
        refused_from=1,
        seconds=40.0,
    ),
    "the_first_worker_fails": Scenario(
        net=NET.replace('bottom: "data"', 'bottom: "nothing"'), refusal=r"layer 'ip'.*nothing", seconds=15.0
    ),
    "cut_for_good": Scenario(
        launchers=[Launcher.TORCHRUN, Launcher.SLURM, Launcher.MPI],
        iterations=1_000_000,
        options=["--deadline", str(_DEADLINE)],
        harm=_cut,
        refusal=r"no sign of life|supervisor",
        seconds=_DEADLINE + 20.0,
    ),
}
CELLS = [
    pytest.param(launcher, scenario, id=f"{name}-{launcher.value}")
    for name, scenario in SCENARIOS.items()
    for launcher in scenario.launchers
]


@dataclass(frozen=True)
class Undisturbed:
    """The weights of a training on one machine, and its seconds."""

    weights: dict[str, bytes]
    seconds: float


Undisturbedly = Callable[[int, int], Undisturbed]


@pytest.fixture(scope="session")
def on_one_machine(tmp_path_factory: pytest.TempPathFactory) -> Undisturbedly:
    """Train on one machine, once for each number of workers and iterations."""
    done: dict[tuple[int, int], Undisturbed] = {}

    def train(workers: int, iterations: int) -> Undisturbed:
        if (workers, iterations) not in done:
            begun = time.monotonic()
            weights = train_on_one_machine(tmp_path_factory.mktemp("one"), workers, iterations=iterations)
            done[workers, iterations] = Undisturbed(weights, time.monotonic() - begun)
        return done[workers, iterations]

    return train


@pytest.mark.parametrize(("launcher", "scenario"), CELLS)
def test_a_training_succeeds_or_ends_with_the_reason(
    launcher: Launcher, scenario: Scenario, on_one_machine: Undisturbedly
) -> None:
    refused = bool(scenario.refusal)
    expected = on_one_machine(scenario.hosts, 4 if refused else scenario.iterations)
    with laboratory(scenario.hosts, scenario.network) as made:
        command = training_command(made.folder, *scenario.options, net=scenario.net, iterations=scenario.iterations)
        programs = start_training(launcher, made, command, scenario.spark)
        if scenario.harm is not None:
            _await_files(made.folder, scenario.harm_at, programs)
            scenario.harm(made)
        limit = time.monotonic() + scenario.seconds + _SLOWNESS.get(launcher, _USUAL_SLOWNESS) * expected.seconds
        codes = [program.wait(max(0.0, limit - time.monotonic())) for program in programs]
        texts = [program.text() for program in programs]
        if refused:
            assert all(codes)
            for text in texts[scenario.refused_from :]:
                assert re.search(scenario.refusal, text, re.DOTALL), "\n---\n".join(texts)
                assert "Traceback" not in text, text
            assert scenario.advice in "\n".join(texts)
            assert not any("zoo train" in host.commands() for host in made.hosts)
        else:
            assert not any(codes), "\n".join(texts)
            assert re.search(scenario.says, "\n".join(texts)), "\n".join(texts)
            assert trained_weights(made.folder) == expected.weights


def _await_files(folder: Path, pattern: str, programs: Sequence[Program]) -> None:
    until = time.monotonic() + PATIENCE
    while not [*folder.glob(pattern)]:
        texts = "\n".join(program.text() for program in programs)
        assert all(program.is_running() for program in programs), texts
        assert time.monotonic() < until, texts
        time.sleep(0.01)
