"""Copies messages. Messages are shared, so code that needs a changed message changes a copy."""

from __future__ import annotations

from collections.abc import Callable, Iterable
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


def with_texts(message: M, change: Callable[[str], str]) -> M:
    """Return a copy of a message in which all texts are changed."""
    copy = copy_of(message)
    _change_texts(copy, change)
    return copy


def _change_texts(message: Message, change: Callable[[str], str]) -> None:
    for field, value in message.ListFields():
        several = field.is_repeated
        if field.type == field.TYPE_STRING:
            if several:
                value[:] = map(change, value)
            else:
                setattr(message, field.name, change(value))
        elif field.type == field.TYPE_MESSAGE:
            for part in value if several else [value]:
                _change_texts(part, change)
