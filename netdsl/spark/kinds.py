"""The two kinds of Spark sessions: classic ones, whose driver is this process, and clients of Spark Connect. Everything
that they do differently is here."""

from __future__ import annotations

import os
import sys
from abc import ABC, abstractmethod
from base64 import b64decode
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Protocol

from netdsl.data.tables.arrow import arrow
from netdsl.distributed.control.place import NetworkPlace
from netdsl.errors import DataError, DistributedError

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

HOST = "spark.netdsl.host"  # the setting for the address at which executors reach a client of Spark Connect
# The places in which users name the workers' Python.
_PYTHON, _PYTHON_VARIABLE = ("spark.pyspark.python", "PYSPARK_PYTHON")
_MANY_ROWS = 100_000  # more than any cluster has cores
_LOCAL_COPIES = "spark.sql.artifact.copyFromLocalToFs.allowDestLocal"
_FOOTER_KEY = b"ARROW:schema"


class Sent(Protocol):
    """Bytes that were sent to the machines of all tasks."""

    @property
    def value(self) -> bytes:
        """The bytes, in a task."""
        ...

    def destroy(self) -> None:
        """Remove the bytes from all machines, as far as this is possible."""
        ...


class SessionKind(ABC):
    """What a session can do in its own way."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session

    def setting(self, name: str, default: str = "") -> str:
        """Return the value of one of Spark's settings."""
        return str(self._session.conf.get(name, default))

    @abstractmethod
    def context(self, purpose: str) -> SparkContext:
        """Return the context, which RDDs need. Raises a `DistributedError` with the purpose if there is none."""

    @abstractmethod
    def run_in_this_python(self) -> None:
        """Let the tasks of a Spark on this machine run in this Python, unless the user has named another one."""

    @abstractmethod
    def place(self, ports: tuple[int, ...]) -> NetworkPlace:
        """Return the place at which this process listens, and at which executors reach it."""

    @abstractmethod
    def cores(self) -> int:
        """Return the number of cores of all executors that have started, busy or not."""

    @abstractmethod
    def send(self, content: bytes, name: str) -> Sent:
        """Send bytes to the machines of all tasks. The name is new in this session."""

    @abstractmethod
    def arrow_footer(self, file: str) -> bytes:
        """Return Arrow's own schema in the footer of a Parquet file, or nothing if there is none."""

    @abstractmethod
    def remove(self, path: str) -> None:
        """Remove a folder of any of Hadoop's file systems, if the session can."""

    @abstractmethod
    def upload(self, file: Path, path: str) -> None:
        """Copy a file of this machine to a path of any of Hadoop's file systems."""

    @abstractmethod
    def download(self, path: str, file: Path) -> None:
        """Copy a file of one of Hadoop's file systems to this machine."""


def kind_of(session: SparkSession) -> SessionKind:
    """Return what a session can do. Sessions of Spark Connect aren't of pyspark's classic class."""
    from pyspark.sql import SparkSession

    return Classic(session) if isinstance(session, SparkSession) else Connect(session)


class Classic(SessionKind):
    """A session whose driver runs in this process, with a JVM next to it."""

    def context(self, purpose: str) -> SparkContext:
        """Return the context."""
        return self._session.sparkContext

    def run_in_this_python(self) -> None:
        """Use this Python. Otherwise Spark runs the first `python3` on the path, which may not have netdsl."""
        context = self._session.sparkContext
        named = _PYTHON_VARIABLE in os.environ or context.getConf().get(_PYTHON) is not None
        if str(context.master).startswith("local") and not named:
            context.pythonExec = sys.executable

    def place(self, ports: tuple[int, ...]) -> NetworkPlace:
        """Return the place of Spark's driver."""
        host = _without_brackets(self.setting("spark.driver.host", "localhost"))
        return NetworkPlace((host,), _without_brackets(self.setting("spark.driver.bindAddress", host)), ports)

    def cores(self) -> int:
        """Return the cores, which only the JVM knows: the tasks that can run at once have some cores each."""
        spark = self._java.sc()
        tasks = int(spark.maxNumConcurrentTasks(spark.resourceProfileManager().defaultResourceProfile()))
        return tasks * int(self.setting("spark.task.cpus", "1"))

    def send(self, content: bytes, name: str) -> Sent:
        """Send bytes as a broadcast."""
        return self._session.sparkContext.broadcast(content)

    def arrow_footer(self, file: str) -> bytes:
        """Read the footer in the JVM."""
        parquet = self._jvm.org.apache.parquet.hadoop
        path = self._jvm.org.apache.hadoop.fs.Path(self._jvm.java.net.URI(file))
        opened = parquet.util.HadoopInputFile.fromPath(path, self._java.hadoopConfiguration())
        with closing(parquet.ParquetFileReader.open(opened)) as reader:
            text = reader.getFileMetaData().getKeyValueMetaData().get(_FOOTER_KEY.decode())
        return b64decode(text or "")

    def remove(self, path: str) -> None:
        """Remove the folder."""
        system, target = self._hadoop(path)
        system.delete(target, True)

    def upload(self, file: Path, path: str) -> None:
        """Copy the file, and replace one that exists."""
        system, target = self._hadoop(path)
        system.copyFromLocalFile(False, True, self._hadoop(f"file://{file}")[1], target)

    def download(self, path: str, file: Path) -> None:
        """Copy the file."""
        system, source = self._hadoop(path)
        system.copyToLocalFile(False, source, self._hadoop(f"file://{file}")[1], True)

    @property
    def _java(self) -> Any:
        return self._session.sparkContext._jsc

    @property
    def _jvm(self) -> Any:
        return self._session.sparkContext._jvm

    def _hadoop(self, path: str) -> tuple[Any, Any]:
        """Return Hadoop's file system of a path, such as a local one or HDFS, and the path in it."""
        there = self._jvm.org.apache.hadoop.fs.Path(path)
        return there.getFileSystem(self._java.hadoopConfiguration()), there


class Connect(SessionKind):
    """A client of a server of Spark Connect, which runs Spark's driver."""

    def context(self, purpose: str) -> SparkContext:
        """Raise an error, since RDDs don't exist over Spark Connect."""
        raise DistributedError(
            f"{purpose}, which Spark Connect doesn't have; open a classic session with "
            "SparkSession.builder.master(...) instead of remote(...)"
        )

    def run_in_this_python(self) -> None:
        """Change nothing, because the server's settings choose the Python of its tasks."""

    def place(self, ports: tuple[int, ...]) -> NetworkPlace:
        """Return the place of this process, at all addresses of its machine or at the named one."""
        return replace(NetworkPlace.found({}, self.setting(HOST) or None), ports=ports)

    def cores(self) -> int:
        """Return the number of parts into which Spark divides rows, which is one for each core by default."""
        from pyspark.sql.functions import max as highest
        from pyspark.sql.functions import spark_partition_id

        parts = self._session.range(_MANY_ROWS).select(spark_partition_id().alias("part"))
        (row,) = parts.agg(highest("part").alias("last")).collect()
        return int(row["last"]) + 1

    def send(self, content: bytes, name: str) -> Sent:
        """Send bytes as a file of the session, which stays there until the session ends."""
        with TemporaryDirectory() as folder:
            file = Path(folder, name)
            file.write_bytes(content)
            self._session.addArtifacts(str(file), file=True)
        return _SessionFile(name)

    def arrow_footer(self, file: str) -> bytes:
        """Read the file in a task."""
        found = self._session.read.format("binaryFile").load(file).select("content")
        (row,) = found.mapInArrow(_footers, "footer binary").collect()
        return bytes(row["footer"])

    def remove(self, path: str) -> None:
        """Leave the folder, because Spark Connect can't remove one."""

    def upload(self, file: Path, path: str) -> None:
        """Send the file to the server, which copies it."""
        try:
            self._session.copyFromLocalToFs(str(file), path)
        except Exception as problem:
            raise DataError(
                f"{path}: Spark Connect can't write the file, and the server says: {problem}; name a path without a "
                f"scheme, for the server's default file system, and if that is a local one, set {_LOCAL_COPIES}=true "
                "at the server"
            ) from None

    def download(self, path: str, file: Path) -> None:
        """Read the file as a table with one row."""
        (row,) = self._session.read.format("binaryFile").load(path).select("content").collect()
        file.write_bytes(row["content"])


@dataclass(frozen=True)
class _SessionFile:
    """A file that a client of Spark Connect has sent for its tasks."""

    name: str

    @property
    def value(self) -> bytes:
        from pyspark import SparkFiles

        return Path(SparkFiles.get(self.name)).read_bytes()

    def destroy(self) -> None:
        """Leave the file. Spark removes it with the session."""


def _footers(batches: Iterable[Any]) -> Iterator[Any]:
    """Yield Arrow's own schemas in Parquet files, in a task."""
    from pyarrow import parquet

    for batch in batches:
        for content in batch.column(0):
            metadata = parquet.read_metadata(arrow().BufferReader(content.as_buffer())).metadata or {}
            footer = b64decode(metadata.get(_FOOTER_KEY, b""))
            yield arrow().RecordBatch.from_pydict({"footer": arrow().array([footer], arrow().binary())})


def _without_brackets(host: str) -> str:
    """Return an address without the brackets in which Spark puts IPv6."""
    return host.removeprefix("[").removesuffix("]")
