"""A short attack with fixed cases, and the parts of a long one: what it draws, damages and checks."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from netdsl.distributed.journal import Journal
from netdsl.distributed.loop import Loop
from netdsl.distributed.machines import Link
from netdsl.distributed.run_worker import compute_threads, open_worker
from netdsl.distributed.strategies.settings import STRATEGIES
from netdsl.distributed.transports.transport import Transport
from netdsl.model.weights.files import save_net
from netdsl.simulator.communicator import Network, SimulatedClock, SimulatedCommunicator
from netdsl.simulator.world import World
from netdsl.training.job import train_alone
from tests.chaos.attack import attack
from tests.chaos.cases import ChaosCase, DisturbedCommand, draw_case
from tests.chaos.damage import Damage, DamageKind
from tests.chaos.disturbances import Disturbance, DisturbanceKind
from tests.chaos.faults import FAULT_NAMES, Faults
from tests.chaos.leaks import ResourceSample, growths
from tests.chaos.processes import MarkedCommand, kill_all, marked_processes, wait_until
from tests.chaos.references import Reference, read_blobs
from tests.chaos.settings import ELASTIC, ONE, RUN, STRATEGY_TEXTS, THREE, TWO, ZOO, LauncherName, TrainingSetting
from tests.chaos.user_command import CommandResult
from tests.chaos.verdict import FAILURES, OTHER_BITS, CaseVerdict, judge_command, judge_model, tracebacks

LOCAL = TrainingSetting(LauncherName.LOCAL, "averaging:tau=4", Transport.SHARED_MEMORY, iterations=36)
KILLS = 10
ALONE = TrainingSetting(LauncherName.ALONE, iterations=60)


def attacked(setting: TrainingSetting, kind: DisturbanceKind, damage: Damage) -> ChaosCase:
    """Attack a case with one disturbed command and an undisturbed one."""
    return ChaosCase(0, setting, (DisturbedCommand((Disturbance(kind, progress=0.5),), damage),))


CASES = {
    "several workers": attacked(LOCAL, DisturbanceKind.KILL_ALL, Damage(DamageKind.TRUNCATED, which=0.9, where=0.5)),
    "one process": attacked(ALONE, DisturbanceKind.KILL_SUPERVISOR, Damage(DamageKind.TRUNCATED, where=0.5)),
}


def undisturbed(setting: TrainingSetting, folder: Path) -> Reference:
    """Return an undisturbed result that needs no processes."""
    setting.write_files(folder)
    (folder / RUN).mkdir()
    run, world = setting.run(folder).settled(), World(2, lambda rank, iteration: 1.0)
    network = Network(world, Link())

    def work(rank: int) -> None:
        communicator, clock = SimulatedCommunicator(network, rank), SimulatedClock(world, rank)
        with open_worker(run, communicator, clock=clock) as worker:
            Loop(worker, run.strategy, journal=Journal(folder / RUN / "rounds", run.keeping)).run()
            if rank == 0:
                save_net(worker.solver.net.built, setting.model(folder))

    with compute_threads(1):
        if setting.has_journal:
            world.run(work)
        else:
            train_alone(run)
    return Reference(read_blobs(setting.model(folder)), 0.0, setting.progress(folder), 10.0)


@pytest.mark.skipif(not ZOO.exists(), reason="the console script isn't installed")
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_a_run_under_attack_ends_with_the_same_bits(case: ChaosCase, tmp_path: Path) -> None:
    outcome = attack(case, tmp_path / "case", undisturbed(case.setting, tmp_path / "undisturbed"))
    assert not outcome.verdict.problems, outcome.story
    kinds = [disturbance.kind.value for command in case.commands for disturbance in command.disturbances]
    assert outcome.verdict.counts == dict.fromkeys([*kinds, "damages", "recoveries", "same bits"], 1)


@pytest.mark.skipif(not ZOO.exists(), reason="the console script isn't installed")
@pytest.mark.parametrize(
    ("launcher", "transport"),
    [
        pytest.param(LauncherName.LOCAL, Transport.SHARED_MEMORY, marks=pytest.mark.slow),
        pytest.param(LauncherName.EXTERNAL, Transport.GLOO, marks=pytest.mark.slow),
        pytest.param(LauncherName.MPI, Transport.MPI, marks=pytest.mark.slow),
        pytest.param(LauncherName.MPIEXEC, Transport.MPI, marks=pytest.mark.slow),
        pytest.param(LauncherName.SPARK, Transport.GLOO, marks=[pytest.mark.slow, pytest.mark.spark]),
    ],
)
def test_any_rank_may_be_killed_at_ten_moments(launcher: LauncherName, transport: Transport, tmp_path: Path) -> None:
    """One command is enough where the launcher restarts workers. Elsewhere, ten commands each resume the run.

    The run is long enough for all ten kills even if a busy machine kills late.
    """
    setting, draw = (
        TrainingSetting(launcher, "averaging:tau=4", transport, iterations=960),
        random.Random(launcher.value),
    )
    if setting.restarts_workers:
        moments = [(number + draw.random()) / KILLS for number in range(KILLS)]
        commands = (tuple(killed(DisturbanceKind.KILL_WORKER, moment, draw) for moment in moments),)
    else:
        kinds = [draw.choice((DisturbanceKind.KILL_WORKER, DisturbanceKind.KILL_SUPERVISOR)) for _ in range(KILLS)]
        commands = tuple((killed(kind, 0.1 * draw.random(), draw),) for kind in kinds)
    case = ChaosCase(0, setting, tuple(map(DisturbedCommand, commands)))
    outcome = attack(case, tmp_path / "case", undisturbed(setting, tmp_path / "undisturbed"))
    assert not outcome.verdict.problems, outcome.story
    counts = outcome.verdict.counts
    kills = counts[DisturbanceKind.KILL_WORKER.value] + counts[DisturbanceKind.KILL_SUPERVISOR.value]
    assert (kills, counts["same bits"]) == (KILLS, 1), outcome.story


def killed(kind: DisturbanceKind, moment: float, draw: random.Random) -> Disturbance:
    """Return a kill at a moment of a command's training run. The victim is drawn at random."""
    return Disturbance(kind, moment, 0.2 * draw.random(), draw.random())


def test_drawn_cases_cover_every_strategy_launcher_and_disturbance() -> None:
    assert {text.partition(":")[0] for text in STRATEGY_TEXTS} == STRATEGIES.keys()
    cases = [draw_case(seed, spark=True) for seed in range(300)]
    assert cases == [draw_case(seed, spark=True) for seed in range(300)]
    assert {case.setting.launcher for case in cases} == {*LauncherName}
    assert {case.setting.workers for case in cases} == {TWO, ELASTIC}
    assert {case.setting.resumed for case in cases} == {"", ONE, THREE}
    commands = [command for case in cases for command in case.commands]
    assert {each.kind for command in commands for each in command.disturbances} == {*DisturbanceKind}
    assert {command.damage.kind for command in commands if command.damage} == {*DamageKind}
    assert {kind for case in cases for kind in case.faults.kinds} == {*FAULT_NAMES}
    assert LauncherName.SPARK not in {draw_case(seed).setting.launcher for seed in range(100)}


def test_faults_happen_in_the_process_that_they_name(tmp_path: Path) -> None:
    program = (
        "import pathlib, time; folder = pathlib.Path('.'); [(folder / str(n)).write_text('') for n in range(5)]; "
        "print(time.time())"
    )

    def ran(faults: Faults) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, **faults.environment(tmp_path)}
        words = [sys.executable, "-c", program]
        return subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True)

    assert ran(Faults(kill_at=3)).returncode == -signal.SIGKILL
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0", "1"]
    assert ran(Faults(count=tmp_path / "count")).returncode == 0
    assert (tmp_path / "count").read_text() == "5"
    assert ran(Faults(delay=0.001)).returncode == 0


def test_what_grows_is_a_leak() -> None:
    flat = [ResourceSample((300 + number % 5) << 20, 40 + number % 3, 12, 5) for number in range(30)]
    assert not growths(flat)
    leaking = [replace(each, memory=each.memory + (number << 22)) for number, each in enumerate(flat)]
    assert growths(leaking)[0].startswith("memory: ")
    opened = [replace(each, descriptors=40 + number) for number, each in enumerate(flat)]
    assert growths(opened) == ["descriptors: at most 59, then at least 60"]


def test_damage_changes_a_file_as_its_kind_says() -> None:
    message = pb.SolverState(iter=300, learned_net="small.caffemodel", current_step=2).SerializeToString()
    assert Damage(DamageKind.TRUNCATED, where=0.5).damaged(b"abcd") == b"ab"
    assert Damage(DamageKind.ZEROED).damaged(b"abcd") == bytes(4)
    assert Damage(DamageKind.FLIPPED_BIT, where=0.25).damaged(b"abcd") == b"accd"
    cut = Damage(DamageKind.CUT_AT_FIELD, where=0.99).damaged(message)
    assert pb.SolverState.FromString(cut) == pb.SolverState(iter=300, learned_net="small.caffemodel")
    assert Damage(DamageKind.CUT_AT_FIELD).damaged(b'{\n "a": 1\n}\n') == b"{\n"


def test_an_archive_is_cut_between_its_members(tmp_path: Path) -> None:
    path = tmp_path / "part.npz"
    np.savez(path, weights=np.ones(5), history=np.ones(7))
    data = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        second = archive.infolist()[1].header_offset
    assert Damage(DamageKind.CUT_AT_FIELD).damaged(data) == data[:second]


def test_processes_are_found_by_their_mark(tmp_path: Path) -> None:
    command = MarkedCommand(["sh", "-c", "sleep 1000 & sleep 1000"], tmp_path, f"{tmp_path}/1", tmp_path / "output")
    try:
        assert wait_until(lambda: len(marked_processes(f"{tmp_path}/")) == 3, 60.0)
        assert command.process.pid in {process.pid for process in marked_processes(f"{tmp_path}/1")}
        assert not marked_processes(f"{tmp_path}/2")
    finally:
        kill_all(f"{tmp_path}/")
    assert command.process.wait() < 0
    assert not marked_processes(f"{tmp_path}/")


def test_tracebacks_are_found() -> None:
    done = subprocess.run([sys.executable, "-c", "raise ValueError('it')"], capture_output=True, text=True)
    assert list(tracebacks(f"training\n{done.stderr}the end\n")) == ["ValueError: it"]
    assert not list(tracebacks("zoo: net.prototxt:3: no such field\n"))


def test_different_bits_are_detected(tmp_path: Path) -> None:
    net = pb.NetParameter(layer=[pb.LayerParameter(name="ip", type="InnerProduct", blobs=[pb.BlobProto(data=[1.0])])])
    ALONE.model(tmp_path).write_bytes(net.SerializeToString())
    same, other = CaseVerdict(), CaseVerdict()
    one = np.ones(1, np.float32)
    judge_model(ALONE, tmp_path, Reference({"ip": [one]}, 1.0, 1, 1.0), same)
    judge_model(ALONE, tmp_path, Reference({"ip": [np.nextafter(one, one + 1)]}, 1.0, 1, 1.0), other)
    assert (same.problems, other.problems) == ([], [f"{OTHER_BITS}: in ip"])


def test_a_command_that_fails_without_a_disturbance_is_detected() -> None:
    killed = Disturbance(DisturbanceKind.KILL_WORKER)
    full, asked = Disturbance(DisturbanceKind.FILL_DISK), Disturbance(DisturbanceKind.TERMINATE)
    for result, wrong in [
        (CommandResult(2, "zoo: it is broken\n", 1.0), True),
        (CommandResult(2, "zoo: a worker was lost\n", 1.0, [killed]), True),  # the run should have restarted
        (CommandResult(2, "zoo: it is broken\n", 1.0, [killed, full]), False),
        (CommandResult(2, "", 1.0, [full]), True),  # the output gives no reason
        (CommandResult(143, "", 1.0, [asked]), False),
        (CommandResult(0, "", 1.0), False),
    ]:
        verdict = CaseVerdict()
        judge_command(LOCAL, result, verdict)
        assert verdict.counts[FAILURES] == wrong, result
