"""Chooses the memory layout of images while a net runs: channels last where this makes convolutions faster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum, auto

import torch
from torch import Tensor

from netdsl.layer import Layer
from netdsl.layer.running import OF_TWO_BYTES, PrefersChannelsLast
from netdsl.net.build import Built

_OF_ONEDNN = (torch.float32, torch.bfloat16)  # the types that oneDNN convolves


class Wish(Enum):
    """The memory layout that a layer prefers for images."""

    CHANNELS_FIRST = auto()
    CHANNELS_LAST = auto()  # where this makes convolutions faster
    ANY = auto()


def wish_of(layer: Layer) -> Wish:
    """Return the layout that a layer prefers for its bottoms."""
    if isinstance(layer, PrefersChannelsLast) and layer.prefers_channels_last():
        return Wish.CHANNELS_LAST
    return Wish.ANY if layer.any_layout else Wish.CHANNELS_FIRST


def channels_last_pays(built: Built) -> bool:
    """Return whether a net contains layers that can be faster with channels last."""
    return any(wish_of(layer) is Wish.CHANNELS_LAST for layer in built.layers)


def lay_out_filters(built: Built) -> None:
    """Store filters in the layout that their layers prefer for images, so that no pass over a batch copies them.

    The choice depends only on the net and not on the device, so all workers of a training store their weights in one
    order. Filters that other layers share in another shape stay as they are.
    """
    shared = {id(layer.owner_of(name)) for layer in built.layers for name in layer.reshaped_blobs()}
    for layer in built.layers:
        for filters in layer.blob_tensors() if wish_of(layer) is Wish.CHANNELS_LAST else ():
            if filters.dim() == 4 and id(filters) not in shared:
                filters.data = filters.detach().contiguous(memory_format=torch.channels_last)


@contextmanager
def filters_as_in_caffe(built: Built) -> Iterator[None]:
    """Store filters with channels first in the block, as code that writes them expects."""
    filters = {blob: blob.data for layer in built.layers for blob in layer.parameters() if not blob.is_contiguous()}
    try:
        for blob in filters:
            blob.data = blob.data.contiguous()
        yield
    finally:
        for blob, before in filters.items():
            blob.data = before


def laid_out(bottom: Tensor, wish: Wish) -> Tensor:
    """Return a bottom in the layout that its layer prefers. It is copied only if its layout differs."""
    if bottom.dim() != 4 or bottom.is_meta or torch.compiler.is_compiling():
        return bottom
    if wish is Wish.CHANNELS_LAST:
        return _with_channels_last(bottom) if _convolved_quicker(bottom) else bottom
    return bottom.contiguous() if wish is Wish.CHANNELS_FIRST else bottom


def _convolved_quicker(images: Tensor) -> bool:
    """Return whether convolutions of these images are faster with channels last, on their device and in its precision.

    `benchmarks/training.py` shows the gain on a CPU: nets with many small filters are up to a third faster, and those
    with few large filters are equally fast. oneDNN copies images with channels first into its own layout before each
    convolution, and back afterwards. It reads images with channels last as they are. On a GPU, tensor cores do the same
    with two-byte numbers, while float32 is convolved with channels first. This is cuDNN's documented behavior and
    isn't measured here.
    """
    if images.is_cpu:
        onednn: bool = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
        return onednn and images.dtype in _OF_ONEDNN
    halved = images.dtype is torch.float32 and torch.is_autocast_enabled(images.device.type)
    return images.is_cuda and (halved or images.dtype in OF_TWO_BYTES)


def _with_channels_last(images: Tensor) -> Tensor:
    """Return the images with channels last.

    With one channel, both layouts are the same memory, and the strides determine which one torch assumes.
    """
    if images.shape[1] > 1:
        return images.contiguous(memory_format=torch.channels_last)
    if images.stride(1) == 1:
        return images
    *_, height, width = images.shape
    return images.contiguous().as_strided(images.shape, (height * width, 1, width, 1))
