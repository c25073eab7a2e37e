"""What training was like: losses and tests, in order."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from netdsl.solver.event_log import read_event_log


@dataclass(frozen=True)
class Moment:
    """An iteration: the loss, if it was displayed then, and what the net gave in a test, if there was one."""

    iteration: int
    loss: float | None = None
    tested: Mapping[str, float] = field(default_factory=dict)


def moments_of(log: Path) -> tuple[Moment, ...]:
    """Those in a log of lines. Iterations that were done again take the place of those before."""
    moments: dict[int, Moment] = {}
    for line in read_event_log(log):
        match line:
            case {"event": "train", "iteration": int(iteration), "loss": loss}:
                moments[iteration] = replace(moments.get(iteration, Moment(iteration)), loss=_number(loss))
            case {"event": "test", "iteration": int(iteration), "outputs": dict(outputs)}:
                tested = {name: _number(value) for name, value in outputs.items()}
                moments[iteration] = replace(moments.get(iteration, Moment(iteration)), tested=tested)
    return tuple(moments[iteration] for iteration in sorted(moments))


def _number(value: float | None) -> float:
    """JSON has no NaN."""
    return math.nan if value is None else value
