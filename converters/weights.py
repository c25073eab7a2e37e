"""Weights alone, between Caffe's files and those of others; there a blob is called LAYER.INDEX, as `conv1.0`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import CaffeError, FileError
from caffe_proto.files import CaffeFile, Form, read_net, write
from converters.formats import FORMATS, Precision, read_tensors, write_tensors
from converters.name_map import Layout, Mapped, map_names
from netdsl.checking.lint import CheckSettings, in_todays_form, resolve_shapes
from netdsl.errors import NetError, WeightsError
from netdsl.layers import LAYERS
from netdsl.net.build import Types
from netdsl.weights.files import learned_layers
from netdsl.weights.match import AnyArray, arrays_of, distinct

__all__ = ["FORMATS", "Loaded", "Precision", "layout_of", "read_weights", "write_weights"]

_CAFFE = (".caffemodel", ".h5")
_ABOUT = {"format": "caffe", "names": "LAYER.INDEX"}

Weights = Mapping[str, Sequence[AnyArray]]


@dataclass(frozen=True)
class Loaded:
    """Weights by layer, the file of Caffe's that they are in, and for torch's names which layers these are."""

    weights: dict[str, list[AnyArray]]
    file: CaffeFile[pb.NetParameter] | None = None
    names: tuple[Mapped, ...] = ()


def holds_weights(path: str | Path) -> bool:
    """Whether a file's name says that weights are all one wants from it."""
    return Path(path).suffix in (*_CAFFE, *FORMATS)


def read_weights(path: str | Path, net: pb.NetParameter | None = None, *, types: Types = LAYERS) -> Loaded:
    """The weights of a file of any form. Tensors with names of torch's need the net whose layers they are for."""
    if Path(path).suffix not in FORMATS:
        file = read_net(path)
        return Loaded(arrays_of(file), file)
    tensors = read_tensors(path)
    numbered = _numbered(tensors)
    if numbered is not None:
        return Loaded(numbered)
    if net is None:
        first = next(iter(tensors))
        raise WeightsError(f"{path}: names such as '{first}' aren't LAYER.INDEX; say which net they are for")
    try:
        weights, names = map_names(tensors, layout_of(net, types=types))
    except CaffeError as problem:
        raise type(problem)(f"{path}: {problem}") from None
    return Loaded(weights, names=tuple(names))


def write_weights(
    weights: Weights,
    path: str | Path,
    *,
    net: pb.NetParameter | None = None,
    precision: Precision | None = None,
) -> None:
    """Write weights in the form that the file's name asks for; a caffemodel with the layers of a net, if one is given.

    The precision is for the forms of others: Caffe keeps float32.
    """
    suffix = Path(path).suffix
    if suffix in FORMATS:
        arrays = {f"{layer}.{index}": array for layer, each in weights.items() for index, array in enumerate(each)}
        name = {"net": net.name} if net is not None else {}
        write_tensors(path, arrays, about={**_ABOUT, **name}, precision=precision)
    elif suffix in _CAFFE:
        write(bundled(weights, net), path)
    else:
        raise FileError(f"{path}: weights are written as {', '.join((*_CAFFE, *FORMATS))}, not as '{suffix}'")


def bundled(weights: Weights, net: pb.NetParameter | None = None) -> CaffeFile[pb.NetParameter]:
    """Weights in the layers of a net, or in layers that are nothing but a name."""
    file = CaffeFile(pb.NetParameter(name="weights"), form=Form.BINARY)
    if net is not None:
        file.message.CopyFrom(net)
    learned = dict(zip(distinct(layer.name for layer in file.message.layer), file.message.layer, strict=True))
    for name, arrays in weights.items():
        layer = learned[name] if name in learned else file.message.layer.add(name=name)
        layer.ClearField("blobs")
        for array in arrays:
            file.blobs.put(layer.blobs.add(), array)
    return file


def layout_of(net: pb.NetParameter, *, types: Types = LAYERS) -> Layout:
    """The blobs of all layers that learn, in all phases of a net."""
    builts = resolve_shapes(in_todays_form(net), CheckSettings(types=types)).builts
    found: dict[str, dict[str, tuple[int, ...]]] = {}
    for built in builts:
        for name, layer in learned_layers(built).items():
            found.setdefault(name, {blob: tuple(getattr(layer, blob).shape) for blob in layer.blob_names()})
    if not found:
        raise NetError(f"net '{net.name}' has no layer that learns")
    return found


def _numbered(tensors: Mapping[str, AnyArray]) -> dict[str, list[AnyArray]] | None:
    """Blobs by layer, if all names are LAYER.INDEX and no index is left out."""
    found: dict[str, dict[int, AnyArray]] = {}
    for name, array in tensors.items():
        layer, dot, index = name.rpartition(".")
        if not dot or not index.isdecimal():
            return None
        found.setdefault(layer, {})[int(index)] = array
    if any(sorted(each) != list(range(len(each))) for each in found.values()):
        return None
    return {layer: [each[index] for index in sorted(each)] for layer, each in found.items()}
