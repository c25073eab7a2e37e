"""Exports nets with torch.export to `.pt2` files, which torch runs without this package."""

from __future__ import annotations

from contextlib import redirect_stderr
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any, BinaryIO

import torch
from torch import SymInt, Tensor
from torch.export import Dim, ExportedProgram

from converters.lengths import changing_lengths, length_sources
from converters.running import (
    TOLERANCE,
    Agreement,
    Arrays,
    NetToRun,
    Work,
    built_only,
    input_shapes,
    module_of,
    unreported,
)
from converters.staging import staged_file
from netdsl.errors import ConversionError, first_line
from netdsl.model.weights.files import array_of
from netdsl.net.build import Built, running
from netdsl.net.graph import Phase
from netdsl.net.memory_format import filters_as_in_caffe
from netdsl.net.module import NetModule
from netdsl.net.sample_inputs import sample_inputs


def export_torch(
    net: NetToRun, path: str | Path, *, verify: bool = True, tolerance: float = TOLERANCE, work: Work = unreported
) -> Agreement | None:
    """Write a net with its weights as a program of torch's own operators. The batch size stays open if possible.

    The program accepts the inputs in the net's order and returns the outputs by name. With `verify`, the written
    program is run before it takes its place, and must compute the same values as the net.
    """
    if built_only(net).graph.phase is not Phase.TEST:
        raise ConversionError(
            "a net in the TRAIN phase can't be exported; pass the net of its TEST phase, as in model.module(Phase.TEST)"
        )
    with staged_file(path) as staged:
        with work(f"writing {Path(path).name}", 1):
            _write(module_of(net), staged)
        agreement = _agreement(net, staged, work) if verify else None
        if agreement is not None and agreement.difference > tolerance:
            differ = f"its outputs differ by {agreement.difference:.1e} of their spread, more than {tolerance:g}"
            raise ConversionError(
                f"{path}: the program wasn't written because {differ}; allow the difference with --tolerance, "
                "or write it unchecked with --no-verify"
            )
    return agreement


def _write(module: NetModule, path: Path) -> None:
    try:
        with (
            path.open("wb") as file,
            torch.no_grad(),
            running(module.built),
            filters_as_in_caffe(module.built),
            redirect_stderr(StringIO()),  # torch prints its progress
        ):
            writer = _PatientWriter(file)
            torch.export.save(_program(module), writer)
            writer.check()
    except OSError:
        raise
    except Exception as problem:  # from the code of a layer, or from torch if it can't trace that
        raise ConversionError(
            f"torch can't export the net: {first_line(problem)}; export it to ONNX instead"
        ) from problem


class _PatientWriter(BytesIO):
    """A file that accepts all bytes and reports write errors later, because torch's writer ends the process at an
    error."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__()
        self._file = file
        self._problem: OSError | None = None

    def write(self, data: Any) -> int:
        """Write bytes, unless an earlier write failed."""
        if self._problem is None:
            try:
                self._file.write(data)
            except OSError as problem:
                self._problem = problem
        return memoryview(data).nbytes

    def check(self) -> None:
        """Raise the error of the first write that failed."""
        if self._problem is not None:
            raise self._problem


def _program(module: NetModule) -> ExportedProgram:
    built = module.built
    free = [source.axes for source in length_sources(built) if source.free and changing_lengths(built, source)]
    open_inputs = {edge for axes in free for edge, _ in axes}
    samples = _samples(built, open_inputs, least=2)  # with a length of 0 or 1, torch would specialise the program to it
    axes = tuple({0: Dim.AUTO} if edge in open_inputs else None for edge in built.input_edges())
    return torch.export.export(module, samples, dynamic_shapes={"inputs": axes})


def _agreement(net: NetToRun, path: Path, work: Work) -> Agreement:
    """Return the agreement of a program with its net for two batch sizes. Only one of them is in memory at a time."""
    with work("running the program", 1):
        inputs, actual = _run_twice(path, built_only(net))
    module = module_of(net)
    with work("running the net", 1), torch.no_grad(), running(module.built):
        expected = [_arrays(module(*samples)) for samples in inputs]
    return Agreement.of(*zip(actual, expected, strict=True))


def _run_twice(path: Path, built: Built) -> tuple[list[tuple[Tensor, ...]], list[Arrays]]:
    """Return the inputs and the outputs of two runs of a program."""
    with path.open("rb") as file:
        program = torch.export.load(file)
    open_inputs = _open_inputs(built, program)
    inputs = [_samples(built, open_inputs, extra=extra) for extra in (0, 1)]
    exported = program.module()
    with torch.no_grad(), running(built):
        return inputs, [_arrays(exported(*samples)) for samples in inputs]


def _arrays(outputs: dict[str, Tensor]) -> Arrays:
    return {name: array_of(value) for name, value in outputs.items()}


def _open_inputs(built: Built, program: ExportedProgram) -> set[int]:
    """Return the edges of inputs whose first axis is open in the program."""
    values = {node.name: node.meta["val"] for node in program.graph.nodes if node.op == "placeholder"}
    pairs = zip(built.input_edges(), program.graph_signature.user_inputs, strict=True)
    return {edge for edge, name in pairs if any(isinstance(length, SymInt) for length in values[name].shape[:1])}


def _samples(built: Built, open_inputs: set[int], *, least: int = 1, extra: int = 0) -> tuple[Tensor, ...]:
    """Return sample inputs. An open first axis has a length of at least `least`, plus `extra`."""
    opened = {built.graph.blobs[edge] for edge in open_inputs}
    longer = {
        name: (max(least, shape[0]) + extra, *shape[1:]) if name in opened else shape
        for name, shape in input_shapes(built).items()
    }
    return tuple(torch.from_numpy(value) for value in sample_inputs(built, longer).values())
