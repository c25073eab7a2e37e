"""The program that runs probes in a process. Each probe tries out one part, and its outcome is written as a line of
JSON."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict
from importlib import import_module
from typing import Any

from caffe_proto.errors import CaffeError, MissingExtraError


def imports(module: str) -> str:
    """Import a module by name, which shows whether an installed package works."""
    import_module(module)
    return module


def torch() -> dict[str, Any]:
    """Return facts about torch: its version, the CUDA or ROCm that it is built for, its threads, its GPUs, and the
    reason if there are none.

    Each GPU runs a small computation, since a visible GPU may still not work.
    """
    import torch as library

    hip = getattr(library.version, "hip", None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        count = library.cuda.device_count() if library.cuda.is_available() else 0
    reasons = [str(warning.message).splitlines()[0] for warning in caught]
    return {
        "version": library.__version__,
        "built_for": f"CUDA {library.version.cuda}" if library.version.cuda else f"ROCm {hip}" if hip else "",
        "threads": library.get_num_threads(),
        "gpus": [_probe_gpu(index) for index in range(count)],
        "no_gpu": next(iter(reasons), ""),
    }


def _probe_gpu(index: int) -> dict[str, Any]:
    """Return facts about a GPU: its memory in bytes, and the problem if it doesn't compute."""
    import torch as library

    gpu = {"name": library.cuda.get_device_name(index), "memory": 0, "free": 0, "problem": ""}
    try:
        ones = library.ones(64, 64, device=f"cuda:{index}")
        if float((ones @ ones).sum()) != 64**3:
            return {**gpu, "problem": "it computes a wrong result"}
        free, memory = library.cuda.mem_get_info(index)
    except RuntimeError as problem:
        return {**gpu, "problem": str(problem).splitlines()[0]}
    return {**gpu, "memory": memory, "free": free}


def training() -> float:
    """Return the loss of a small net after a training step on made-up numbers. This exercises the basis of all
    training."""
    import numpy as np

    from netdsl import LinearLayer, Net, NetParams, RDDLayer, SoftmaxWithLoss

    params = NetParams(
        "small",
        RDDLayer("data", shape=[4, 3]),
        RDDLayer("label", shape=[4]),
        LinearLayer("scores", ["data"], num_outputs=2, weight_filler={"type": "xavier"}),
        SoftmaxWithLoss("loss", ["scores", "label"]),
    )
    batch = {"data": np.ones((4, 3), np.float32), "label": np.zeros(4, np.float32)}
    with Net(params) as net:
        net.set_training_data([batch])
        net.train(1)
        return float(net.forward(**batch)["loss"])


def opset() -> int:
    """Return the newest ONNX opset that can be written and run."""
    from converters.onnx.library import newest_opset

    return newest_opset()


def mpi() -> dict[str, Any]:
    """Return the installed MPI."""
    from netdsl.mpi.installation import mpi_installation

    return asdict(mpi_installation())


def java() -> dict[str, Any]:
    """Return the Java that Spark would run on."""
    from netdsl.spark.java import find_java, version_of

    found = find_java()
    return {"program": found.program, "origin": found.origin.value, "version": version_of(found)}


def plugin(module: str, package: str, folder: str) -> list[str]:
    """Return the names that a plug-in registers. `folder` contains the plug-in if it isn't installed."""
    from netdsl.allowed_modules import PLUGINS
    from netdsl.plugins import Plugin
    from netdsl.registry import registered_by

    with PLUGINS.allowing({} if package else {module: folder}):
        Plugin(module, package).load()
    return registered_by(module)


PROBES: Mapping[str, Callable[..., Any]] = {
    probe.__name__: probe for probe in (imports, torch, training, opset, mpi, java, plugin)
}


def main() -> None:
    """Run the probes on the command line."""
    output = sys.stdout
    sys.stdout = sys.stderr  # keeps the output of libraries out of the outcomes
    warnings.simplefilter("ignore")
    for name, *arguments in json.loads(sys.argv[1]):
        output.write(json.dumps(_outcome_of(PROBES[name], arguments)) + "\n")
        output.flush()  # the next probe may end the process


def _outcome_of(probe: Callable[..., Any], arguments: list[str]) -> dict[str, Any]:
    try:
        return {"result": probe(*arguments)}
    except (Exception, SystemExit) as problem:  # importing a package may raise any exception
        reason = next(iter(str(problem).splitlines()), "")
        text = reason if isinstance(problem, CaffeError) else f"{type(problem).__name__}: {reason}"
        return {"problem": text, "missing": isinstance(problem, MissingExtraError)}


if __name__ == "__main__":
    main()
