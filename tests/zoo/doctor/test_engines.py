"""Doctor's findings about torch, Spark, MPI and ONNX from the results of their probes."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from zoo.doctor.engines import java_results, mpi_results, onnx_results, torch_results, training_results
from zoo.doctor.results import Outcome, Verdict

GIB = 1 << 30


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "CUDA_VISIBLE_DEVICES", "SPARK_HOME"):
        monkeypatch.delenv(name, raising=False)


def gpu(name: str, memory: int = 0, free: int = 0, problem: str = "") -> dict[str, object]:
    return {"name": name, "memory": memory, "free": free, "problem": problem}


def devices(*gpus: dict[str, object], built_for: str = "CUDA 13.0", threads: int = 64, no_gpu: str = "") -> list:
    """Return the findings about a torch's devices, without its version."""
    return list(
        torch_results(Outcome({"built_for": built_for, "threads": threads, "gpus": list(gpus), "no_gpu": no_gpu}))
    )


def test_each_gpu_has_its_line_and_a_broken_gpu_is_wrong() -> None:
    _, good, bad = devices(gpu("H200", 140 * GIB, 100 * GIB), gpu("K80", problem="no kernel image is available"))
    assert (good.verdict, good.fact) == (Verdict.GOOD, "H200, 140.0 GiB, 100.0 GiB free")
    assert (bad.part, bad.verdict, bad.fact) == ("cuda:1", Verdict.WRONG, "K80: no kernel image is available")


def test_the_reason_for_a_missing_gpu_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("zoo.doctor.engines._DRIVER", tmp_path / "none")
    assert devices()[1].fact == "torch is built for CUDA 13.0, and there is no NVIDIA driver here"
    assert devices()[1].verdict is Verdict.MISSING
    monkeypatch.setattr("zoo.doctor.engines._DRIVER", tmp_path)
    blind = devices(built_for="")[1]
    assert (blind.verdict, blind.fact) == (
        Verdict.LIMITED,
        "torch is built for CPUs only, so it can't use this machine's GPU",
    )
    assert devices(no_gpu="the driver is too old")[1].fact.endswith("GPU: the driver is too old")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert devices()[1].fact.startswith("CUDA_VISIBLE_DEVICES is ''")


def test_a_setting_that_limits_threads_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    assert devices(threads=1)[0].verdict is Verdict.GOOD
    monkeypatch.setattr("os.sched_getaffinity", lambda process: range(8), raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    limited = devices(threads=1)[0]
    assert (limited.verdict, limited.advice) == (Verdict.LIMITED, "unset OMP_NUM_THREADS")


def test_a_library_that_does_not_start_is_wrong() -> None:
    broken = Outcome(problem="it crashes with SIGILL")
    for results in (torch_results, training_results, onnx_results, mpi_results):
        (result,) = results(broken)
        assert result.verdict is Verdict.WRONG
        assert "SIGILL" in result.fact and result.advice


def test_a_missing_java_and_a_missing_mpi_are_not_wrong() -> None:
    for results, problem in ((java_results, "Spark needs Java"), (mpi_results, "mpiexec wasn't found")):
        assert next(iter(results(Outcome(problem=problem, missing=True)))).verdict is Verdict.MISSING


def test_the_pyspark_of_a_cluster_is_good(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def without_metadata(name: str) -> str:
        raise PackageNotFoundError(name)

    (tmp_path / "RELEASE").write_text("Spark 4.0.1 (git revision x) built for Hadoop 3.4.1\n")
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    monkeypatch.setattr("zoo.doctor.engines.metadata.version", without_metadata)
    _, spark = java_results(Outcome({"program": "/usr/bin/java", "origin": "PATH", "version": 21}))
    assert (spark.verdict, spark.fact) == (Verdict.GOOD, "pyspark of Spark 4.0.1")


def test_an_old_java_and_another_spark_are_wrong(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    good = {"program": "/usr/bin/java", "origin": "PATH", "version": 21}
    assert [result.verdict for result in java_results(Outcome(good))] == [Verdict.GOOD] * 2
    (tmp_path / "RELEASE").write_text("Spark 3.3.1 (git revision x) built for Hadoop 3.3.2\n")
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    java, spark = java_results(Outcome({**good, "version": 8}))
    assert java.verdict is Verdict.WRONG and java.fact.endswith("too old")
    assert spark.verdict is Verdict.WRONG and spark.fact.startswith("SPARK_HOME contains Spark 3.3.1, but pyspark is ")
