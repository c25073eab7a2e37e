"""Caffe's HDF5 snapshots: `.caffemodel.h5` and `.solverstate.h5`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from caffe_proto import caffe_pb2 as pb
from caffe_proto.blobs import GRADIENTS, VALUES, Array, Blob, Blobs, Part
from caffe_proto.errors import BinaryError, MissingExtraError

if TYPE_CHECKING:
    import h5py

SIGNATURE = b"\x89HDF\r\n\x1a\n"
_NUMBERS = {"data": {4: 5, 8: 8}, "diff": {4: 6, 8: 9}}  # the blob's field, by the size of a value

_MOST_COMPRESSED = 1032  # times that deflate makes anything smaller; whoever claims more wants our memory


def _library() -> Any:
    try:
        import h5py
    except ImportError:
        raise MissingExtraError("HDF5 files need h5py: pip install 'netdsl[data]'") from None
    return h5py


def read(path: Path, data: memoryview, blobs: Blobs) -> pb.NetParameter | pb.SolverState:
    """The net or the solver state of a file, whose bytes are also at hand as `data`."""
    try:
        with _library().File(path, "r") as file:
            return _solver_state(file, data, blobs) if "history" in file else _net(file, data, blobs)
    except (OSError, RuntimeError, KeyError, ValueError, TypeError) as problem:
        raise BinaryError(f"not a readable HDF5 file ({problem}); it is cut short or damaged") from None


def _net(file: h5py.File, data: memoryview, blobs: Blobs) -> pb.NetParameter:
    if "data" not in file:
        raise BinaryError(f"an HDF5 file with {sorted(file) or 'nothing'} in it, not one that Caffe wrote")
    net = pb.NetParameter()
    for name, group in _layers(file["data"], ""):
        layer = net.layer.add(name=name)
        for index in range(max((int(key) + 1 for key in group), default=0)):
            blob, values = layer.blobs.add(), group.get(str(index))
            if values is None:  # shared with another layer, which has it
                continue
            gradient = file.get(f"diff/{name}/{index}")
            parts = [_part(values, "data", data)] + ([] if gradient is None else [_part(gradient, "diff", data)])
            _add_blob(blob, values.shape, parts, blobs)
    return net


def _layers(group: h5py.Group, prefix: str) -> Iterator[tuple[str, h5py.Group]]:
    """The layers below a group; the name of one may have slashes, which nest groups."""
    for name, child in group.items():
        if not hasattr(child, "items"):
            raise ValueError(f"'{prefix}{name}' is not a layer")
        if all(hasattr(each, "shape") for each in child.values()):
            yield prefix + name, child
        else:
            yield from _layers(child, f"{prefix}{name}/")


def _part(dataset: h5py.Dataset, kind: str, data: memoryview) -> Part:
    """The values of a dataset: a view on the file if they lie there in one piece, as Caffe leaves them."""
    number = _NUMBERS[kind].get(dataset.dtype.itemsize) if dataset.dtype.kind == "f" else None
    if number is None:
        raise ValueError(f"'{dataset.name}' has values of type {dataset.dtype}, Caffe's are float32 or float64")
    value_type, offset = {**VALUES, **GRADIENTS}[number], dataset.id.get_offset()
    if offset is not None and dataset.dtype == value_type:
        return Part(number, (), np.frombuffer(data, value_type, dataset.size, offset))
    if dataset.size * value_type.itemsize > _MOST_COMPRESSED * len(data):
        raise ValueError(f"'{dataset.name}' claims {dataset.size:,} values, more than the file can hold")
    return Part(number, (), np.asarray(dataset[()], value_type).reshape(-1))


def _add_blob(proto: pb.BlobProto, shape: tuple[int, ...], parts: list[Part], blobs: Blobs) -> None:
    proto.shape.dim.extend(shape)
    proto.stored = blobs.add(Blob(tuple(part for found in parts for part in Blob.of(found.values, found.number).parts)))


def _solver_state(file: h5py.File, data: memoryview, blobs: Blobs) -> pb.SolverState:
    state = pb.SolverState(iter=int(file["iter"][0]), current_step=int(file["current_step"][0]))
    if "learned_net" in file:
        learned_net = file["learned_net"][()]
        state.learned_net = learned_net.decode() if isinstance(learned_net, bytes) else str(learned_net)
    history = file["history"]
    for key in sorted(history, key=int):
        _add_blob(state.history.add(), history[key].shape, [_part(history[key], "data", data)], blobs)
    return state


def write(path: Path, message: pb.NetParameter | pb.SolverState, blobs: Blobs) -> None:
    """A file as Caffe writes it."""
    with _library().File(path, "w", libver="earliest") as file:
        if isinstance(message, pb.SolverState):
            _write_state(file, message, blobs)
            return
        for layer in message.layer:
            file.require_group(f"data/{layer.name}")
            for index, blob in enumerate(layer.blobs):
                if not blob.ByteSize():
                    continue
                file[f"data/{layer.name}/{index}"] = blobs.array(blob)
                gradient = blobs.gradient(blob)
                if gradient is not None:
                    file[f"diff/{layer.name}/{index}"] = gradient


def _write_state(file: h5py.File, state: pb.SolverState, blobs: Blobs) -> None:
    file["iter"] = np.array([state.iter], np.int32)
    file["current_step"] = np.array([state.current_step], np.int32)
    if state.HasField("learned_net"):
        file["learned_net"] = np.bytes_(state.learned_net + "\0")
    for index, blob in enumerate(state.history):
        values: Array = blobs.array(blob)
        file[f"history/{index}"] = values
