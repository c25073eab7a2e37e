"""The program of a process for probes: each tries one thing out, and what came of it is written as a line of JSON."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict
from importlib import import_module
from typing import Any

from caffe_proto.errors import CaffeError


def imports(module: str) -> str:
    """Import a module by its name: only so can it be seen whether what is installed works."""
    import_module(module)
    return module


def torch() -> dict[str, Any]:
    """What torch is built for, and the devices that it computes on."""
    from zoo.doctor.torch_build import torch_build

    return asdict(torch_build())


def training() -> float:
    """The loss of a small net after a step of training."""
    from zoo.doctor.small_training import train_small_net

    return train_small_net()


def opset() -> int:
    """The newest opset of ONNX that is written and run."""
    from converters.onnx.library import newest_opset

    return newest_opset()


def mpi() -> dict[str, Any]:
    """The MPI that is installed."""
    from netdsl.mpi.installation import mpi_installation

    return asdict(mpi_installation())


def java() -> dict[str, Any]:
    """The Java that Spark would run on."""
    from netdsl.spark.java import find_java, version_of

    found = find_java()
    return {"program": found.program, "origin": found.origin.value, "version": version_of(found)}


def plugin(module: str, package: str, folder: str) -> list[str]:
    """What a plug-in registers; `folder` is where it is found if it isn't installed."""
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
    """Run the probes that the command line lists."""
    output = sys.stdout
    sys.stdout = sys.stderr  # what libraries print is no outcome
    warnings.simplefilter("ignore")
    for name, *arguments in json.loads(sys.argv[1]):
        output.write(json.dumps(_outcome(PROBES[name], arguments)) + "\n")
        output.flush()  # the next one may end the process


def _outcome(probe: Callable[..., Any], arguments: list[str]) -> dict[str, Any]:
    try:
        return {"result": probe(*arguments)}
    except (Exception, SystemExit) as problem:  # a package may raise anything when it is imported
        reason = next(iter(str(problem).splitlines()), "")
        return {"problem": reason if isinstance(problem, CaffeError) else f"{type(problem).__name__}: {reason}"}


if __name__ == "__main__":
    main()
