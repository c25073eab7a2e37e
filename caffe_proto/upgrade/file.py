"""The upgrade of a whole file: its message and the comments of a prototxt."""

from __future__ import annotations

from dataclasses import replace

from google.protobuf.message import Message

from caffe_proto import caffe_pb2 as pb
from caffe_proto.files import CaffeFile
from caffe_proto.locations import located, unlocated
from caffe_proto.text.binding import unbind
from caffe_proto.text.comments import carry_comments
from caffe_proto.upgrade import upgrade_net, upgrade_solver


def upgrade_file(file: CaffeFile[Message]) -> tuple[CaffeFile[Message], tuple[str, ...]]:
    """The file in today's form and a sentence for each change; the same file if nothing changed."""
    message, changes = _upgraded_message(file)
    if not changes:
        return file, ()
    body = None
    if file.body is not None:
        body = unbind(message)
        carry_comments(file.body, body)
    return replace(file, message=message, body=body), changes


def _upgraded_message(file: CaffeFile[Message]) -> tuple[Message, tuple[str, ...]]:
    message = file.message
    if isinstance(message, pb.NetParameter):
        net = upgrade_net(located(message, file.path, file.body))
        return unlocated(net.message), net.changes
    if isinstance(message, pb.SolverParameter):
        solver = upgrade_solver(message)
        return solver.message, solver.changes
    return message, ()
