"""Caffe's HDF5 snapshots: `.caffemodel.h5` and `.solverstate.h5`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from io import BytesIO
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from caffe_proto import caffe_pb2 as pb
from caffe_proto.blobs import GRADIENTS, VALUES, Array, Blob, BlobPart, Blobs
from caffe_proto.errors import BinaryError, FileError, MissingExtraError
from caffe_proto.wire import MAX_DEPTH

if TYPE_CHECKING:
    import h5py

SIGNATURE = b"\x89HDF\r\n\x1a\n"
_NUMBERS = {"data": {4: 5, 8: 8}, "diff": {4: 6, 8: 9}}  # the blob's field, by the size of a value
_MOST_COMPRESSED = 1032  # times that deflate makes anything smaller; whoever claims more wants our memory
_INDEXES = {str(index): index for index in range(256)}  # a blob needs all before it, so a big number would cost much


def library() -> Any:
    """h5py, which is imported nowhere else."""
    try:
        import h5py
    except ImportError:
        raise MissingExtraError("HDF5 files need h5py: pip install 'netdsl[data]'") from None
    return h5py


def read(path: Path, data: memoryview, blobs: Blobs) -> pb.NetParameter | pb.SolverState:
    """The net or the solver state of a file, whose bytes are also at hand as `data`."""
    try:
        with library().File(path, "r") as file:
            return _solver_state(file, data, blobs) if "history" in file else _net(file, data, blobs)
    except (OSError, RuntimeError, LookupError, ArithmeticError, ValueError, TypeError) as problem:
        raise BinaryError(f"not a readable HDF5 file ({problem}); it is cut short or damaged") from None


def _net(file: h5py.File, data: memoryview, blobs: Blobs) -> pb.NetParameter:
    if "data" not in file:
        raise BinaryError(f"an HDF5 file with {sorted(file) or 'nothing'} in it, not one that Caffe wrote")
    net = pb.NetParameter()
    gradients = _child(file, "diff") if "diff" in file else None
    for name, numbered in _layers(_group(file, "data"), "", set()):
        layer = net.layer.add(name=name)
        for index in range(max(numbered, default=-1) + 1):
            blob, values = layer.blobs.add(), numbered.get(index)
            if values is None:  # shared with another layer, which has it
                continue
            where = f"layer {name!r}, blob {index}"
            gradient = _gradient(gradients, name, index)
            parts = [_part(values, "data", data, where)]
            parts += [] if gradient is None else [_part(gradient, "diff", data, where)]
            _add_blob(blob, values.shape, parts, blobs)
    return net


def _layers(group: h5py.Group, name: str, seen: set[Any]) -> Iterator[tuple[str, dict[int, h5py.Dataset]]]:
    """The layers in a group, with their blobs by number; the name of one may have slashes, which nest groups."""
    if group.id in seen or name.count("/") > MAX_DEPTH:
        raise BinaryError(f"layer {name[:100]!r}: its groups are nested without an end; the file is damaged")
    seen.add(group.id)
    children = {child: _child(group, child) for child in group}
    numbered = {_index(child, name): found for child, found in children.items() if _is_dataset(found)}
    below = {child: found for child, found in children.items() if not _is_dataset(found)}
    if name and (numbered or not below):
        yield name, numbered
    for child, found in below.items():
        yield from _layers(found, f"{name}/{child}" if name else child, seen)


def _index(name: str, layer: str) -> int:
    if not layer or name not in _INDEXES:
        raise BinaryError(f"layer {layer!r}: {name[:40]!r} is not the number of a blob; the file is damaged")
    return _INDEXES[name]


def _child(group: h5py.Group, name: str | bytes) -> Any:
    """What a group has under a name. Caffe links to no other place and no other file, so such links aren't followed."""
    if isinstance(name, bytes):
        raise BinaryError(f"the name {name[:40]!r} is not UTF-8 text; the file is damaged")
    links, encoded = group.id.links, name.encode()
    if not links.exists(encoded):
        raise BinaryError(f"'{name}' in '{group.name}' is missing; the file is damaged")
    if links.get_info(encoded).type != library().h5l.TYPE_HARD:
        raise BinaryError(f"'{name}' in '{group.name}' lies in another place or file; Caffe's files are complete")
    return group[name]


def _is_dataset(found: Any) -> bool:
    return isinstance(found, library().Dataset)


def _group(parent: h5py.Group, name: str) -> h5py.Group:
    found = _child(parent, name)
    if not isinstance(found, library().Group):
        raise BinaryError(f"'{name}' is not a group; Caffe didn't write this file")
    return found


def _value(parent: h5py.Group, name: str, kinds: str, longest: int) -> Any:
    """A single value of one of NumPy's kinds of types, of so many bytes at most."""
    found = _child(parent, name)
    if not _is_dataset(found) or found.size != 1 or found.dtype.kind not in kinds or found.dtype.itemsize > longest:
        raise BinaryError(f"'{name}' is not a single value of its type; Caffe didn't write this file")
    return np.ravel(found[()])[0]


def _gradient(found: Any, layer: str, index: int) -> Any:
    for name in [*layer.split("/"), str(index)]:
        if not isinstance(found, library().Group) or name not in found:
            return None
        found = _child(found, name)
    return found


def _part(dataset: Any, kind: str, data: memoryview, where: str) -> BlobPart:
    """The values of a dataset: a view on the file if they lie there in one piece, as Caffe leaves them."""
    if not _is_dataset(dataset) or dataset.size is None:
        raise BinaryError(f"{where}: has no values; the file is damaged, or Caffe didn't write it")
    number = _NUMBERS[kind].get(dataset.dtype.itemsize) if dataset.dtype.kind == "f" else None
    if number is None:
        raise BinaryError(f"{where}: values of type {dataset.dtype}; Caffe's are float32 or float64")
    if dataset.external or dataset.is_virtual:
        raise BinaryError(f"{where}: its values lie in another file; Caffe didn't write this one")
    value_type, offset = {**VALUES, **GRADIENTS}[number], dataset.id.get_offset()
    if offset is not None and dataset.dtype == value_type:
        return BlobPart(number, (), np.frombuffer(data, value_type, dataset.size, offset))
    if dataset.size * value_type.itemsize > _MOST_COMPRESSED * dataset.id.get_storage_size():
        raise BinaryError(f"{where}: claims {dataset.size:,} values, more than the file can hold; the file is damaged")
    return BlobPart(number, (), np.asarray(dataset[()], value_type).reshape(-1))


def _add_blob(proto: pb.BlobProto, shape: tuple[int, ...], parts: list[BlobPart], blobs: Blobs) -> None:
    proto.shape.dim.extend(shape)
    proto.stored = blobs.add(Blob(tuple(part for found in parts for part in Blob.of(found.values, found.number).parts)))


def _solver_state(file: h5py.File, data: memoryview, blobs: Blobs) -> pb.SolverState:
    state = pb.SolverState(
        iter=int(_value(file, "iter", "iu", 8)), current_step=int(_value(file, "current_step", "iu", 8))
    )
    if "learned_net" in file:
        state.learned_net = bytes(_value(file, "learned_net", "SO", len(data))).decode()
    history = _group(file, "history")
    for index in range(len(history)):
        values = _child(history, str(index))
        part = _part(values, "data", data, f"history {index}")
        _add_blob(state.history.add(), values.shape, [part], blobs)
    return state


def image(message: pb.NetParameter | pb.SolverState, blobs: Blobs) -> memoryview:
    """The bytes of a file as Caffe writes it. They are made in memory, since libhdf5 dies of a disk that is full."""
    if isinstance(message, pb.NetParameter):
        _check_names(message)
    written = BytesIO()
    with library().File(written, "w", libver="earliest") as file:
        if isinstance(message, pb.SolverState):
            _write_state(file, message, blobs)
        else:
            _write_net(file, message, blobs)
    return written.getbuffer()


def _check_names(net: pb.NetParameter) -> None:
    """Layers are named by groups, which are named like the folders of a file system."""
    if net.layers:
        raise FileError("HDF5 is for nets of today's form, and this is an older one; upgrade it first")
    counted = Counter(layer.name for layer in net.layer)
    groups = {path for name in counted for path in accumulate(name.split("/"), "{}/{}".format)}
    for layer in net.layer:
        steps, blobs = layer.name.split("/"), {f"{layer.name}/{index}" for index in range(len(layer.blobs))}
        if counted[layer.name] > 1 or "" in steps or "." in steps or "\0" in layer.name or blobs & groups:
            raise FileError(f"layer {layer.name!r}: HDF5 can't have it under this name, or another layer has it too")


def _write_net(file: h5py.File, net: pb.NetParameter, blobs: Blobs) -> None:
    file.create_group("data")
    for layer in net.layer:
        file.require_group(f"data/{layer.name}")
        for index, blob in enumerate(layer.blobs):
            if not blob.ByteSize():
                continue
            file[f"data/{layer.name}/{index}"] = _written(blobs.array(blob))
            gradient = blobs.gradient(blob)
            if gradient is not None:
                file[f"diff/{layer.name}/{index}"] = _written(gradient)


def _write_state(file: h5py.File, state: pb.SolverState, blobs: Blobs) -> None:
    file["iter"] = np.array([state.iter], np.int32)
    file["current_step"] = np.array([state.current_step], np.int32)
    if state.HasField("learned_net"):
        file["learned_net"] = np.bytes_(f"{state.learned_net}\0".encode())
    file.create_group("history")
    for index, blob in enumerate(state.history):
        file[f"history/{index}"] = _written(blobs.array(blob))


def _written(values: Array) -> Array:
    """As Caffe's HDF5 files have them, which know no halves."""
    return values if values.dtype == np.float64 else np.asarray(values, np.float32)
