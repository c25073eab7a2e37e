"""A net of any age by itself, from a file of any format or from a message; nothing here needs torch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

import numpy as np

from caffe_proto import caffe_pb2 as pb
from caffe_proto.dialects import dialect_named, mark, mark_by_fields
from caffe_proto.errors import CaffeError, FileError, in_file
from caffe_proto.files import CaffeFile, Form, read_net
from caffe_proto.locations import located
from caffe_proto.upgrade import upgrade_net
from netdsl.errors import NetError
from netdsl.formats import has_tensors, model_files, reader_of
from netdsl.plugins import load_plugins
from netdsl.weights.match import AnyArray, Weights, arrays_of
from netdsl.weights.torch_names import TensorMatch


@dataclass(frozen=True)
class Model:
    """A net in today's form with its weights by layer, and the file of Caffe's that has exactly these, if one has."""

    net: pb.NetParameter
    weights: Weights = field(default_factory=dict)
    file: CaffeFile[pb.NetParameter] | None = None
    names: tuple[TensorMatch, ...] = ()  # which of torch's tensors the weights were
    sources: Mapping[str, Path] = field(default_factory=dict)  # the file that a layer's weights are from

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that the weights are from."""
        return tuple(dict.fromkeys(self.sources.values()))

    def with_weights(self, weights: Weights) -> Model:
        """The model with other values for some of its layers. If all are the same, the file still has exactly these."""
        same = all(
            len(self.weights.get(name, ())) == len(arrays) and all(map(_equal, self.weights[name], arrays))
            for name, arrays in weights.items()
        )
        return self if same else replace(self, weights={**self.weights, **weights}, file=None)


def _equal(one: AnyArray, other: AnyArray) -> bool:
    return one.shape == other.shape and np.array_equal(one, other, equal_nan=True)


class HasNetMessage(Protocol):
    """What has a net as a message, as a `NetParams` or a file that was read."""

    message: pb.NetParameter


NetSource = str | Path | pb.NetParameter | HasNetMessage


@dataclass
class _Default:
    dialect: str | None = None


_default = _Default()


def set_dialect(name: str | None) -> None:
    """Name the dialect of all nets that are opened from now on and aren't said to be in another; None is for none."""
    _default.dialect = None if name is None else dialect_named(name).name


def default_dialect() -> str | None:
    """The dialect that was named last."""
    return _default.dialect


@contextmanager
def in_dialect(name: str | None) -> Iterator[None]:
    """Name the dialect of the nets that are opened meanwhile."""
    earlier = _default.dialect
    set_dialect(name)
    try:
        yield
    finally:
        set_dialect(earlier)


def open_net(net: NetSource, *, dialect: str | None = None, lenient: bool = False) -> Model:
    """A net of any age, with the weights that its own file has. A path can be a model's folder or name, too, for
    the net that it has to train.

    `dialect` is the fork of Caffe that the net is for, whatever the net says itself; what isn't said is guessed from
    its fields. `lenient` skips what a prototxt has and no schema knows, with a warning for each.
    """
    load_plugins()  # which may bring the kind of data that the net reads
    dialect = dialect or _default.dialect
    if isinstance(net, (str, Path)):
        return _open_file(model_files(Path(net)).net, dialect, lenient)
    if isinstance(net, CaffeFile):
        return _of_caffe(net, dialect)
    message = getattr(net, "message", net)
    if not isinstance(message, pb.NetParameter):
        raise NetError(f"a net is a path, a message, or a description such as NetParams, not a {type(net).__name__}")
    return Model(_without_blobs(todays_form(message, dialect)))


def _open_file(path: Path, dialect: str | None, lenient: bool) -> Model:
    reader = reader_of(path)
    if reader is not None:
        model = reader(path)
        return replace(model, sources=dict.fromkeys(model.weights, path))
    file = None if has_tensors(path) else read_net(path, dialect=dialect, lenient=lenient)
    if file is None or file.form is Form.HDF5:
        raise FileError(f"{path}: has weights without a net; name the net's own file, and this one as its weights")
    try:
        model = _of_caffe(file, dialect)
    except CaffeError as problem:
        raise type(problem)(in_file(path, problem)) from None
    return replace(model, sources=dict.fromkeys(model.weights, path))


def _of_caffe(file: CaffeFile[pb.NetParameter], dialect: str | None = None) -> Model:
    return Model(
        _without_blobs(todays_form(located(file.message, file.path, file.body), dialect)),
        arrays_of(file),
        file if len(file.blobs) else None,
    )


def _without_blobs(net: pb.NetParameter) -> pb.NetParameter:
    for layer in net.layer:
        layer.ClearField("blobs")
    return net


def todays_form(net: pb.NetParameter, dialect: str | None = None) -> pb.NetParameter:
    """A copy of a net, brought to today's form, and marked with the dialects that it may be in.

    Inputs without shapes, which Caffe drops, keep their names in `input`. Nets are built without them, as in Caffe; who
    knows a shape for one makes it a layer (`netdsl.checking.shape_guesses.assume`).
    """
    upgraded = upgrade_net(net).message
    if dialect is None:
        mark_by_fields(upgraded)
    else:
        mark(upgraded, [dialect_named(dialect).name])
    if not net.input_shape and not net.input_dim:
        made = {top for layer in upgraded.layer for top in layer.top if top not in layer.bottom}
        upgraded.input.extend(name for name in net.input if name not in made)
    return upgraded
