"""Opens nets and weights: a net of any age with weights of any format, from any path."""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of
from caffe_proto.dialects import mark, marks_of
from caffe_proto.errors import CaffeError, few
from caffe_proto.files import CaffeFile, Form, read_net, write
from caffe_proto.storage import PRIVATE, create_folder
from netdsl.errors import NetError, WeightsError
from netdsl.model.formats import has_tensors, named_model, reader_of
from netdsl.model.model import Model, NetSource, open_named, open_net
from netdsl.model.weights.files import copy_weights, learned_layers, shared_blobs
from netdsl.model.weights.match import AnyArray, LoadReport, Weights, all_shared, arrays_of
from netdsl.model.weights.tensor_files import read_tensors
from netdsl.model.weights.torch_names import Layout, TensorMatch, map_names
from netdsl.model.weights.writing import caffe_file_of
from netdsl.net.build import Built
from netdsl.storage.local_copies import opened_path

_log = logging.getLogger(__name__)

_NUMBERED = re.compile(r"(?P<layer>.*)\.(?P<index>0|[1-9][0-9]{0,8})", re.DOTALL)  # the name of a tensor
_NEVER_WEIGHTS = (".solverstate", ".binaryproto")
_SHOWN = 5  # the number of layers that an error names


def open_model(
    net: NetSource,
    weights: str | Path | Iterable[str | Path] = (),
    *,
    deployed: bool = False,
    dialect: str | None = None,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    level: int = 0,
    stages: Sequence[str] = (),
) -> Model:
    """Return a net of any age with weights from a file, or several files, of any format.

    Weights in the given files replace those in the net's own file. If several files contain a layer, the last file is
    used. A file without any of the net's layers is an error. The weights in a model's folder are used if no others are
    given. The folder's net is the one to train or, with `deployed`, the one to use. `shapes` contains the shapes of one
    item of blobs that data layers produce. `level` and `stages` are for the net's rules.
    """
    paths = (weights,) if isinstance(weights, (str, Path)) else tuple(weights)
    if isinstance(net, (str, Path)):
        named = named_model(net)
        paths = paths or named.weights
        opened = open_named(named, deployed=deployed, dialect=dialect, items=shapes or {})
    else:
        opened = open_net(net, dialect=dialect, items=shapes or {})
    _log.info("opened net '%s' with the weights of %s", opened.net.name, ", ".join(map(str, paths)) or "no other file")
    return add_weights(replace(opened, level=level, stages=stages), paths)


def add_weights(model: Model, paths: Iterable[str | Path]) -> Model:
    """Return the model with weights from files in place of its own. A file without any of its net's layers is an
    error."""
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
    """Return the model in the dialect that one of its weight files records, if its net leaves the dialect open."""
    possible = marks_of(model.net)
    for file in files:
        said = marks_of(file.file.message) if isinstance(file, Model) and file.file is not None else ()
        if len(possible) != 1 and len(said) == 1 and (not possible or said[0] in possible):
            net = copy_of(model.net)
            mark(net, said)
            return replace(model, net=net)
    return model


def open_caffe_files(paths: Iterable[str | Path]) -> list[str | Path | Model]:
    """Open the weight files in Caffe's own formats. Other files stay paths, because opening them needs the net's
    layers."""
    return [path if _needs_net(path) else open_weights(path) for path in map(opened_path, paths)]


def _needs_net(path: Path) -> bool:
    return has_tensors(path) and reader_of(path) is None


def open_weights(path: str | Path, net: Model | Sequence[Built] | None = None) -> Model:
    """Return the weights of a file of any format, as a model without layers.

    Tensors with torch's own names need the net that their layers belong to. Files of tensors are recognized by their
    suffix, and Caffe's files by their content, whatever their name.
    """
    path = opened_path(path)
    reader = reader_of(path)
    if reader is not None:
        return _without_layers(path, reader(path).weights)
    if has_tensors(path):
        return _open_tensors(path, net)
    file = read_net(path, by_content=path.suffix not in _NEVER_WEIGHTS)
    weights = arrays_of(file)
    if not weights and file.form is Form.TEXT:
        raise WeightsError(
            f"{path}: the file contains a net but no weights; name the .caffemodel or another file with the weights"
        )
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
        raise WeightsError(
            f"{path}: names such as '{first[:100]}' don't have the form LAYER.INDEX; name the net that they "
            "belong to, as with `zoo convert --net NET`"
        )
    try:
        weights, names = map_names(tensors, layout_of(net))
    except CaffeError as problem:
        raise type(problem)(f"{path}: {problem}") from None
    return _without_layers(path, weights, names=names)


def _numbered(tensors: Mapping[str, AnyArray]) -> dict[str, list[AnyArray]] | None:
    """Return the blobs by layer, or `None` unless all names have the form LAYER.INDEX and no index is missing."""
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
    """Return the blobs of all layers that learn, in all phases of a model's net or in built nets."""
    builts = [net.settled(phase).built for phase in net.phases] if isinstance(net, Model) else net
    layout: dict[str, dict[str, tuple[int, ...]]] = {}
    for built in builts:
        for name, layer in learned_layers(built).items():
            layout.setdefault(name, {blob: tuple(getattr(layer, blob).shape) for blob in layer.blob_names()})
    if not layout:
        name = net.net.name if isinstance(net, Model) else net[0].graph.net.name
        raise NetError(f"net '{name}' has no layer that learns, so it can't have weights; leave out --weights")
    return layout


def load_weights(source: str | Path | Model, *nets: Built, partial: bool = False) -> LoadReport:
    """Copy the weights of a file of any format into the layers of the same names.

    A layer that the file doesn't contain keeps its values. A file without any of the nets' layers is an error. The
    report describes the first net, and the layers that no net uses.
    """
    if isinstance(source, Model):
        file, path = source, source.file.path if source.file else ", ".join(map(str, source.files))
    else:
        file, path = open_weights(source, nets), str(source)
    names = list(dict.fromkeys(name for net in nets for name in learned_layers(net)))
    if names or file.weights:
        check_names(file.weights, names, nets[0].graph.net.name, f"{path}: the file has")
    try:
        reports = [copy_weights(net, file.weights, partial=partial) for net in nets]
    except WeightsError as problem:
        raise WeightsError(f"{path}: {problem}") from None
    unused = set[str].intersection(*(set(report.unused) for report in reports))
    return replace(reports[0], unused=tuple(name for name in reports[0].unused if name in unused))


def open_files(paths: Iterable[str | Path], model: Model) -> list[Model]:
    """Return the weights of files. Each file must contain at least one layer of the model's net."""
    opened = [(path, open_weights(path, model)) for path in map(opened_path, paths)]
    for path, file in opened:
        check_names(file.weights, [layer.name for layer in model.net.layer], model.net.name, f"{path}: the file has")
    return [file for _, file in opened]


def check_names(weights: Weights, layers: Collection[str], net: str, whose: str = "there are") -> None:
    """Raise a `WeightsError` unless some of the weights belong to one of the layers."""
    if not weights:
        raise WeightsError(f"{whose} no weights; name a file with weights, such as a .caffemodel")
    if weights.keys().isdisjoint(layers):
        names, others = (few((f"'{name}'" for name in names), _SHOWN) for names in (weights, layers))
        raise WeightsError(
            f"{whose} weights for {names}, but not for a layer of net '{net}', which has "
            f"{others or 'no layer that learns'}; name the weights of this net, or see the file's layers with "
            "`zoo show`"
        )


def copy_model(model: Model, net: Built) -> LoadReport:
    """Copy a model's weights into the layers of the same names. Errors name the files that the weights are from."""
    try:
        return copy_weights(net, model.weights)
    except WeightsError as problem:
        files = ", ".join(map(str, model.files))
        raise WeightsError(f"{files}: {problem}" if files else str(problem)) from None


def match_names(model: Model, built: Built) -> LoadReport:
    """Report which layers of a net a model's weights would fill, judging only by their names."""
    layers, shared = learned_layers(built), shared_blobs(built)
    missing = {name: layer for name, layer in layers.items() if name not in model.weights}
    return LoadReport(
        tuple(name for name in layers if name in model.weights),
        tuple(name for name, layer in missing.items() if not all_shared(name, len(layer.blob_names()), shared)),
        tuple(name for name in model.weights if name not in layers),
        (),
    )


def store_for_workers(files: Iterable[Model], folder: Path) -> tuple[str, ...]:
    """Write weights as Caffe files to a folder that all workers of a run can read.

    The workers then need only Caffe's formats, and the run can be repeated after the original files change.
    """
    create_folder(folder, PRIVATE)
    stored = []
    for number, file in enumerate(files):
        name = file.files[0].stem.removesuffix(".caffemodel")
        stored.append(folder.resolve() / f"weights{number}_{name}{_suffix(file)}")
        write(file.file or caffe_file_of(file.weights), stored[-1])
    return tuple(map(str, stored))


def _suffix(file: Model) -> str:
    return ".h5" if file.file is not None and file.file.form is Form.HDF5 else ".caffemodel"
