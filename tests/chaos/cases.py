"""Randomly drawn cases: a setting and the user's commands, each with the disturbances during and after it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from random import Random

from netdsl.distributed.transports.transport import Transport
from tests.chaos.damage import Damage, DamageKind
from tests.chaos.disturbances import OF_FOLDERS, OF_WORKERS, Disturbance, DisturbanceKind
from tests.chaos.faults import NO_FAULTS, Faults, draw_faults
from tests.chaos.settings import ELASTIC, ONE, STRATEGY_TEXTS, THREE, LauncherName, TrainingSetting

DEADLINE = 20.0  # seconds without a heartbeat, in runs whose workers are stopped for longer than that
_LONG = 1.5 * DEADLINE
_SHORT = 4.0  # seconds that a process is stopped, at most
_MOMENT = 0.3  # seconds between the awaited moment and the disturbance, at most
_ITERATIONS_ALONE = 480  # one process needs less time for each iteration
_START = 6.0  # seconds until a training run begins, roughly
_TRANSPORTS = {
    LauncherName.LOCAL: (Transport.SHARED_MEMORY, Transport.GLOO),
    LauncherName.EXTERNAL: (Transport.SHARED_MEMORY, Transport.GLOO),
    LauncherName.MPI: (Transport.MPI, Transport.MPI_BY_NODE),
    LauncherName.MPIEXEC: (Transport.MPI, Transport.MPI_BY_NODE),
    LauncherName.SPARK: (Transport.GLOO, Transport.RELAY),
}
_STOPS = (DisturbanceKind.STOP_WORKER, DisturbanceKind.STOP_SUPERVISOR)
_OF_TWO = ("allreduce", "outer")  # allreduce divides the batch; outer's momentum swings only once in such short runs
_HERE = (
    LauncherName.ALONE,
    *3 * (LauncherName.LOCAL,),
    LauncherName.EXTERNAL,
    LauncherName.MPI,
    LauncherName.MPIEXEC,
)


@dataclass(frozen=True)
class DisturbedCommand:
    """The disturbances during a command, and the damage to the newest state after it."""

    disturbances: tuple[Disturbance, ...]
    damage: Damage | None = None


@dataclass(frozen=True)
class ChaosCase:
    """A setting and its commands, which run one after the other. The last one is undisturbed."""

    seed: int
    setting: TrainingSetting
    commands: tuple[DisturbedCommand, ...]
    faults: Faults = NO_FAULTS  # of all commands

    @property
    def deadline(self) -> float | None:
        """The heartbeat deadline with which the run must begin, or None if the command's default is enough."""
        lengths = [each.seconds for command in self.commands for each in command.disturbances if each.kind in _STOPS]
        return DEADLINE if self.setting.has_journal and any(length > _SHORT for length in lengths) else None


def draw_case(seed: int, *, spark: bool = False) -> ChaosCase:
    """Draw the case of a seed. With `spark`, half of all cases run on Spark."""
    random = Random(seed)
    launcher = random.choice(_HERE)
    if spark and random.random() < 0.5:
        launcher = LauncherName.SPARK
    setting = _draw_setting(random, launcher)
    count = random.choice((1, 1, 2, 2, 3))
    commands = tuple(_draw_command(random, launcher) for _ in range(count))
    return ChaosCase(seed, setting, commands, NO_FAULTS if launcher is LauncherName.SPARK else draw_faults(random))


def _draw_setting(random: Random, launcher: LauncherName) -> TrainingSetting:
    if launcher is LauncherName.ALONE:
        return TrainingSetting(launcher, hdf5=random.random() < 0.5, iterations=_ITERATIONS_ALONE)
    setting = TrainingSetting(launcher, random.choice(STRATEGY_TEXTS), random.choice(_TRANSPORTS[launcher]))
    if launcher is LauncherName.EXTERNAL:
        return replace(setting, restarts=random.choice((0, 2)))
    if launcher is LauncherName.LOCAL and not setting.strategy.startswith(_OF_TWO) and random.random() < 0.4:
        others = random.choice(({"workers": ELASTIC}, {"resumed": ONE}, {"resumed": THREE}))
        return replace(setting, **others)
    return setting


def _draw_command(random: Random, launcher: LauncherName) -> DisturbedCommand:
    kinds = [kind for kind in DisturbanceKind if launcher is not LauncherName.ALONE or kind not in OF_WORKERS]
    if launcher is not LauncherName.LOCAL:
        kinds = [kind for kind in kinds if kind not in OF_FOLDERS]  # the others write to the folder themselves
    if launcher is LauncherName.SPARK:
        kinds.remove(DisturbanceKind.FILL_DISK)  # Java writes its own files
    first = _draw_disturbance(random, random.choice(kinds), again=False)
    more = [_draw_disturbance(random, random.choice(kinds), again=True) for _ in range(random.choice((0, 0, 1, 2)))]
    damage = None
    if random.random() < 0.6:
        damage = Damage(random.choice(list(DamageKind)), random.random(), random.random())
    return DisturbedCommand((first, *more), damage)


def _draw_disturbance(random: Random, kind: DisturbanceKind, *, again: bool) -> Disturbance:
    """Draw a disturbance at a random moment. With `again`, it often hits a run that is recovering."""
    early = random.random() < (0.5 if again else 0.2)
    progress = 0.0 if early else random.random()
    delay = random.random() * (_START if early else _MOMENT)
    seconds = random.choice((_SHORT * random.random(), _SHORT * random.random(), _LONG * random.random(), math.inf))
    return Disturbance(kind, progress, delay, random.random(), seconds)
