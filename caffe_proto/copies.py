"""Copies messages. Messages are shared, so code that needs a changed message changes a copy."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from google.protobuf.message import Message

from caffe_proto import caffe_pb2 as pb

M = TypeVar("M", bound=Message)


def copy_of(message: M, *, without: Iterable[str] = ()) -> M:
    """Return a copy of a message without the values of some fields."""
    copy = type(message)()
    copy.CopyFrom(message)
    for name in without:
        copy.ClearField(name)
    return copy


def with_layers(net: pb.NetParameter, layers: Iterable[pb.LayerParameter]) -> pb.NetParameter:
    """Return a copy of a net with copies of the given layers in place of its own."""
    copy = copy_of(net, without=["layer"])
    copy.layer.extend(layers)
    return copy
