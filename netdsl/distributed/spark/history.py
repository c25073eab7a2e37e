"""What training was like: losses and tests, in order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from netdsl.distributed.messages import Told
from netdsl.solver.events import Displayed, Tested, as_numbers


@dataclass(frozen=True)
class Moment:
    """An iteration: the loss, if it was displayed then, and what the net gave in a test, if there was one."""

    iteration: int
    loss: float | None = None
    tested: Mapping[str, float] = field(default_factory=dict)


class History:
    """Listens to workers. Iterations that are done again take the place of those before."""

    def __init__(self) -> None:
        self._moments: dict[int, Moment] = {}

    def hear(self, told: Told) -> None:
        """Note what is worth it."""
        if isinstance(told, (Displayed, Tested)):
            moment = self._moments.get(told.iteration, Moment(told.iteration))
            new = {"loss": told.loss} if isinstance(told, Displayed) else {"tested": dict(as_numbers(told.outputs))}
            self._moments[told.iteration] = replace(moment, **new)

    def moments(self) -> tuple[Moment, ...]:
        """All of them."""
        return tuple(self._moments[iteration] for iteration in sorted(self._moments))
