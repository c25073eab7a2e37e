"""Regions to learn from: which of them are chosen, and what is learned of their boxes for each class."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from torch import Tensor, arange, cat

from netdsl.errors import NetError
from netdsl.layer.target_units import Rows, TargetUnits
from netdsl.layers._constants import constants

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Settings = TypeVar("Settings", bound="DataclassInstance")
Numbers = Sequence[float]
Pick = Callable[[Tensor, int], Tensor]  # at most so many of the places where a mask is true

_WORDS = {"int": "a whole number", "float": "a number", "bool": "True or False", "str": "a text"}


@dataclass(frozen=True)
class RegionSettings:
    """py-faster-rcnn's own settings, under its names and with its defaults; param_str can set them too.

    The means and deviations of box targets are four numbers, or four for each class.
    """

    batch_size: int = 128  # -1 is for all regions, as R-FCN has it
    fg_fraction: float = 0.25
    fg_thresh: float = 0.5
    bg_thresh_hi: float = 0.5
    bg_thresh_lo: float = 0.1
    bbox_inside_weights: Numbers = (1, 1, 1, 1)
    bbox_normalize_targets: bool = True
    bbox_normalize_targets_precomputed: bool = False
    bbox_normalize_means: Numbers | Sequence[Numbers] = (0, 0, 0, 0)
    bbox_normalize_stds: Numbers | Sequence[Numbers] = (0.1, 0.1, 0.2, 0.2)

    def units(self, classes: int) -> TargetUnits | None:
        """The units of box targets, as far as they don't follow from the data."""
        if not (self.bbox_normalize_targets and self.bbox_normalize_targets_precomputed):
            return None
        means = per_row("bbox_normalize_means", self.bbox_normalize_means, classes)
        deviations = per_row("bbox_normalize_stds", self.bbox_normalize_stds, classes)
        if min(map(min, deviations)) <= 0:
            raise NetError("bbox_normalize_stds must be more than 0, since targets are divided by them")
        return TargetUnits(means, deviations)


def with_settings(base: Settings, settings: Mapping[str, Any]) -> Settings:
    """These settings, changed by those that a layer's own settings name, in capitals or not."""
    kinds = {field.name: str(field.type) for field in fields(base)}
    changes = {name.lower(): value for name, value in settings.items() if name.lower() in kinds}
    for name, value in changes.items():
        _check(name, value, kinds[name])
    return replace(base, **changes)


def _check(name: str, value: Any, kind: str) -> None:
    """A NetError for a value of another kind than the setting has."""
    if kind == "float":
        fits = isinstance(value, int | float) and not isinstance(value, bool)
    elif kind in _WORDS:
        fits = type(value).__name__ == kind
    else:
        fits = isinstance(value, list | tuple) and _are_numbers(value)
    if not fits:
        raise NetError(f"param_str has {name}: {value!r}, which must be {_WORDS.get(kind, 'a list of numbers')}")


def _are_numbers(values: object) -> bool:
    """Whether values are numbers, or lists of equally many numbers."""
    try:
        return bool(np.isfinite(np.asarray(values, np.float64)).all())
    except (TypeError, ValueError):
        return False


def per_row(name: str, values: Numbers | Sequence[Numbers], rows: int) -> Rows:
    """Four numbers for each of some rows, from four for all of them or four for each."""
    each = np.asarray(values, np.float64)
    if each.shape not in ((4,), (rows, 4)):
        raise NetError(f"param_str has {name}: {values!r}; it needs four numbers, or {rows} lists of four")
    return tuple(map(tuple, np.broadcast_to(each, (rows, 4)).tolist()))


def in_units(targets: Tensor, units: TargetUnits | None, rows: Tensor) -> Tensor:
    """Targets less the means and divided by the deviations of the row that each of them is of."""
    if units is None:
        return targets
    means, deviations = (constants(each, targets)[rows] for each in (units.means, units.deviations))
    return (targets - means) / deviations


def chosen(overlap: Tensor, settings: RegionSettings, images: int, pick: Pick) -> tuple[Tensor, int]:
    """The regions of one of a batch's images to learn from, objects first, and how many objects there are.

    `overlap` is each region's largest one with an object.
    """
    s, every = settings, settings.batch_size <= 0
    room = len(overlap) if every else s.batch_size // images
    positive = pick(overlap >= s.fg_thresh, room if every else round(s.fg_fraction * room))
    negative = pick((overlap < s.bg_thresh_hi) & (overlap >= s.bg_thresh_lo), room - len(positive))
    return cat((positive, negative)), len(positive)


def class_targets(labels: Tensor, targets: Tensor, classes: int, weights: Numbers) -> tuple[Tensor, Tensor]:
    """Box targets at the place of each region's class, zeros at all others, and their weights.

    Regions of class 0, the background, have none. With fewer classes than there are, as R-FCN has two, the last one
    is for all that are missing.
    """
    own = box_classes(labels, classes)[:, None] == arange(classes, device=labels.device)
    own &= (labels > 0)[:, None]
    inside = own[..., None] * constants(weights, targets)
    return (own[..., None] * targets[:, None]).flatten(1), inside.flatten(1)


def box_classes(labels: Tensor, classes: int) -> Tensor:
    """The classes by which boxes are predicted."""
    return labels.clamp_max(classes - 1)
