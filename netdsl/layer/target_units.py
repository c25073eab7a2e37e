"""`NormalizesTargets`: layers whose targets a net learns in other units than those in which it is used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from netdsl.layer.core import Layer

Rows = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class TargetUnits:
    """The means that were taken off targets, and the deviations that they were divided by then.

    Both have a row for each class, or for each anchor, with a number for each value that is predicted.
    """

    means: Rows
    deviations: Rows


class NormalizesTargets(Layer):
    """A layer one of whose tops has targets in units of their own.

    What a net learns from them predicts in these units, so its weights are changed where they are saved to be used.
    """

    targets_top: ClassVar[int]

    def target_units(self) -> TargetUnits | None:
        """The units of the targets; None if they are as they are used."""
        raise NotImplementedError
