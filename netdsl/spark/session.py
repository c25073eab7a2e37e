"""A Spark session with settings for long jobs that run torch."""

from __future__ import annotations

import logging
import os
import re
import signal
import socket
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from caffe_proto.errors import import_extra
from netdsl.errors import DistributedError
from netdsl.spark.cluster import first_line
from netdsl.spark.java import JavaOrigin, find_java

_log = logging.getLogger(__name__)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PROBE = 3.0  # seconds for a standalone master, or a server of Spark Connect, to accept a connection
_CONNECT_PORT = 15002  # by default

SETTINGS: Mapping[str, str] = {
    "spark.executorEnv.PYTHONSAFEPATH": "1",  # prevents imports of Python files in the current folder
    "spark.executorEnv.OMP_WAIT_POLICY": "PASSIVE",  # spinning threads are slow if there are more threads than cores
    "spark.dynamicAllocation.enabled": "false",  # barrier jobs don't support it
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.scheduler.barrier.maxConcurrentTasksCheck.interval": "1s",
    "spark.ui.showConsoleProgress": "false",  # the one long job has no progress to show
}


@contextmanager
def open_session(
    master: str, settings: Mapping[str, str] = SETTINGS, *, remote: str | None = None
) -> Iterator[SparkSession]:
    """Open a session at a master, which may be empty under `spark-submit`, since that sets one. With `remote`, open a
    session at a server of Spark Connect, which has settings of its own.

    Executors use this Python unless PYSPARK_PYTHON names another one. An open session of this process is reused and
    stays open. If it runs on this machine and the user named no Python, its workers use this one too.
    """
    spark_session = _pyspark(connects=remote is not None).sql.SparkSession
    existing: SparkSession | None = spark_session.getActiveSession()
    address = f"master '{master}'" if remote is None else f"remote '{_without_options(remote)}'"
    _log.info("using Spark at %s", address if existing is None else f"master '{existing.conf.get('spark.master')}'")
    if existing is not None:
        yield existing
        return
    if remote is None:
        session = _start_classic(spark_session.builder, master, settings)
    else:
        with _connection_errors(remote):
            session = spark_session.builder.remote(remote).getOrCreate()
    try:
        yield session
    finally:
        with suppress(Exception):  # Spark may have stopped
            session.stop()


def _start_classic(builder: Any, master: str, settings: Mapping[str, str]) -> SparkSession:
    _check_standalone(master)
    builder = builder.appName("netdsl")
    if master:
        builder = builder.master(master)
    for name, value in settings.items():
        builder = builder.config(name, value)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with _start_errors(f"at master '{master}'"):
        session: SparkSession = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")  # the supervisor reports why workers end
    return session


@contextmanager
def _connection_errors(remote: str) -> Iterator[None]:
    """Turn the errors of connecting into one with advice. A client would try to connect for minutes."""
    host, port = _server_of(remote)
    problem = _why_nothing_listens(host, port) if host else ""
    if problem:
        raise DistributedError(
            f"no server of Spark Connect listens at {_without_options(remote)} ({problem}); start it with "
            "sbin/start-connect-server.sh of Spark, or name one that is running"
        )
    try:
        yield
    except Exception as error:
        raise DistributedError(
            f"Spark Connect at {_without_options(remote)} doesn't open a session: {first_line(error)}; check the "
            "address, and that the server's Spark has the version of pyspark here"
        ) from None


def _without_options(remote: str) -> str:
    """Return the address of a server of Spark Connect without its options, which can contain a token."""
    return remote.partition("/;")[0]


def _server_of(remote: str) -> tuple[str, int]:
    """Return the host and the port in sc://host:port/;options. The host is empty in other forms."""
    match = re.match(r"sc://(\[[^]]+\]|[^:/;]+)(?::([0-9]{1,5}))?(?=[/;]|$)", remote)
    return ("", 0) if match is None else (match[1].strip("[]"), int(match[2] or _CONNECT_PORT))


def _check_standalone(master: str) -> None:
    """Raise an error if no standalone master listens at spark://host:port,host:port. Java would keep trying for
    minutes."""
    addresses = re.findall(r"([^,/]+):(\d+)(?=,|$)", master) if master.startswith("spark://") else []
    problems = [problem for host, port in addresses if (problem := _why_nothing_listens(host.strip("[]"), int(port)))]
    if addresses and len(problems) == len(addresses):
        raise DistributedError(
            f"no Spark master listens at {master} ({'; '.join(problems)}); start it, or name a master that is running"
        )


def _why_nothing_listens(host: str, port: int) -> str:
    """Return why connecting to an address fails. Returns an empty string if something listens there."""
    try:
        socket.create_connection((host, port), _PROBE).close()
    except (OSError, OverflowError) as problem:
        return getattr(problem, "strerror", None) or str(problem)
    return ""


def task_cores(master: str = "") -> int:
    """Return the number of cores for a task, from the settings with which Spark will start. The master must be
    reachable."""
    pyspark = _pyspark()
    _check_standalone(master)
    with _start_errors("here"):
        pyspark.SparkContext._ensure_initialized()  # this reads the settings of spark-submit
    return int(pyspark.SparkConf().get("spark.task.cpus", "1"))


@contextmanager
def _start_errors(where: str) -> Iterator[None]:
    _use_java()
    with _keeping_interrupt():
        try:
            yield
        except Exception as problem:
            raise DistributedError(
                f"Spark doesn't start {where}: {first_line(problem)}; read its output above, and check that "
                "Java is 17 or newer and that the master can be reached"
            ) from None


def _pyspark(*, connects: bool = False) -> Any:
    import_extra("pyspark.sql", "spark", "the spark backend needs pyspark")
    if connects:
        for module in ("grpc_status", "google.rpc", "zstandard"):
            import_extra(module, "connect", "Spark Connect needs grpcio-status, googleapis-common-protos and zstandard")
    return import_module("pyspark")


def _use_java() -> None:
    """Use the Java from the extra if no other Java is installed."""
    java = find_java()
    if java.origin is JavaOrigin.EXTRA:
        os.environ["JAVA_HOME"] = str(Path(java.program).parent.parent)


@contextmanager
def _keeping_interrupt() -> Iterator[None]:
    """Keep the program's own handler of Ctrl-C. Spark would replace it with one that cancels all jobs."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
