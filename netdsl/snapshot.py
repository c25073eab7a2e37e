"""Weights between caffemodels and the layers of a built net."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from caffe_proto import caffe_pb2 as pb
from caffe_proto.blobs import Array
from caffe_proto.files import CaffeFile, Form, write
from netdsl.build import AUTOMATIC, Built
from netdsl.errors import WeightsError
from netdsl.layer import Layer
from netdsl.weights import arrays_of, fits


def copy_weights(built: Built, file: CaffeFile[pb.NetParameter]) -> list[str]:
    """Copy the blobs of layers that have the same name on both sides; the names of those that have.

    Caffe's rule: a layer that is missing on either side is passed over, one with other shapes is an error.
    """
    by_name = {node.layer.name: layer for node, layer in zip(built.graph.nodes, built.layers, strict=True)}
    common = {name: arrays for name, arrays in arrays_of(file).items() if name in by_name}
    for name, arrays in common.items():
        _copy(name, by_name[name], arrays)
    return list(common)


def _copy(name: str, layer: Layer, arrays: list[Array]) -> None:
    targets = list(layer.blob_tensors())
    if len(targets) != len(arrays):
        raise WeightsError(f"layer '{name}' has {len(targets)} blobs, the file has {len(arrays)}")
    for index, (target, array) in enumerate(zip(targets, arrays, strict=True)):
        if not array.size:  # shared with another layer, which has it
            continue
        if not fits(tuple(target.shape), array.shape):
            shapes = f"{list(target.shape)}, the file has {list(array.shape)}"
            raise WeightsError(f"layer '{name}': blob {index} has shape {shapes}")
        with torch.no_grad():
            target.copy_(torch.from_numpy(np.array(array)).view(target.shape))


def save_net(built: Built, path: str | Path) -> None:
    """Write a net with its weights as Caffe's `Net::ToProto` does."""
    file = CaffeFile(pb.NetParameter(name=built.graph.net.name), form=Form.BINARY)
    for node, layer in zip(built.graph.nodes, built.layers, strict=True):
        message = file.message.layer.add()
        message.CopyFrom(node.layer)
        if AUTOMATIC in message.top:
            message.top.remove(AUTOMATIC)
        for tensor in layer.blob_tensors():
            file.blobs.put(message.blobs.add(), tensor.detach().cpu().numpy())
    write(file, path)
