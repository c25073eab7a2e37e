"""Checks the memory that a net needs before it is allocated, because a system that runs out may end the process."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import torch
from torch import Tensor

from caffe_proto.limits import Limit
from caffe_proto.locations import error_label
from netdsl.errors import NetError
from netdsl.net.build import Built, at_layer

_CONTAINER = Path("/sys/fs/cgroup/memory.max")  # Linux stores the memory limit of a container here
_BYTES = 4  # the size of a blob's value
_STATUS = Path("/proc/self/status")  # Linux describes a process to itself here
_KILOBYTE = 1024  # the size of Linux's kB in bytes
_NO_VALUES: Mapping[int, Tensor] = {}


class PeakMemory:
    """The peak of this process's memory on a device, minus the memory that it used when this object was created."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._before = torch.cuda.memory_allocated(device) if device.type == "cuda" else _resident("VmRSS")

    def bytes(self) -> int:
        """Return the bytes up to now, or 0 if the system doesn't report them."""
        most = torch.cuda.max_memory_allocated(self._device) if self._device.type == "cuda" else _resident("VmHWM")
        return max(0, most - self._before)


def _resident(name: str) -> int:
    """Return the bytes of main memory that this process uses now, or has used at most. `name` is Linux's name for
    either."""
    with suppress(OSError, ValueError, IndexError):
        return _KILOBYTE * int(_STATUS.read_text().split(f"{name}:")[1].split()[0])
    return 0


def allocate_layers(built: Built, device: torch.device | str, values: Mapping[int, Tensor] = _NO_VALUES) -> None:
    """Allocate the blobs of all layers with their first values. Raises a `NetError` if a device's memory is too small.

    `values` contains blobs that already have memory, by the identity of the blobs that they replace.
    """
    check_weights(built, torch.device(device))
    done = dict(values)
    for node, layer in built.pairs():
        with at_layer(node.layer):
            layer.allocate(device, done)


def check_weights(built: Built, device: torch.device) -> None:
    """Raise a `NetError` if the weights of all layers exceed a device's memory, and a `LimitError` if those of one blob
    exceed the limit."""
    seen: set[int] = set()
    sizes = []
    for layer in built.layers:
        Limit.VALUES.check(
            max((blob.numel() for blob in layer.blob_tensors()), default=0), f"{error_label(layer.layer)}: a blob"
        )
        own = {id(blob): blob.numel() for name in layer.blob_names() if id(blob := layer.owner_of(name)) not in seen}
        seen.update(own)
        sizes.append(_BYTES * sum(own.values()))
    _check_fits(built, sizes, sum(sizes), "weights", device)


def check_blobs(built: Built, device: torch.device) -> None:
    """Raise a `NetError` if the bottoms and tops of one layer exceed a device's memory."""
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
        f"{error_label(built.graph.nodes[index].layer)}: the {what} need {_words(sizes[index])}{total}, but "
        f"{device} has {_words(available)} of memory; lower the batch size, or use a device with more memory"
    )


def memory_of(device: torch.device) -> int | None:
    """Return the bytes of a device's total memory, or `None` if they are unknown."""
    if device.type == "cuda":
        return torch.cuda.get_device_properties(device).total_memory
    if device.type != "cpu":
        return None
    available = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(OSError, ValueError):  # outside of a container, or in one without a limit
        available = min(available, int(_CONTAINER.read_text()))
    return available


def _words(size: int) -> str:
    return f"{size / 1e9:,.1f} GB"
