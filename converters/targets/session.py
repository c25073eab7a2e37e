"""Runs models in the environments of targets."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import BadZipFile

import numpy as np

from caffe_proto.errors import FileError
from caffe_proto.limits import Limit
from converters.onnx.files import load_onnx
from converters.running import Arrays, input_shapes
from converters.targets.environment import TargetEnvironment, installed_target, own_variables
from converters.targets.target import PROGRAMS, Target, check_runs
from netdsl.errors import ConversionError
from netdsl.model.opening import open_model
from netdsl.model.weights.match import AnyArray
from netdsl.net.graph import Phase

TOLERANCE = 1e-4  # relative to the spread of an output; programs choose other algorithms for convolutions
INTEGER_TOLERANCE = 0.05  # for quantized models, whose values are in 255 steps and can be rounded to another one

_SUFFIXES = {"onnx": (".onnx",), "caffe": (".prototxt", ".caffemodel")}
_WANTED = {"onnx": "MODEL.onnx", "caffe": "DEPLOY.prototxt,WEIGHTS.caffemodel"}


class TargetSession:
    """A model's files that a target's program runs. Each call starts the program again."""

    def __init__(
        self,
        target: Target,
        environment: TargetEnvironment,
        files: Sequence[Path],
        inputs: Mapping[str, list[int | str | None]],
        outputs: tuple[str, ...],
    ) -> None:
        self.target, self.inputs, self.outputs = target, inputs, outputs
        self._environment, self._files = environment, [str(file.resolve()) for file in files]

    def __call__(self, arrays: Arrays) -> dict[str, AnyArray]:
        """Run the model and return its outputs by name."""
        with TemporaryDirectory(prefix="netdsl-target-") as name:
            folder = Path(name)
            given = [arrays[name].astype(np.float32) for name in self.inputs]
            np.savez(folder / "inputs.npz", *given, allow_pickle=False)
            job = {
                "program": str(self.target.program),
                "files": self._files,
                "inputs": list(self.inputs),
                "outputs": self.outputs,
                "settings": dict(self.target.settings),
            }
            (folder / "job.json").write_text(json.dumps(job), encoding="utf-8")
            self._run(folder)
            return self._outputs(folder)

    def _run(self, folder: Path) -> None:
        """Run the program. It may write as much as it wants to its output, which goes to a file."""
        command = [str(self._environment.python), "-I", str(PROGRAMS / "main.py"), str(folder)]
        with (folder / "log.txt").open("wb") as log:
            process = subprocess.Popen(
                command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                env={**own_variables(self._environment), "TMPDIR": str(folder)},
            )  # fmt: skip
            try:
                code = process.wait(Limit.PROCESS_SECONDS.most)
            except subprocess.TimeoutExpired:
                raise Limit.PROCESS_SECONDS.problem(
                    Limit.PROCESS_SECONDS.most + 1, self._subject, Limit.PROCESS_SECONDS.most
                ) from None
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        if code:
            raise self._problem(f"its process ends with {_ending(code)}", folder)

    def _outputs(self, folder: Path) -> dict[str, AnyArray]:
        try:
            with np.load(folder / "outputs.npz", allow_pickle=False) as stored:
                return {name: stored[f"arr_{number}"] for number, name in enumerate(self.outputs)}
        except (OSError, ValueError, KeyError, BadZipFile):
            raise self._problem("its program writes no outputs", folder) from None

    def _problem(self, reason: str, folder: Path) -> ConversionError:
        """Return the error that the program gave as its reason, or another one."""
        with suppress(OSError):
            reason = " ".join((folder / "problem.txt").read_text(encoding="utf-8", errors="replace").split())
        return ConversionError(
            f"{self.target.title} can't run {self._subject}: {reason}; use another target, or end the net before the "
            "layer with `zoo export --prune-to`"
        )

    @property
    def _subject(self) -> str:
        return Path(self._files[0]).name


def _ending(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"code {code}"


def needed_environment(target: Target) -> TargetEnvironment:
    """Return the environment of a target, or raise an error that names the command that installs it."""
    check_runs(target)
    environment = installed_target(target)
    if environment is None:
        raise ConversionError(
            f"target '{target.name}' isn't installed; install {', '.join(target.packages)} into an environment of its "
            f"own with: zoo targets install {target.name}"
        )
    return environment


def open_target_session(target: Target, files: Sequence[Path]) -> TargetSession:
    """Open a model's files for a target, whose environment must be installed."""
    environment = needed_environment(target)
    if tuple(file.suffix for file in files) != _SUFFIXES[target.format]:
        named = ",".join(file.name for file in files)
        raise FileError(
            f"{named}: target '{target.name}' reads {_WANTED[target.format]}; write such files with: zoo export NET "
            f"--to {target.format}"
        )
    if target.format == "onnx":
        graph = load_onnx(files[0]).graph
        stored = {tensor.name for tensor in graph.initializer}
        inputs = {value.name: _lengths(value) for value in graph.input if value.name not in stored}
        return TargetSession(target, environment, files, inputs, tuple(value.name for value in graph.output))
    built = open_model(files[0]).layers(Phase.TEST)
    outputs = tuple(built.graph.blobs[edge] for edge in built.graph.outputs)
    shapes = {name: list[int | str | None](shape) for name, shape in input_shapes(built).items()}
    return TargetSession(target, environment, files, shapes, outputs)


def _lengths(value: Any) -> list[int | str | None]:
    """Return the lengths of an ONNX input, and the names of those that are open."""
    return [each.dim_value or each.dim_param or None for each in value.type.tensor_type.shape.dim]
