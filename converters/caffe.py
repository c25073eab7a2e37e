"""Exports a model to Caffe: a folder with the deploy net, its weights and, on request, the training net and solver."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from caffe_proto import caffe_pb2 as pb
from caffe_proto.addresses import local_path
from caffe_proto.blobs import release_pages
from caffe_proto.copies import copy_of
from caffe_proto.files import CaffeFile, Form, write
from converters.caffe_training import Database
from converters.running import TOLERANCE, Agreement, Work, made_up_inputs, output_values, unreported
from converters.staging import staged_files
from netdsl.data.sources.class_names import LABELS, write_class_names
from netdsl.errors import ConversionError
from netdsl.model.model import Model
from netdsl.model.opening import open_model
from netdsl.model.weights.files import array_of, learned_layers
from netdsl.model.weights.match import Weights
from netdsl.model.weights.writing import caffe_file_of
from netdsl.net.graph import Phase

__all__ = ["CaffeFiles", "export_caffe", "write_net"]

DEPLOY, WEIGHTS, TRAIN_VAL, SOLVER = "deploy.prototxt", "deploy.caffemodel", "train_val.prototxt", "solver.prototxt"


@dataclass(frozen=True)
class CaffeFiles:
    """The files of an export.

    `agreement` compares their outputs with the model's. It is `None` if the export wasn't verified.
    """

    files: tuple[Path, ...]
    agreement: Agreement | None = None


def export_caffe(
    model: Model,
    folder: str | Path,
    *,
    train_val: pb.NetParameter | None = None,
    solver: pb.SolverParameter | None = None,
    verify: bool = False,
    tolerance: float = TOLERANCE,
    classes: Sequence[str] = (),
    databases: Sequence[Database] = (),
    accept: Callable[[Path], object] | None = None,
    work: Work = unreported,
) -> CaffeFiles:
    """Write a deployed model: all of its files or none.

    The training net reads `databases`, and `classes` go into a `labels.txt`. Unchanged weights are written as the bytes
    that they were read from. With `verify`, the files are read again before they take their place, and must compute the
    same as the model. `accept` is called with the folder of the new files, and can raise an error. When all new files
    are complete, they replace existing files one after the other.
    """
    folder = local_path(folder, "a folder")
    with staged_files(folder) as staging:
        write(CaffeFile(model.net), staging / DEPLOY)
        if model.weights:
            _write_weights(model, staging / WEIGHTS)
        if train_val is not None:
            write(CaffeFile(train_val), staging / TRAIN_VAL)
        if solver is not None:
            write(CaffeFile(_with_net(solver)), staging / SOLVER)
        if classes:
            write_class_names(classes, staging / LABELS)
        for database in databases:
            database.write(staging)
        names = sorted(path.name for path in staging.iterdir())
        agreement = _agreement(model, staging, tolerance, work) if verify and model.weights else None
        if accept is not None:
            accept(staging)
    return CaffeFiles(tuple(folder / name for name in names), agreement)


def _write_weights(model: Model, path: Path) -> None:
    """Write a model's weights. An unchanged weights file is copied."""
    unchanged = model.file is not None and model.file.form is Form.BINARY
    file = model.file if unchanged and model.file else caffe_file_of(_with_shared_weights(model), model.net)
    write(file, path)
    for array in chain.from_iterable(model.weights.values()):
        release_pages(array)


def _with_shared_weights(model: Model) -> Weights:
    """Return the weights of all layers. HDF5 files store blobs that layers share only once."""
    if all(array.size for arrays in model.weights.values() for array in arrays):
        return model.weights
    layers = learned_layers(model.module(Phase.TEST).built)
    return {name: [array_of(blob) for blob in layer.blob_tensors()] for name, layer in layers.items()}


def write_net(model: Model, path: str | Path) -> tuple[Path, ...]:
    """Write a net and its weights to the same folder, as `.prototxt` and `.caffemodel`: both or neither."""
    path = local_path(path)
    names = path.with_suffix(".prototxt").name, path.with_suffix(".caffemodel").name
    with staged_files(path.parent) as staging:
        write(CaffeFile(model.net), staging / names[0])
        write(caffe_file_of(model.weights, model.net), staging / names[1])
    return tuple(path.parent / name for name in names)


def _agreement(model: Model, staging: Path, tolerance: float, work: Work) -> Agreement:
    """Return how far a model is from the files. Only one of them has its weights in memory at a time.

    Raises a `ConversionError` if the difference exceeds the tolerance.
    """
    inputs = made_up_inputs(model.layers(Phase.TEST))
    # The model runs first, so that an error names the net and not its copy.
    expected = output_values(model, inputs, work, "running the net")
    written = open_model(staging / DEPLOY, [staging / WEIGHTS])
    agreement = Agreement.of((output_values(written, inputs, work, "running the written net"), expected))
    if agreement.difference > tolerance:
        raise ConversionError(
            "the files weren't written because their outputs differ from the model's by "
            f"{agreement.difference:.1e} of their spread, more than {tolerance:g}; allow the difference with "
            "--tolerance, or write them unchecked with --no-verify"
        )
    return agreement


def _with_net(solver: pb.SolverParameter) -> pb.SolverParameter:
    """Return a copy of a solver that trains the net in the same folder."""
    copy = copy_of(solver, without=("net", "net_param", "train_net", "train_net_param", "test_net", "test_net_param"))
    copy.net = TRAIN_VAL
    return copy
