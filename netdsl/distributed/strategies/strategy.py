"""The interface of all strategies, the length of their rounds, and the description of their traffic."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import ClassVar, Literal, Protocol, Self, runtime_checkable

from torch import Tensor

from netdsl.distributed.machines import ExchangeKind, Link
from netdsl.distributed.run_log import RoundRecord
from netdsl.distributed.worker import Worker
from netdsl.errors import DistributedError
from netdsl.solver.flat import BlobGroup, FlatWeights

AUTO: Literal["auto"] = "auto"
Tau = int | Literal["auto"]

_SHARE = 5
SHORT_ROUNDS = 2  # rounds of one iteration before tau is measured
_INTERVAL = 10  # rounds until tau is measured again
_MOST = 10_000  # the largest number of iterations between exchanges, however slow the network is


@runtime_checkable
class Strategy(Protocol):
    """The settings of a strategy: a frozen struct of plain values, with its name as tag."""

    name: ClassVar[str]
    synchronous: ClassVar[bool]  # whether all workers end a round together, with repeatable results

    @property
    def divides_batch(self) -> bool:
        """Whether the workers divide the net's batch."""
        ...

    def traffic(self, model: ModelSize) -> StrategyTraffic:
        """Return the exchanges of a model of this size, and their times."""
        ...

    def begin(self, worker: Worker) -> StrategyRun:
        """Begin a worker's part of the run. All workers begin with the first worker's blobs."""
        ...


class StrategyRun(Protocol):
    """The run of a strategy in one worker."""

    def round(self) -> None:
        """Train and exchange until the next point at which training can be tested, saved or ended."""
        ...

    def model(self) -> Tensor:
        """Return the joint model, which is tested and saved, as a buffer in the layout of a worker's weights."""
        ...

    def state(self) -> Mapping[str, Tensor]:
        """Return the tensors to save besides the solver's own state."""
        ...

    def finish(self) -> None:
        """Complete pending exchanges after the last round, together with all other workers."""
        ...


class Waiting(Enum):
    """The workers for which a worker waits at the end of a round."""

    ALL = "all"  # all other workers, until everything is exchanged
    SERVER = "server"  # for its turn at a server, which sends to one worker at a time and receives from one at a time
    NOBODY = "nobody"


@dataclass(frozen=True)
class StrategyTraffic:
    """The exchanges of a strategy's workers, and their times.

    A round is `tau` iterations, or as many as a worker can do in `seconds`. Before the first round the first worker
    alone does `warmup` iterations, and all workers exchange `begin`.

    All workers wait for the transfers of each `iteration` and of each `round`. Those of an iteration are gradients, and
    each piece is sent as soon as it is computed. `hidden` transfers run during computation. With a server they happen
    once a round, otherwise continuously, all at the same time. `finish` is exchanged after the last round.
    """

    tau: Tau
    begin: Sequence[Transfer]
    iteration: Sequence[Transfer] = ()
    round: Sequence[Transfer] = ()
    hidden: Sequence[Transfer] = ()
    finish: Sequence[Transfer] = ()
    waiting: Waiting = Waiting.ALL
    seconds: float = 0.0
    warmup: int = 0


@dataclass(frozen=True)
class Transfer:
    """A number of bytes that workers exchange in `pieces` nearly equal pieces, one after the other."""

    kind: ExchangeKind
    bytes: int
    pieces: int = 1

    def seconds(self, link: Link, workers: int) -> float:
        """Return the seconds that all pieces take."""
        size, longer = divmod(self.bytes, self.pieces)
        seconds = [link.seconds(self.kind, workers, length) for length in (size, size + 1)]
        return (self.pieces - longer) * seconds[0] + longer * seconds[1]


@dataclass(frozen=True)
class ModelSize:
    """The bytes of a model's blobs.

    `learned` contains the size of each learned blob, in groups of equal multipliers. `statistics` is the total size of
    all other blobs.
    """

    learned: tuple[tuple[int, ...], ...]
    statistics: int = 0

    @classmethod
    def of(cls, weights: FlatWeights) -> Self:
        """Return the size of the blobs in a flat buffer. Each blob includes the gap to the next one."""
        value = weights.buffer.element_size()
        groups = tuple(tuple(value * length for length in _blob_lengths(group)) for group in weights.groups)
        return cls(groups, value * (weights.buffer.numel() - weights.learned_size))

    @property
    def learned_bytes(self) -> int:
        """The bytes of all learned blobs."""
        return sum(map(sum, self.learned))

    @property
    def bytes(self) -> int:
        """The bytes of all blobs."""
        return self.learned_bytes + self.statistics


def _blob_lengths(group: BlobGroup) -> list[int]:
    return [stop - start for start, stop in pairwise([*(blob.start for blob in group.blobs), group.stop])]


def check_tau(tau: Tau) -> None:
    """Raise a `DistributedError` if a round would have no iteration."""
    if tau != AUTO and tau < 1:
        raise DistributedError(
            f"tau is {tau}; give 1 or more iterations for each round, or 'auto' to measure the best number"
        )


def iterations_per_round(exchange: float, step: float) -> int:
    """Return the iterations of a round by SparkNet's rule: computing takes five times as long as exchanging."""
    return min(_MOST, max(1, math.ceil(_SHARE * exchange / step))) if step else 1


class Pace:
    """The length of rounds. A measured length is the same for all workers of a run, but may differ between runs."""

    def __init__(self, tau: Tau) -> None:
        self._auto = tau == AUTO
        self._tau = 1 if isinstance(tau, str) else tau
        self._rounds = 0

    def tau(self, worker: Worker) -> int:
        """Return the iterations of the next round.

        Before tau is measured, rounds are short, and the first of them is a warm-up.
        """
        due = self._rounds == SHORT_ROUNDS or self._rounds % _INTERVAL == 0
        if self._auto and worker.last_record is not None and due:
            self._tau = _measured_tau(worker, worker.last_record)
        self._rounds += 1
        return self._tau


def _measured_tau(worker: Worker, last: RoundRecord) -> int:
    """Return the iterations of a round, computed from the times of all workers' last rounds."""
    times = worker.communicator.gather([last.compute / max(1, last.steps), last.exchange])
    step = sum(step for step, _ in times) / len(times)
    return iterations_per_round(max(exchange for _, exchange in times), step)
