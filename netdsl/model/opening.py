"""The door for nets and weights: a net of any age, with weights of any format, from any path."""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of
from caffe_proto.dialects import mark, marks_of
from caffe_proto.errors import CaffeError, FileError, few
from caffe_proto.files import CaffeFile, Form, read_net, write
from netdsl.errors import NetError, WeightsError
from netdsl.model.formats import has_tensors, named_model, reader_of
from netdsl.model.model import Model, NetSource, open_named, open_net
from netdsl.model.weights.files import copy_weights, learned_layers, shared_blobs
from netdsl.model.weights.match import AnyArray, LoadReport, Weights, all_shared, arrays_of
from netdsl.model.weights.tensor_files import read_tensors
from netdsl.model.weights.torch_names import Layout, TensorMatch, map_names
from netdsl.model.weights.writing import caffe_file_of
from netdsl.net.build import Built

_log = logging.getLogger(__name__)

_NUMBERED = re.compile(r"(?P<layer>.*)\.(?P<index>0|[1-9][0-9]{0,8})", re.DOTALL)  # the name of a tensor
_NEVER_WEIGHTS = (".solverstate", ".binaryproto")
_SHOWN = 5  # layers that an error names


def open_model(
    net: NetSource,
    weights: Iterable[str | Path] = (),
    *,
    deployed: bool = False,
    dialect: str | None = None,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    level: int = 0,
    stages: Sequence[str] = (),
) -> Model:
    """Return a net of any age with weights of files of any format: those of its own file, and over them those of the
    others.

    Where several files have a layer, the last one counts. A file that has none of the net's layers is an error. A
    model's folder has weights, which count if no others are given, and a net to train and, `deployed`, one to use.
    `shapes` are those of one item of blobs that data layers bring; `level` and `stages` are for the net's rules.
    """
    paths = tuple(weights)
    if isinstance(net, (str, Path)):
        named = named_model(net)
        paths = paths or named.weights
        opened = open_named(named, deployed=deployed, dialect=dialect)
    else:
        opened = open_net(net, dialect=dialect)
    _log.info("opened net '%s' with the weights of %s", opened.net.name, ", ".join(map(str, paths)) or "no other file")
    return add_weights(replace(opened, items=shapes or {}, level=level, stages=stages), paths)


def add_weights(model: Model, paths: Iterable[str | Path]) -> Model:
    """Return the model with the weights of files over its own; a file that has none of its net's layers is an error."""
    files = open_files(paths, model)
    if not files:
        return model
    model = with_dialect_of(model, files)
    return model.with_other_weights(
        weights={**model.weights, **{name: arrays for file in files for name, arrays in file.weights.items()}},
        file=files[0].file if len(files) == 1 and not model.weights else None,
        names=tuple(match for file in files for match in file.names),
        sources={**model.sources, **{name: path for file in files for name, path in file.sources.items()}},
    )


def with_dialect_of(model: Model, files: Iterable[str | Path | Model]) -> Model:
    """Return the model in the dialect that one of its files of weights says, where its net leaves that open."""
    possible = marks_of(model.net)
    for file in files:
        said = marks_of(file.file.message) if isinstance(file, Model) and file.file is not None else ()
        if len(possible) != 1 and len(said) == 1 and (not possible or said[0] in possible):
            net = copy_of(model.net)
            mark(net, said)
            return replace(model, net=net)
    return model


def open_caffe_files(paths: Iterable[str | Path]) -> list[str | Path | Model]:
    """Files of weights, of which those of Caffe are opened; others need the net's layers for that."""
    return [path if _needs_net(Path(path)) else open_weights(path) for path in paths]


def _needs_net(path: Path) -> bool:
    return has_tensors(path) and reader_of(path) is None


def open_weights(path: str | Path, net: Model | Sequence[Built] | None = None) -> Model:
    """Return the weights of a file of any format, as a model without layers.

    Tensors with torch's own names need the net whose layers they are for. Tensors are recognised by the file's suffix,
    and Caffe's files by what they hold, whatever they are called.
    """
    path = Path(path)
    reader = reader_of(path)
    if reader is not None:
        return _without_layers(path, reader(path).weights)
    if has_tensors(path):
        return _open_tensors(path, net)
    file = read_net(path, by_content=path.suffix not in _NEVER_WEIGHTS)
    weights = arrays_of(file)
    if not weights and file.form is Form.TEXT:
        raise WeightsError(f"{path}: is a net without weights; name the file that has them")
    return _without_layers(path, weights, file)


def _without_layers(
    path: Path,
    weights: Weights,
    file: CaffeFile[pb.NetParameter] | None = None,
    names: Sequence[TensorMatch] = (),
) -> Model:
    return Model(pb.NetParameter(), weights, file, tuple(names), dict.fromkeys(weights, path))


def _open_tensors(path: Path, net: Model | Sequence[Built] | None) -> Model:
    tensors = read_tensors(path)
    numbered = _numbered(tensors)
    if numbered is not None:
        return _without_layers(path, numbered)
    if net is None:
        first = next(iter(tensors))
        raise WeightsError(f"{path}: names such as '{first[:100]}' aren't LAYER.INDEX; say which net they are for")
    try:
        weights, names = map_names(tensors, layout_of(net))
    except CaffeError as problem:
        raise type(problem)(f"{path}: {problem}") from None
    return _without_layers(path, weights, names=names)


def _numbered(tensors: Mapping[str, AnyArray]) -> dict[str, list[AnyArray]] | None:
    """Blobs by layer, if all names are LAYER.INDEX and no index is left out."""
    layers: dict[str, dict[int, AnyArray]] = {}
    for name, array in tensors.items():
        match = _NUMBERED.fullmatch(name)
        if match is None:
            return None
        layers.setdefault(match["layer"], {})[int(match["index"])] = array
    if any(sorted(blobs) != list(range(len(blobs))) for blobs in layers.values()):
        return None
    return {layer: [blobs[index] for index in sorted(blobs)] for layer, blobs in layers.items()}


def layout_of(net: Model | Sequence[Built]) -> Layout:
    """Return the blobs of all layers that learn, in all phases of a model's net, or in nets that are built."""
    builts = [net.settled(phase).built for phase in net.phases] if isinstance(net, Model) else net
    layout: dict[str, dict[str, tuple[int, ...]]] = {}
    for built in builts:
        for name, layer in learned_layers(built).items():
            layout.setdefault(name, {blob: tuple(getattr(layer, blob).shape) for blob in layer.blob_names()})
    if not layout:
        name = net.net.name if isinstance(net, Model) else net[0].graph.net.name
        raise NetError(f"net '{name}' has no layer that learns")
    return layout


def load_weights(source: str | Path | Model, *nets: Built, partial: bool = False) -> LoadReport:
    """Copy the weights of a file of any format into the layers of the same name.

    A layer that the file doesn't have keeps its values. A file with none of the nets' layers is an error. Of several
    nets the first is reported, and what none of them uses.
    """
    if isinstance(source, Model):
        file, path = source, source.file.path if source.file else ", ".join(map(str, source.files))
    else:
        file, path = open_weights(source, nets), str(Path(source))
    names = list(dict.fromkeys(name for net in nets for name in learned_layers(net)))
    if names or file.weights:
        check_names(file.weights, names, nets[0].graph.net.name, f"{path}: has")
    try:
        reports = [copy_weights(net, file.weights, partial=partial) for net in nets]
    except WeightsError as problem:
        raise WeightsError(f"{path}: {problem}") from None
    unused = set[str].intersection(*(set(report.unused) for report in reports))
    return replace(reports[0], unused=tuple(name for name in reports[0].unused if name in unused))


def open_files(paths: Iterable[str | Path], model: Model) -> list[Model]:
    """Return the weights of files, each of which has one of the layers of the model's net at least."""
    opened = [(path, open_weights(path, model)) for path in map(Path, paths)]
    for path, file in opened:
        check_names(file.weights, [layer.name for layer in model.net.layer], model.net.name, f"{path}: has")
    return [file for _, file in opened]


def check_names(weights: Weights, layers: Collection[str], net: str, whose: str = "there are") -> None:
    """An error unless some of the weights are for one of the layers."""
    if not weights:
        raise WeightsError(f"{whose} no weights")
    if weights.keys().isdisjoint(layers):
        names, others = (few((f"'{name}'" for name in names), _SHOWN) for names in (weights, layers))
        raise WeightsError(
            f"{whose} weights for {names}, and net '{net}' has no such layer, but {others or 'none that learns'}"
        )


def copy_model(model: Model, net: Built) -> LoadReport:
    """Copy a model's weights into the layers of the same name; an error names the files that they are from."""
    try:
        return copy_weights(net, model.weights)
    except WeightsError as problem:
        files = ", ".join(map(str, model.files))
        raise WeightsError(f"{files}: {problem}" if files else str(problem)) from None


def match_names(model: Model, built: Built) -> LoadReport:
    """Return the layers of a net that a model's weights would fill, by their names alone."""
    layers, shared = learned_layers(built), shared_blobs(built)
    missing = {name: layer for name, layer in layers.items() if name not in model.weights}
    return LoadReport(
        tuple(name for name in layers if name in model.weights),
        tuple(name for name, layer in missing.items() if not all_shared(name, len(layer.blob_names()), shared)),
        tuple(name for name in model.weights if name not in layers),
        (),
    )


def store_for_workers(files: Iterable[Model], folder: Path) -> tuple[str, ...]:
    """Write weights as files of Caffe's, in a folder that all workers of a run see.

    So workers need nothing but Caffe's formats, and the run can be repeated when the files have changed.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise FileError(f"{folder}: can't be made: {problem.strerror}") from None
    stored = []
    for number, file in enumerate(files):
        name = file.files[0].stem.removesuffix(".caffemodel")
        stored.append(folder.resolve() / f"weights{number}_{name}{_suffix(file)}")
        write(file.file or caffe_file_of(file.weights), stored[-1])
    return tuple(map(str, stored))


def _suffix(file: Model) -> str:
    return ".h5" if file.file is not None and file.file.form is Form.HDF5 else ".caffemodel"
