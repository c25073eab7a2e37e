"""Records where the layers of a net are written, for errors. A layer keeps its place when it is copied."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import repeat

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of
from caffe_proto.errors import CaffeError
from caffe_proto.shown_text import shown
from caffe_proto.text.document import Body, Entry

Layer = pb.LayerParameter | pb.V1LayerParameter


def located(net: pb.NetParameter, path: str, body: Body | None) -> pb.NetParameter:
    """Return a copy of a net whose layers know their file.

    If `body` contains the fields of the prototxt, they know their line too.
    """
    copy = copy_of(net)
    if path:
        _locate(copy.layer, path, body.named("layer") if body is not None else ())
        _locate(copy.layers, path, body.named("layers") if body is not None else ())
    return copy


def _locate(layers: Sequence[Layer], path: str, entries: Iterable[Entry]) -> None:
    file = shown(path, keep="\n")  # a message can't contain a name that isn't UTF-8
    places = [f"{file}:{entry.line}" for entry in entries for _ in entry.bodies()]
    for layer, layer_place in zip(layers, places or repeat(file), strict=False):
        layer.location = layer_place


def unlocated(net: pb.NetParameter) -> pb.NetParameter:
    """Return a copy of a net whose layers have no places, for use outside this package."""
    copy = copy_of(net)
    for layer in copy.layer:
        layer.ClearField("location")
    return copy


def place(layer: Layer) -> str:
    """Return the beginning of an error about a layer, such as "net.prototxt:31: ".

    Returns "" if the layer isn't from a file.
    """
    return f"{layer.location}: " if layer.location else ""


def error_label(layer: pb.LayerParameter) -> str:
    """Return the beginning of an error about a layer, such as "net.prototxt:31: layer 'conv1'"."""
    return f"{place(layer)}layer '{layer.name}'"


@contextmanager
def at_place(layer: pb.V1LayerParameter) -> Iterator[None]:
    """Add a layer's place to any error raised in the block."""
    try:
        yield
    except CaffeError as problem:
        raise type(problem)(f"{place(layer)}{problem}") from None
