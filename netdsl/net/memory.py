"""Memory that a net takes, which is checked before: a system that has too little may end the process."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import torch
from torch import Tensor

from caffe_proto.locations import error_label
from netdsl.errors import NetError
from netdsl.net.build import Built, at_layer

_CONTAINER = Path("/sys/fs/cgroup/memory.max")  # where Linux limits the memory of a container
_BYTES = 4  # of a value of a blob
_STATUS = Path("/proc/self/status")  # where Linux tells a process about itself
_KILOBYTE = 1024  # bytes, in its words
_NO_VALUES: Mapping[int, Tensor] = {}


class PeakMemory:
    """The most memory that this process has taken of a device at once, beyond what it had when this was made."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._before = torch.cuda.memory_allocated(device) if device.type == "cuda" else _resident("VmRSS")

    def bytes(self) -> int:
        """Return the bytes, until now; 0 where the system doesn't tell."""
        most = torch.cuda.max_memory_allocated(self._device) if self._device.type == "cuda" else _resident("VmHWM")
        return max(0, most - self._before)


def _resident(name: str) -> int:
    """Return the bytes of main memory that this process has now, or had at most, by Linux's names for these."""
    with suppress(OSError, ValueError, IndexError):
        return _KILOBYTE * int(_STATUS.read_text().split(f"{name}:")[1].split()[0])
    return 0


def allocate_layers(built: Built, device: torch.device | str, values: Mapping[int, Tensor] = _NO_VALUES) -> None:
    """Give the blobs of all layers memory and their first values; a NetError if a device hasn't that much.

    `values` are blobs that have their memory already, by the identity of those that they replace.
    """
    check_weights(built, torch.device(device))
    done = dict(values)
    for node, layer in built.pairs():
        with at_layer(node.layer):
            layer.allocate(device, done)


def check_weights(built: Built, device: torch.device) -> None:
    """Raise a NetError if the weights of all layers are more than a device's memory."""
    seen: set[int] = set()
    sizes = []
    for layer in built.layers:
        own = {id(blob): blob.numel() for name in layer.blob_names() if id(blob := layer.owner_of(name)) not in seen}
        seen.update(own)
        sizes.append(_BYTES * sum(own.values()))
    _check_fits(built, sizes, sum(sizes), "weights", device)


def check_blobs(built: Built, device: torch.device) -> None:
    """Raise a NetError if the bottoms and tops of one layer are more than a device's memory."""
    sizes = [
        _BYTES * sum(math.prod(built.shapes[edge]) for edge in {*node.bottoms, *node.tops})
        for node in built.graph.nodes
    ]
    _check_fits(built, sizes, max(sizes, default=0), "bottoms and tops", device)


def _check_fits(built: Built, sizes: Sequence[int], needed: int, what: str, device: torch.device) -> None:
    available = memory_of(device)
    if available is None or needed <= available:
        return
    index = max(range(len(sizes)), key=sizes.__getitem__)
    total = f", and those of all layers {_words(needed)}" if needed > sizes[index] else ""
    raise NetError(
        f"{error_label(built.graph.nodes[index].layer)}: its {what} need {_words(sizes[index])}{total}; "
        f"{device} has {_words(available)} of memory"
    )


def memory_of(device: torch.device) -> int | None:
    """Return the bytes of a device's whole memory, or None if that isn't known."""
    if device.type == "cuda":
        return torch.cuda.get_device_properties(device).total_memory
    if device.type != "cpu":
        return None
    available = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(OSError, ValueError):  # where there is no container, or one without a limit
        available = min(available, int(_CONTAINER.read_text()))
    return available


def _words(size: int) -> str:
    return f"{size / 1e9:,.1f} GB"
