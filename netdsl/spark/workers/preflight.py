"""Whether a cluster can do a run, and by which transport: asked before it begins and answered in sentences."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from netdsl.errors import DistributedError
from netdsl.spark.cluster import BarrierJob, Cluster
from netdsl.spark.workers.examination import Versions, examine
from netdsl.spark.workers.serving import serving
from netdsl.spark.workers.transport import Transport, remembered

_LIMIT = 120.0  # seconds for all tasks to look
_DYNAMIC = "spark.dynamicAllocation.enabled"
_PYTHON = "ModuleNotFoundError", "Cannot run program", "PYTHON_VERSION_MISMATCH"


def check(
    cluster: Cluster, run: Path, size: int, transport: Transport | None, note: Callable[[str], object]
) -> Transport:
    """Refuse what can't work, and say what to do about it; else the transport, one that works if none is wanted."""
    if cluster.setting(_DYNAMIC, "false") == "true":
        raise DistributedError(f"workers must keep their executors; set {_DYNAMIC}=false")
    cluster.await_slots(size)
    tried = transport or remembered(run) or Transport.PEER
    with _probed(run) as probe:
        found = _found(cluster, run, size, tried, probe.name)
        unseen = {str(rank) for rank in range(size)} - {path.name for path in probe.iterdir()}
    wrong = _sentence(problem for problem, only_apart in found if not only_apart)
    if wrong:
        raise DistributedError(wrong)
    if unseen:
        raise DistributedError(f"{run}: what workers write there doesn't reach the driver; put it on shared storage")
    apart = _sentence(problem for problem, _ in found)
    return tried if not apart else _way_out(transport, apart, note)


def _way_out(transport: Transport | None, apart: str, note: Callable[[str], object]) -> Transport:
    """What to do where executors can't reach each other."""
    if transport is Transport.PEER:
        raise DistributedError(
            f"transport {transport.value}: executors can't reach each other ({apart}); open the network between them, "
            f"or take the transport {Transport.DRIVER.value}"
        )
    note(
        f"transport {Transport.DRIVER.value}: executors can't reach each other ({apart}); the driver averages for them"
    )
    return Transport.DRIVER


def _found(cluster: Cluster, run: Path, size: int, transport: Transport, probe: str) -> list[tuple[str, bool]]:
    """What tasks find to be wrong."""
    with serving(cluster, run, size, transport) as (_, place):
        task = partial(examine, place.text(), Versions.here(), probe)
        job = cluster.submit(size, task, f"netdsl examination {place.token[:8]}")
        try:
            return _answers(job, size)
        finally:
            job.cancel()


def _sentence(problems: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(problems))


@contextmanager
def _probed(run: Path) -> Iterator[Path]:
    """A folder in the run's, for workers to find and write to."""
    probe = run / f".probe-{secrets.token_hex(8)}"
    try:
        probe.mkdir()
    except OSError as problem:
        raise DistributedError(f"{probe}: can't be made: {problem.strerror}") from None
    try:
        yield probe
    finally:
        shutil.rmtree(probe, ignore_errors=True)


def _answers(job: BarrierJob, size: int) -> list[tuple[str, bool]]:
    if not job.ended(_LIMIT):
        raise DistributedError(
            f"Spark didn't run {size} tasks at once within {_LIMIT:g} s; other jobs have its slots, so wait for them"
        )
    problem = job.problem()
    if any(sign in problem for sign in _PYTHON):
        raise DistributedError(
            f"the Python of the executors isn't fit for workers: {problem}; install netdsl {Versions.here().netdsl} "
            "there, or ship an environment with it (spark-submit --archives), and let PYSPARK_PYTHON name its Python"
        )
    if problem:
        raise DistributedError(f"Spark can't run the workers: {problem}")
    return job.results()
