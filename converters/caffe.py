"""Export to Caffe: a folder with the deploy net, its weights and, on request, the net and solver of its training."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import FileError
from caffe_proto.files import CaffeFile, Form, write
from caffe_proto.storage import temporary_folder
from converters.caffe_training import Database
from converters.compare import CaffeModel, compare
from converters.onnx.verification import TOLERANCE
from netdsl.data.sources.class_names import LABELS, write_class_names
from netdsl.errors import ConversionError
from netdsl.model import Model, built_of, open_model
from netdsl.weights.files import array_of, learned_layers
from netdsl.weights.match import Weights
from netdsl.weights.writing import caffe_file_of

__all__ = ["CaffeFiles", "export_caffe", "write_net"]

DEPLOY, WEIGHTS, TRAIN_VAL, SOLVER = "deploy.prototxt", "deploy.caffemodel", "train_val.prototxt", "solver.prototxt"


@dataclass(frozen=True)
class CaffeFiles:
    """The files of an export, and the largest difference of an output; None if it wasn't verified."""

    files: tuple[Path, ...]
    difference: float | None = None


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
) -> CaffeFiles:
    """Write a deployed model, all of its files or none; names of classes go into a `labels.txt`.

    `databases` are those that the training net reads.
    Unchanged weights are written as the bytes that they were read from. With `verify`, the files are read again before
    they take their place, and must compute what the model does. Existing files are replaced one after the other, when
    all new ones are complete.
    """
    folder = Path(folder)
    with _staging_folder(folder) as staging:
        write(CaffeFile(model.net), staging / DEPLOY)
        if model.weights:
            unchanged = model.file is not None and model.file.form is Form.BINARY
            write(
                model.file if unchanged and model.file else caffe_file_of(_with_shared_weights(model), model.net),
                staging / WEIGHTS,
            )
        if train_val is not None:
            write(CaffeFile(train_val), staging / TRAIN_VAL)
        if solver is not None:
            write(CaffeFile(_with_net(solver)), staging / SOLVER)
        if classes:
            write_class_names(classes, staging / LABELS)
        for database in databases:
            database.write(staging)
        names = sorted(path.name for path in staging.iterdir())
        difference = _difference(model, staging, tolerance) if verify and model.weights else None
    return CaffeFiles(tuple(folder / name for name in names), difference)


def _with_shared_weights(model: Model) -> Weights:
    """The weights of all layers; HDF5 files have blobs that layers share only once."""
    if all(array.size for arrays in model.weights.values() for array in arrays):
        return model.weights
    layers = learned_layers(built_of(model))
    return {name: [array_of(blob) for blob in layer.blob_tensors()] for name, layer in layers.items()}


def write_net(model: Model, path: str | Path) -> tuple[Path, ...]:
    """Write a net and its weights side by side, as `.prototxt` and `.caffemodel`, both or neither."""
    path = Path(path)
    names = path.with_suffix(".prototxt").name, path.with_suffix(".caffemodel").name
    with _staging_folder(path.parent) as staging:
        write(CaffeFile(model.net), staging / names[0])
        write(caffe_file_of(model.weights, model.net), staging / names[1])
    return tuple(path.parent / name for name in names)


def _difference(model: Model, staging: Path, tolerance: float) -> float:
    expected = CaffeModel(model)  # first, so that what is wrong with the net is said of it, not of its copy
    error = compare(expected, CaffeModel(open_model(staging / DEPLOY, [staging / WEIGHTS]))).worst_output
    if error > tolerance:
        raise ConversionError(
            f"not written: its outputs differ by {error:.1e} of their spread, more than {tolerance:g}"
        )
    return error


def _with_net(solver: pb.SolverParameter) -> pb.SolverParameter:
    """A copy of a solver that trains the net in the same folder."""
    copy = pb.SolverParameter()
    copy.CopyFrom(solver)
    for name in ("net", "net_param", "train_net", "train_net_param", "test_net", "test_net_param"):
        copy.ClearField(name)
    copy.net = TRAIN_VAL
    return copy


@contextmanager
def _staging_folder(folder: Path) -> Iterator[Path]:
    """A temporary folder to write to, whose files are moved to `folder` on success."""
    staging: Path | None = None
    created = _missing_folders(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with temporary_folder(folder, "export") as staging:
            yield staging
            _move(staging, folder)
    except FileError as problem:
        raise FileError(str(problem).replace(str(staging), str(folder))) from None
    except OSError as problem:
        raise FileError(f"{folder}: can't be written: {problem.strerror or problem}") from None
    finally:
        for created_folder in created:
            with suppress(OSError):
                created_folder.rmdir()  # this fails if the folder isn't empty


def _move(staging: Path, folder: Path) -> None:
    """Move all files, or none if one can't be moved."""
    paths = list(staging.iterdir())
    for path in paths:
        if (folder / path.name).is_dir():
            raise FileError(f"{folder / path.name}: is a directory; name another folder")
    for path in paths:
        path.replace(folder / path.name)


def _missing_folders(folder: Path) -> Sequence[Path]:
    """The folders that don't exist yet, innermost first."""
    return [path for path in (folder, *folder.parents) if not path.exists()]
