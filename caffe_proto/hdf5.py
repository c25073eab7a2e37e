"""Reads and writes Caffe's HDF5 files, `.caffemodel.h5` and `.solverstate.h5`."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from io import BytesIO
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from caffe_proto import caffe_pb2 as pb
from caffe_proto.blobs import GRADIENTS, VALUES, Array, Blob, BlobPart, Blobs
from caffe_proto.errors import BinaryError, FileError, import_extra
from caffe_proto.limits import STORED_TIMES, Ledger, Limit
from caffe_proto.storage import MAX_DEFLATION
from caffe_proto.wire import MAX_DEPTH

if TYPE_CHECKING:
    import h5py

SIGNATURE = b"\x89HDF\r\n\x1a\n"
_FIELD_NUMBERS = {"data": {4: 5, 8: 8}, "diff": {4: 6, 8: 9}}  # the fields of a BlobProto, by the size of a value
# All blobs below an index are created, so the index must be small.
_INDEXES = {str(index): index for index in range(256)}


def import_h5py() -> Any:
    """Return the h5py module. Raises a `MissingExtraError` if it isn't installed."""
    return import_extra("h5py", "data", "HDF5 files need h5py")


def read(path: Path, data: memoryview, blobs: Blobs) -> pb.NetParameter | pb.SolverState:
    """Read the net or the solver state of a file whose bytes are mapped as `data`."""
    try:
        with import_h5py().File(path, "r") as file:
            read_message = _read_state if "history" in file else _read_net
            return read_message(file, data, blobs, StoredValues())
    except (OSError, RuntimeError, LookupError, ArithmeticError, ValueError, TypeError) as problem:
        raise BinaryError(
            f"not a readable HDF5 file ({problem}); it is cut short or damaged, so download or copy it again"
        ) from None


def _read_net(file: h5py.File, data: memoryview, blobs: Blobs, stored: StoredValues) -> pb.NetParameter:
    if "data" not in file:
        raise BinaryError(
            f"this HDF5 file contains {sorted(file) or 'nothing'}, so Caffe didn't write it; name a "
            ".caffemodel.h5 or .solverstate.h5 file of Caffe's"
        )
    net = pb.NetParameter()
    gradients = member(file, "diff") if "diff" in file else None
    for name, numbered in _layers_below(_group_in(file, "data"), "", set()):
        layer = net.layer.add(name=name)
        for index in range(max(numbered, default=-1) + 1):
            blob, values = layer.blobs.add(), numbered.get(index)
            if values is None:  # the layer shares this blob with another layer, which stores the values
                continue
            where = f"layer {name!r}, blob {index}"
            gradient = _gradient_of(gradients, name, index)
            parts = [_blob_part(values, "data", data, where, stored)]
            parts += [] if gradient is None else [_blob_part(gradient, "diff", data, where, stored)]
            _add_blob(blob, values.shape, parts, blobs)
    return net


def _layers_below(group: h5py.Group, name: str, seen: set[Any]) -> Iterator[tuple[str, dict[int, h5py.Dataset]]]:
    """Yield the layers in a group, with their blobs by number. A slash in a layer's name makes a nested group."""
    if group.id in seen or name.count("/") > MAX_DEPTH:
        raise BinaryError(
            f"layer {name[:100]!r}: its groups are nested endlessly; the file is damaged, so download or copy it again"
        )
    seen.add(group.id)
    children = {child: member(group, child) for child in group}
    numbered = {_blob_index(child, name): item for child, item in children.items() if _is_dataset(item)}
    subgroups = {child: item for child, item in children.items() if not _is_dataset(item)}
    if name and (numbered or not subgroups):
        yield name, numbered
    for child, item in subgroups.items():
        yield from _layers_below(item, f"{name}/{child}" if name else child, seen)


def _blob_index(name: str, layer: str) -> int:
    if not layer or name not in _INDEXES:
        raise BinaryError(
            f"layer {layer!r}: {name[:40]!r} isn't the number of a blob; the file is damaged, so download or copy it "
            f"again"
        )
    return _INDEXES[name]


def member(group: h5py.Group, name: str | bytes) -> Any:
    """Return the named member of a group. Soft and external links are refused because they can point to any file."""
    if isinstance(name, bytes):
        raise BinaryError(f"the name {name[:40]!r} isn't UTF-8 text; the file is damaged, so download or copy it again")
    links, encoded = group.id.links, name.encode()
    if not links.exists(encoded):
        raise BinaryError(f"'{name}' in '{group.name}' is missing; the file is damaged, so download or copy it again")
    if links.get_info(encoded).type != import_h5py().h5l.TYPE_HARD:
        raise BinaryError(
            f"'{name}' in '{group.name}' is a link, and Caffe's files don't contain links; copy the values into "
            "the file with h5py"
        )
    return group[name]


def _is_dataset(item: Any) -> bool:
    return isinstance(item, import_h5py().Dataset)


def _group_in(parent: h5py.Group, name: str) -> h5py.Group:
    group = member(parent, name)
    if not isinstance(group, import_h5py().Group):
        raise BinaryError(
            f"'{name}' isn't a group, so Caffe didn't write this file; name a .caffemodel.h5 or .solverstate.h5 "
            "file of Caffe's"
        )
    return group


def _single_value(parent: h5py.Group, name: str, kinds: str, longest: int, stored: StoredValues) -> Any:
    """Return the single value of a dataset.

    Its type must be among NumPy's `kinds`, and it must be at most `longest` bytes long.
    """
    dataset = member(parent, name)
    if (
        not _is_dataset(dataset)
        or dataset.size != 1
        or dataset.dtype.kind not in kinds
        or dataset.dtype.itemsize > longest
    ):
        raise BinaryError(
            f"'{name}' isn't a single value of its type, so Caffe didn't write this file; name a "
            ".solverstate.h5 file of Caffe's"
        )
    stored.charge(dataset, f"'{name}'")
    return np.ravel(dataset[()])[0]


def _gradient_of(item: Any, layer: str, index: int) -> Any:
    for name in [*layer.split("/"), str(index)]:
        if not isinstance(item, import_h5py().Group) or name not in item:
            return None
        item = member(item, name)
    return item


def _blob_part(dataset: Any, kind: str, data: memoryview, where: str, stored: StoredValues) -> BlobPart:
    """Return the values of a dataset. They are a view on the file if it stores them in one piece, as Caffe does."""
    if not _is_dataset(dataset) or dataset.size is None:
        raise BinaryError(
            f"{where}: the values are missing; the file is damaged or Caffe didn't write it, so download or copy it "
            f"again"
        )
    number = _FIELD_NUMBERS[kind].get(dataset.dtype.itemsize) if dataset.dtype.kind == "f" else None
    if number is None:
        raise BinaryError(
            f"{where}: the values have type {dataset.dtype}, but Caffe writes float32 or float64; convert them "
            "with numpy's astype, and store them again"
        )
    stored.charge(dataset, where)
    value_type, offset = {**VALUES, **GRADIENTS}[number], dataset.id.get_offset()
    if offset is not None and dataset.dtype == value_type:
        return BlobPart(number, (), np.frombuffer(data, value_type, dataset.size, offset))
    return BlobPart(number, (), np.asarray(dataset[()], value_type).reshape(-1))


class StoredValues:
    """The values that are read from one HDF5 file. Several names can share the same bytes, so the sum is limited."""

    def __init__(self) -> None:
        self._ledger = Ledger()

    def charge(self, dataset: h5py.Dataset, where: str, itemsize: int = 0) -> None:
        """Raise a `BinaryError` if values are stored in another file, or if the file can't hold them, and a
        `LimitError` if the few bytes of a file would become many.

        `itemsize` is that of the type that the values are converted to.
        """
        if dataset.external or dataset.is_virtual:
            raise BinaryError(f"{where}: the values are stored in another file; copy them into this one with h5py")
        file_size = dataset.file.id.get_filesize()
        count = max(math.prod(dataset.shape), math.prod(dataset.chunks or (0,)))  # a chunk is read as a whole
        if count * dataset.dtype.itemsize > MAX_DEFLATION * min(dataset.id.get_storage_size(), file_size):
            raise BinaryError(
                f"{where}: the file claims to hold {count:,} values, which is impossible at its size; it is "
                "damaged, so download or copy it again"
            )
        needed = count * max(itemsize, dataset.dtype.itemsize)
        self._ledger.charge(Limit.MEMORY, needed, f"{where} with those before it", STORED_TIMES * file_size)


def _add_blob(proto: pb.BlobProto, shape: tuple[int, ...], parts: list[BlobPart], blobs: Blobs) -> None:
    proto.shape.dim.extend(shape)
    proto.stored = blobs.add(
        Blob(tuple(encoded for part in parts for encoded in Blob.of(part.values, part.number).parts))
    )


def _read_state(file: h5py.File, data: memoryview, blobs: Blobs, stored: StoredValues) -> pb.SolverState:
    state = pb.SolverState(
        iter=int(_single_value(file, "iter", "iu", 8, stored)),
        current_step=int(_single_value(file, "current_step", "iu", 8, stored)),
    )
    if "learned_net" in file:
        state.learned_net = bytes(_single_value(file, "learned_net", "SO", len(data), stored)).decode()
    history = _group_in(file, "history")
    for index in range(len(history)):
        values = member(history, str(index))
        part = _blob_part(values, "data", data, f"history {index}", stored)
        _add_blob(state.history.add(), values.shape, [part], blobs)
    return state


def file_image(message: pb.NetParameter | pb.SolverState, blobs: Blobs) -> memoryview:
    """Return the bytes of a file as Caffe writes it. The file is built in memory because libhdf5 crashes on a full
    disk."""
    if isinstance(message, pb.NetParameter):
        _check_names(message)
    buffer = BytesIO()
    with import_h5py().File(buffer, "w", libver="earliest") as file:
        if isinstance(message, pb.SolverState):
            _write_state(file, message, blobs)
        else:
            _write_net(file, message, blobs)
    return buffer.getbuffer()


def _check_names(net: pb.NetParameter) -> None:
    """Raise a `FileError` for layer names that HDF5 can't store. HDF5 names groups like folders of a file system."""
    if net.layers:
        raise FileError(
            "this net is in an old form, which HDF5 can't store; upgrade it first with `zoo upgrade FILE OUTPUT`"
        )
    name_counts = Counter(layer.name for layer in net.layer)
    groups = {path for name in name_counts for path in accumulate(name.split("/"), "{}/{}".format)}
    for layer in net.layer:
        steps, blobs = layer.name.split("/"), {f"{layer.name}/{index}" for index in range(len(layer.blobs))}
        if name_counts[layer.name] > 1 or "" in steps or "." in steps or "\0" in layer.name or blobs & groups:
            raise FileError(
                f"layer {layer.name!r}: HDF5 can't store this name, or another layer also has it; rename the "
                "layer, without empty parts between slashes"
            )


def _write_net(file: h5py.File, net: pb.NetParameter, blobs: Blobs) -> None:
    file.create_group("data")
    for layer in net.layer:
        file.require_group(f"data/{layer.name}")
        for index, blob in enumerate(layer.blobs):
            if not blob.ByteSize():
                continue
            file[f"data/{layer.name}/{index}"] = _as_float(blobs.array(blob))
            gradient = blobs.gradient(blob)
            if gradient is not None:
                file[f"diff/{layer.name}/{index}"] = _as_float(gradient)


def _write_state(file: h5py.File, state: pb.SolverState, blobs: Blobs) -> None:
    file["iter"] = np.array([state.iter], np.int32)
    file["current_step"] = np.array([state.current_step], np.int32)
    if state.HasField("learned_net"):
        file["learned_net"] = np.bytes_(f"{state.learned_net}\0".encode())
    file.create_group("history")
    for index, blob in enumerate(state.history):
        file[f"history/{index}"] = _as_float(blobs.array(blob))


def _as_float(values: Array) -> Array:
    """Return the values as float64 or float32. Caffe's HDF5 files contain no other types."""
    return values if values.dtype == np.float64 else np.asarray(values, np.float32)
