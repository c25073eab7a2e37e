"""Small nets for the tests of converters, and helpers that inspect the results."""

from __future__ import annotations

import torch

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl import Net
from netdsl.model.model import Model


def net_of(text: str, *, phase: str = "TEST", dialect: str | None = None) -> Net:
    """Return a net whose initial values are always the same."""
    torch.manual_seed(0)
    return Net(from_text(text, pb.NetParameter), phase=phase, dialect=dialect)


def layer_types(model: Model) -> list[str]:
    """Return the types of a model's layers without its inputs."""
    return [layer.type for layer in model.net.layer if layer.type != "Input"]


def layer_names(model: Model) -> list[str]:
    return [layer.name for layer in model.net.layer]
