"""Out to Caffe: a folder with the net to deploy, its weights and, if wanted, what it was trained with."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import FileError
from caffe_proto.files import CaffeFile, Form, write
from converters.compare import CaffeModel, compare
from converters.onnx.verification import TOLERANCE
from netdsl.errors import ConversionError
from netdsl.model import Model, built_of, open_model
from netdsl.weights.files import array_of, learned_layers
from netdsl.weights.match import Weights
from netdsl.weights.writing import caffe_file_of

__all__ = ["CaffeFiles", "export_caffe", "write_net"]

DEPLOY, WEIGHTS, TRAIN_VAL, SOLVER = "deploy.prototxt", "deploy.caffemodel", "train_val.prototxt", "solver.prototxt"


@dataclass(frozen=True)
class CaffeFiles:
    """The files, and how far outputs of the net that they have are from the model's; None if it wasn't looked at."""

    files: tuple[Path, ...]
    difference: float | None = None


def export_caffe(
    model: Model,
    folder: str | Path,
    *,
    train_val: pb.NetParameter | None = None,
    solver: pb.SolverParameter | None = None,
    verified: bool = False,
    tolerance: float = TOLERANCE,
) -> CaffeFiles:
    """Write a deployed model, all of its files or none.

    Weights that nobody changed are written as the bytes that they were read from. What is to be verified is read again
    before it takes its place, and must compute what the model does. Files that are there already are replaced one after
    the other, when all are whole.
    """
    folder = Path(folder)
    with _staged(folder) as stage:
        write(CaffeFile(model.net), stage / DEPLOY)
        if model.weights:
            unchanged = model.file is not None and model.file.form is Form.BINARY
            write(model.file if unchanged and model.file else caffe_file_of(_whole(model), model.net), stage / WEIGHTS)
        if train_val is not None:
            write(CaffeFile(train_val), stage / TRAIN_VAL)
        if solver is not None:
            write(CaffeFile(_with_net(solver)), stage / SOLVER)
        names = sorted(path.name for path in stage.iterdir())
        difference = _difference(model, stage, tolerance) if verified and model.weights else None
    return CaffeFiles(tuple(folder / name for name in names), difference)


def _whole(model: Model) -> Weights:
    """The weights, with those that layers share for each of them: HDF5 files have them once."""
    if all(array.size for arrays in model.weights.values() for array in arrays):
        return model.weights
    layers = learned_layers(built_of(model))
    return {name: [array_of(blob) for blob in layer.blob_tensors()] for name, layer in layers.items()}


def write_net(model: Model, path: str | Path) -> tuple[Path, ...]:
    """Write a net and its weights side by side, as `.prototxt` and `.caffemodel`, both or neither."""
    path = Path(path)
    names = path.with_suffix(".prototxt").name, path.with_suffix(".caffemodel").name
    with _staged(path.parent) as stage:
        write(CaffeFile(model.net), stage / names[0])
        write(caffe_file_of(model.weights, model.net), stage / names[1])
    return tuple(path.parent / name for name in names)


def _difference(model: Model, stage: Path, tolerance: float) -> float:
    written = CaffeModel(open_model(stage / DEPLOY, [stage / WEIGHTS]))
    found = compare(CaffeModel(model), written).worst_output
    if found > tolerance:
        raise ConversionError(
            f"not written: its outputs differ by {found:.1e} of their spread, more than {tolerance:g}"
        )
    return found


def _with_net(solver: pb.SolverParameter) -> pb.SolverParameter:
    """A copy that trains the net beside it."""
    made = pb.SolverParameter()
    made.CopyFrom(solver)
    for name in ("net", "net_param", "train_net", "train_net_param", "test_net", "test_net_param"):
        made.ClearField(name)
    made.net = TRAIN_VAL
    return made


@contextmanager
def _staged(folder: Path) -> Iterator[Path]:
    """A folder to write to, whose files are moved to the real one when all went well."""
    stage: Path | None = None
    created = _missing(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        stage = Path(mkdtemp(prefix=".export.", dir=folder))
        yield stage
        _move(stage, folder)
    except FileError as problem:
        raise FileError(str(problem).replace(str(stage), str(folder))) from None
    except OSError as problem:
        raise FileError(f"{folder}: can't be written: {problem.strerror or problem}") from None
    finally:
        if stage is not None:
            shutil.rmtree(stage, ignore_errors=True)
        for made in created:
            with suppress(OSError):
                made.rmdir()  # refused where something is in it


def _move(stage: Path, folder: Path) -> None:
    """Nothing is moved if one of the files can't be."""
    paths = list(stage.iterdir())
    for path in paths:
        if (folder / path.name).is_dir():
            raise FileError(f"{folder / path.name}: is a directory; name another folder")
    for path in paths:
        path.replace(folder / path.name)


def _missing(folder: Path) -> Sequence[Path]:
    """The folders that aren't there yet, innermost first."""
    return [each for each in (folder, *folder.parents) if not each.exists()]
