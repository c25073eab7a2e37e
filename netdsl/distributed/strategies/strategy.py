"""The interface of strategies: settings, from which every worker begins its part of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Protocol, runtime_checkable

from torch import Tensor

from netdsl.distributed.strategies.traffic import ModelSize, StrategyTraffic
from netdsl.distributed.worker import Worker


class StrategyRun(Protocol):
    """The run of a strategy in one worker."""

    def round(self) -> None:
        """Train and exchange until training can next be tested, saved or ended."""
        ...

    def model(self) -> Tensor:
        """The joint model, which is tested and saved, as a buffer in the layout of a worker's weights."""
        ...

    def state(self) -> Mapping[str, Tensor]:
        """The tensors to save besides the solver's own state."""
        ...

    def finish(self) -> None:
        """Complete pending exchanges after the last round, together with all other workers."""
        ...


@runtime_checkable
class Strategy(Protocol):
    """The settings of a strategy: a frozen struct of plain values, with its name as tag."""

    name: ClassVar[str]
    synchronous: ClassVar[bool]  # whether all workers end a round together, with results that can be repeated

    @property
    def divides_batch(self) -> bool:
        """Whether the workers divide the net's batch."""
        ...

    def traffic(self, model: ModelSize) -> StrategyTraffic:
        """What workers exchange, and when, for a model of this size."""
        ...

    def begin(self, worker: Worker) -> StrategyRun:
        """Begin a worker's part of the run. All workers begin with the first one's blobs."""
        ...
