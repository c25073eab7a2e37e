"""What Caffe's backward pass visits: which layers run, and which of their bottoms get a gradient."""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from netdsl.layer import Layer
from netdsl.pycaffe.wiring import Wire


@dataclass(frozen=True)
class Need:
    """What the backward pass does with one layer."""

    layer: bool
    bottoms: tuple[bool, ...]


def needs(wires: list[Wire], layers: list[Layer], *, force: bool) -> list[Need]:
    """Caffe's rules: gradients go from a loss towards whatever learns; `force` sends them everywhere."""
    found = _under_loss(wires, layers, _towards_learning(wires, layers))
    if force:
        found = [Need(True, (True,) * len(need.bottoms)) for need in found]
    return [
        Need(need.layer, tuple(wanted and place not in layer.no_gradient for place, wanted in enumerate(need.bottoms)))
        for need, layer in zip(found, layers, strict=True)
    ]


def _towards_learning(wires: list[Wire], layers: list[Layer]) -> list[Need]:
    """From the front: a layer needs a gradient if it learns or reads a blob that needs one.

    `propagate_down` decides for each bottom, also where nothing before it learns.
    """
    needing: set[int] = set()
    found = []
    for wire, layer in zip(wires, layers, strict=True):
        read = [blob in needing for blob in wire.bottoms]
        need = any(read) or _learns(layer)
        found.append(Need(need, tuple(layer.layer.propagate_down or read)))
        if need:
            needing.update(wire.tops)
    return found


def _under_loss(wires: list[Wire], layers: list[Layer], before: list[Need]) -> list[Need]:
    """From the back: only what a loss depends on, and not above the point where all gradients were stopped."""
    counting: set[int] = set()
    stopped: set[int] = set()
    found = []
    for wire, layer, need in reversed(list(zip(wires, layers, before, strict=True))):
        counts = any(layer.loss_weights()) or not counting.isdisjoint(wire.tops)
        skipped = need.layer and stopped.issuperset(wire.tops)
        bottoms = tuple(wanted and counts and not skipped for wanted in need.bottoms)
        if counts:
            counting.update(wire.bottoms)
        stopped.update(blob for blob, wanted in zip(wire.bottoms, bottoms, strict=True) if not wanted)
        found.append(Need(need.layer and counts and not skipped, bottoms))
    return found[::-1]


def _learns(layer: Layer) -> bool:
    owned = (layer.owner_of(name) for name in layer.blob_names())
    return any(isinstance(tensor, nn.Parameter) and tensor.requires_grad for tensor in owned)
