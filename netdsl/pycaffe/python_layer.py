"""The base class of layers written in Python."""

from __future__ import annotations

from collections.abc import Sequence

from caffe_proto import caffe_pb2 as pb
from netdsl.layer.user_code import ArrayBlob, ArrayBlobs


class Layer:
    """The base class of a layer written in Python. Its methods get blobs with numpy arrays.

    `param_str` is the text in python_param, `phase` is TRAIN or TEST, and `blobs` are the layer's own, which `setup`
    adds with `self.blobs.add_blob(2, 3)` and fills.
    """

    param_str: str
    phase: int
    blobs: ArrayBlobs

    def __init__(self, layer: pb.LayerParameter | None = None) -> None: ...

    def setup(self, bottom: Sequence[ArrayBlob], top: Sequence[ArrayBlob]) -> None:
        """Read the settings and check the bottoms, once."""

    def reshape(self, bottom: Sequence[ArrayBlob], top: Sequence[ArrayBlob]) -> None:
        """Give the tops their shapes, before every pass."""
        raise NotImplementedError(f"{type(self).__name__} has no reshape")

    def forward(self, bottom: Sequence[ArrayBlob], top: Sequence[ArrayBlob]) -> None:
        """Write to `top[i].data`."""
        raise NotImplementedError(f"{type(self).__name__} has no forward")

    def backward(self, top: Sequence[ArrayBlob], propagate_down: Sequence[bool], bottom: Sequence[ArrayBlob]) -> None:
        """Write to `bottom[i].diff` where `propagate_down[i]`, and to `self.blobs[i].diff`."""
        raise NotImplementedError(f"{type(self).__name__} has no backward")
