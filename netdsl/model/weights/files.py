"""Copies weights between arrays and the layers of a built net, and saves nets with their weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from caffe_proto import caffe_pb2 as pb
from caffe_proto.blobs import release_pages
from caffe_proto.files import CaffeFile, Form, form_of, write
from netdsl.errors import WeightsError
from netdsl.layer import Layer
from netdsl.model.weights.match import AnyArray, LoadReport, Weights, pair_blobs, unique_names
from netdsl.net.build import AUTOMATIC, Built
from netdsl.net.memory import allocate_layers, check_weights
from netdsl.storage.outgoing import published_path


def copy_weights(built: Built, weights: Weights, *, partial: bool = False) -> LoadReport:
    """Copy arrays into the layers of the same names. If one doesn't fit, none are copied."""
    blobs = {name: list(layer.blob_tensors()) for name, layer in learned_layers(built).items()}
    pairs, report = pair_blobs(blobs, weights, shared=shared_blobs(built), partial=partial)
    with torch.no_grad():
        for tensor, array in pairs:
            _fill(tensor, array)
    return report


def allocate_with_weights(built: Built, weights: Weights, device: torch.device | str = "cpu") -> None:
    """Allocate the blobs of layers with the values of arrays.

    The weights are in memory only once: blobs don't get other values first, and pages of a mapped file are released
    after they are copied. Raises a `WeightsError` if a layer that learns has no weights, or its weights don't fit.
    """
    layers = learned_layers(built)
    if layers and not weights:
        raise WeightsError(
            f"net '{built.graph.net.name}' has no weights here; name their files, with --weights FILE, or as "
            "NET,FILE in `zoo verify`"
        )
    blobs = {name: list(layer.blob_tensors()) for name, layer in layers.items()}
    pairs, report = pair_blobs(blobs, weights, shared=shared_blobs(built), partial=True)
    if report.mismatched:
        raise WeightsError("; ".join(map(str, report.mismatched)))
    if report.missing:
        missing = ", ".join(map(repr, report.missing))
        raise WeightsError(
            f"there are no weights for layer {missing}; name the file that contains them too, with --weights FILE, "
            "or as NET,FILE in `zoo verify`"
        )
    check_weights(built, torch.device(device))
    owners = {
        id(blob): layer.owner_of(blob_name)
        for name, layer in layers.items()
        for blob, blob_name in zip(blobs[name], layer.blob_names(), strict=True)
    }
    values: dict[int, Tensor] = {}
    for blob, array in pairs:
        owner = owners[id(blob)]
        values[id(owner)] = _with_values(owner, array, device)
        release_pages(array)
    allocate_layers(built, device, values)


def _with_values(blob: Tensor, array: AnyArray, device: torch.device | str) -> Tensor:
    """Return a blob with memory that replaces a blob without memory."""
    tensor = torch.empty(blob.shape, dtype=blob.dtype, device=device)
    _fill(tensor, array.reshape(tuple(blob.shape)))
    return nn.Parameter(tensor, blob.requires_grad) if isinstance(blob, nn.Parameter) else tensor


def _fill(tensor: Tensor, array: AnyArray) -> None:
    """Copy an array into a tensor.

    It is copied directly from a mapped file if possible, because torch doesn't accept read-only memory.
    """
    if tensor.device.type == "cpu" and tensor.dtype is not torch.bfloat16:
        np.copyto(tensor.detach().numpy(), array, casting="unsafe")
    else:
        tensor.copy_(torch.from_numpy(np.array(array)))


def learned_layers(built: Built) -> dict[str, Layer]:
    """Return the layers that have blobs, by unique names."""
    layers = [(node.layer.name, layer) for node, layer in zip(built.graph.nodes, built.layers, strict=True)]
    learned = [(name, layer) for name, layer in layers if layer.blob_names()]
    return dict(zip(unique_names(name for name, _ in learned), (layer for _, layer in learned), strict=True))


def shared_blobs(built: Built) -> set[tuple[str, int]]:
    """Return the blobs, by layer and index, that an earlier layer shares."""
    seen: set[int] = set()
    shared = set()
    for name, layer in learned_layers(built).items():
        for index, blob in enumerate(layer.blob_names()):
            owner = id(layer.owner_of(blob))
            if owner in seen:
                shared.add((name, index))
            seen.add(owner)
    return shared


def array_of(tensor: Tensor) -> AnyArray:
    """Return the values of a blob as an array. It is a view if they are in the CPU's memory."""
    tensor = tensor.detach().cpu()
    return (tensor.float() if tensor.dtype is torch.bfloat16 else tensor).numpy()


def _gradient_of(tensor: Tensor) -> AnyArray:
    return array_of(torch.zeros_like(tensor) if tensor.grad is None else tensor.grad)


def save_net(
    built: Built, path: str | Path, *, gradients: bool = False, form: Form | None = None, durable: bool = False
) -> None:
    """Write a net with its weights and, with `gradients`, also its gradients, as in Caffe's snapshots.

    By default, the form follows the file's suffix. Caffe's HDF5 files store a shared blob only once. With `durable`,
    the file is on the disk when the function returns. A file with an address is published when it is complete.
    """
    form = form or form_of(path)
    file = CaffeFile(pb.NetParameter(name=built.graph.net.name), form=Form.BINARY)
    names = {id(layer): name for name, layer in learned_layers(built).items()}
    shared = shared_blobs(built) if form is Form.HDF5 else ()
    for node, layer in zip(built.graph.nodes, built.layers, strict=True):
        message = file.message.layer.add()
        message.CopyFrom(node.layer)
        message.ClearField("blobs")
        if AUTOMATIC in message.top:
            message.top.remove(AUTOMATIC)
        for index, tensor in enumerate(layer.blob_tensors()):
            blob = message.blobs.add()
            if (names[id(layer)], index) not in shared:
                file.blobs.put(blob, array_of(tensor), _gradient_of(tensor) if gradients else None)
    with published_path(path) as local:
        write(file, local, form=form, durable=durable)
