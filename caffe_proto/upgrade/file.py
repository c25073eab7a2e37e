"""A whole file brought to today's form: its message upgraded, its comments carried along."""

from __future__ import annotations

from dataclasses import replace

from google.protobuf.message import Message

from caffe_proto import caffe_pb2 as pb
from caffe_proto.files import CaffeFile
from caffe_proto.text.carry import carry_comments
from caffe_proto.text.unbind import unbind
from caffe_proto.upgrade import upgrade_net, upgrade_solver


def upgrade_file(file: CaffeFile[Message]) -> tuple[CaffeFile[Message], tuple[str, ...]]:
    """The file as Caffe of today would have it, and what was changed; the same file if nothing was old."""
    message, changes = _upgraded(file.message)
    if not changes:
        return file, ()
    body = None
    if file.body is not None:
        body = unbind(message)
        carry_comments(file.body, body)
    return replace(file, message=message, body=body), changes


def _upgraded(message: Message) -> tuple[Message, tuple[str, ...]]:
    if isinstance(message, pb.NetParameter):
        net = upgrade_net(message)
        return net.message, net.changes
    if isinstance(message, pb.SolverParameter):
        solver = upgrade_solver(message)
        return solver.message, solver.changes
    return message, ()
