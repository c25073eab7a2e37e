"""What a strategy is: settings, from which every worker begins its part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Protocol

from torch import Tensor

from netdsl.distributed.worker import Worker


class StrategyRun(Protocol):
    """A strategy under way in one worker."""

    def round(self) -> None:
        """Train and exchange, until the next place where training can be looked at, saved or ended."""
        ...

    def model(self) -> Tensor:
        """The blobs that all workers have agreed on, in a worker's layout; what is tested and saved."""
        ...

    def state(self) -> Mapping[str, Tensor]:
        """What it remembers beside the solver's own state."""
        ...

    def finish(self) -> None:
        """End what is still under way, together with all others, after the last round."""
        ...


class Strategy(Protocol):
    """The settings of a strategy: a frozen struct of plain values, with its name as tag."""

    name: ClassVar[str]
    synchronous: ClassVar[bool]  # a round ends for all at once, and comes out the same each time

    @property
    def divides_batch(self) -> bool:
        """Whether the net's batch is that of all workers together."""
        ...

    def begin(self, worker: Worker) -> StrategyRun:
        """Take part. All workers begin with the first one's blobs."""
        ...
