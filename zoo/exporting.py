"""What `zoo export` does: a net made ready to deploy, rewritten as one wishes, and written in another format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from caffe_proto.errors import FileError
from caffe_proto.files import read_solver
from caffe_proto.upgrade import upgrade_solver
from converters.caffe import export_caffe
from converters.exported import save
from converters.onnx import export_onnx
from converters.onnx.verification import TOLERANCE
from converters.rewriting import Proof, Rewrites, rewrite
from netdsl.deploy.deploy_net import deployed
from netdsl.errors import NetError
from netdsl.layer import Shape
from netdsl.model import Model, built_of, open_model
from netdsl.weights.torch_names import TensorMatch


class ExportTarget(Enum):
    """What a net is exported to."""

    CAFFE = "caffe"
    ONNX = "onnx"
    TORCH = "torch"


@dataclass(frozen=True)
class Export:
    """What is exported, and how."""

    net: str
    weights: tuple[str, ...]
    target: ExportTarget
    output: Path | None = None
    shapes: Mapping[str, Shape] = field(default_factory=dict)  # without the batch
    batch: int | None = None
    stages: Sequence[str] = ()
    rewrites: Rewrites = field(default_factory=Rewrites)
    verified: bool = True
    tolerance: float | None = None  # of all proofs, instead of each one's own
    opset: int | None = None
    train_val: bool = False
    solver: str | None = None


@dataclass(frozen=True)
class ExportedFiles:
    """The files that were written, what the net takes, and what was proved."""

    files: tuple[Path, ...]
    inputs: dict[str, Shape]
    proofs: tuple[Proof, ...]
    names: tuple[TensorMatch, ...]


def export(wanted: Export) -> ExportedFiles:
    """Export a net. Nothing is written unless all goes well."""
    trained = open_model(wanted.net, wanted.weights)
    try:
        model = deployed(trained, shapes=wanted.shapes, batch=wanted.batch, stages=wanted.stages)
        model, proofs = rewrite(model, wanted.rewrites, verify=wanted.verified, tolerance=wanted.tolerance)
        writers = {ExportTarget.CAFFE: _to_caffe, ExportTarget.ONNX: _to_onnx, ExportTarget.TORCH: _to_torch}
        files, difference = writers[wanted.target](model, trained, wanted)
    except NetError as problem:
        raise type(problem)(f"{wanted.net}: {problem}") from None
    proofs += [Proof(f"as {wanted.target.value}", difference, _tolerance(wanted))]
    inputs = {
        top: tuple(shape.dim)
        for layer in model.net.layer
        for top, shape in zip(layer.top, layer.input_param.shape, strict=False)
    }
    return ExportedFiles(files, inputs, tuple(proofs), trained.names)


def _to_caffe(model: Model, trained: Model, wanted: Export) -> tuple[tuple[Path, ...], float | None]:
    folder = wanted.output or Path(f"{Path(wanted.net).stem}_caffe")
    for path in (wanted.net, *wanted.weights, *([wanted.solver] if wanted.solver else [])):
        if Path(path).resolve().parent == folder.resolve():
            raise FileError(f"{folder}: has '{Path(path).name}', which is exported; name another folder")
    solver = upgrade_solver(read_solver(wanted.solver).message).message if wanted.solver else None
    train_val = trained.net if wanted.train_val or solver else None
    done = export_caffe(
        model, folder, train_val=train_val, solver=solver, verify=wanted.verified, tolerance=_tolerance(wanted)
    )
    return done.files, done.difference


def _to_onnx(model: Model, trained: Model, wanted: Export) -> tuple[tuple[Path, ...], float | None]:
    path = wanted.output or Path(f"{Path(wanted.net).stem}.onnx")
    report = export_onnx(
        built_of(model), path, opset=wanted.opset, verify=wanted.verified, tolerance=_tolerance(wanted)
    )
    return (path,), None if report is None else max(report.outputs.values(), default=0.0)


def _to_torch(model: Model, trained: Model, wanted: Export) -> tuple[tuple[Path, ...], float | None]:
    path = wanted.output or Path(f"{Path(wanted.net).stem}.pt2")
    return (path,), save(built_of(model), path, verify=wanted.verified, tolerance=_tolerance(wanted))


def _tolerance(wanted: Export) -> float:
    """Of a net in another format, which computes the same in another order."""
    return TOLERANCE if wanted.tolerance is None else wanted.tolerance
