"""Which algorithm computes each convolution, as Equation 6 of Zou et al. (2017) has it: least time within a memory.

torch can't be told an algorithm for each convolution: on a GPU cuDNN chooses by itself within the memory that there
is. So the choice says what a batch can gain from memory, and what there must be room for. What a user can apply of it
is the batch, `iter_size`, channels last, the type of numbers, and the most that cuDNN may take, CUDNN_CONV_WSCAP_DBG.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from caffe_proto.errors import import_extra
from netdsl.errors import MemoryBoundError
from netdsl.planner.algorithms import ConvolutionAlgorithm


@dataclass(frozen=True)
class AlgorithmOption:
    """A way to compute a convolution: its seconds in a step, and the bytes that it takes."""

    algorithm: ConvolutionAlgorithm
    seconds: float
    bytes: int


Options = Mapping[str, Sequence[AlgorithmOption]]  # by the convolution's name; none is empty


@dataclass(frozen=True)
class AlgorithmChoice:
    """One option for each convolution, which together take the least time that the memory allows."""

    options: Mapping[str, AlgorithmOption]

    @property
    def seconds(self) -> float:
        """The seconds of all convolutions in a step."""
        return sum(option.seconds for option in self.options.values())

    @property
    def bytes(self) -> int:
        """The memory of all convolutions together. The paper adds it up, as if none gave any back to the next one."""
        return sum(option.bytes for option in self.options.values())


def choose_algorithms(options: Options, bound: int) -> AlgorithmChoice:
    """The quickest choice that takes at most so many bytes; a MemoryBoundError says how many are missing."""
    least = {name: min(option.bytes for option in ways) for name, ways in options.items()}
    room = bound - sum(least.values())
    if room < 0:
        raise MemoryBoundError(
            f"the convolutions need {_megabytes(bound - room)} and there are {_megabytes(max(0, bound))}, "
            f"{_megabytes(-room)} too few; a smaller batch takes less"
        )
    pairs = [(name, option) for name, ways in options.items() for option in ways]
    more = [option.bytes - least[name] for name, option in pairs]
    chosen = _solve([name for name, _ in pairs], [option.seconds for _, option in pairs], more, room)
    return AlgorithmChoice({name: option for (name, option), taken in zip(pairs, chosen, strict=True) if taken})


def _solve(names: Sequence[str], seconds: Sequence[float], more: Sequence[int], room: int) -> list[bool]:
    """Whether each pair of a convolution and an option is taken; `more` is what it takes over the least option.

    The solver's numbers have a tolerance, so a solution may take a little more than there is. Such a one is excluded.
    """
    if not names:
        return []
    optimize = import_extra("scipy.optimize", "planner", "choosing algorithms needs scipy")
    one_each = np.array([[name == other for other in names] for name in dict.fromkeys(names)], float)
    sizes = np.array([min(bytes_ / max(room, 1), 2.0) for bytes_ in more])
    constraints = [optimize.LinearConstraint(one_each, 1, 1), optimize.LinearConstraint(sizes, ub=min(room, 1))]
    cost = np.array(seconds) / max(*seconds, np.finfo(float).tiny)
    while True:
        result: Any = optimize.milp(
            cost, integrality=np.ones(len(names)), bounds=(0, 1), constraints=constraints, options={"mip_rel_gap": 0}
        )
        assert result.x is not None, result.message  # the least options always fit
        taken = np.round(result.x)
        if sum(bytes_ for bytes_, chosen in zip(more, taken, strict=True) if chosen) <= room:
            return [bool(chosen) for chosen in taken]
        constraints.append(optimize.LinearConstraint(taken, ub=len(one_each) - 1))


def _megabytes(count: int) -> str:
    return f"{count / 1e6:,.1f} MB"
