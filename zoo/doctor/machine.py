"""The machine: memory, disks, system limits, and environment settings that slow it down."""

from __future__ import annotations

import os
import resource
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from caffe_proto.whole_numbers import whole_number
from zoo.doctor.results import CheckResult, Verdict

_GIB = 1 << 30
_LEAST_SHARED = _GIB  # minimum size of /dev/shm in bytes, since it stores the models that workers average
_LEAST_MEMORY = 2 * _GIB
_LEAST_DISK = 2 * _GIB
_LEAST_FILES = 1024
_SHARED = Path("/dev/shm")
_CGROUP = Path("/sys/fs/cgroup")


def check_machine(environment: Mapping[str, str] = os.environ) -> Iterator[CheckResult]:
    """Yield the results about the machine, in the order of the output."""
    yield _memory_result()
    yield from _shared_memory_results()
    yield _disk_result("disk", Path.cwd())
    yield _disk_result("temporary files", Path(tempfile.gettempdir()))
    yield _store_result()
    yield _open_files_result()
    yield from _thread_results(environment)


def _memory_result() -> CheckResult:
    free, limit = _available_memory()
    fact = f"{_size_text(free)} free" + (
        f", {_size_text(limit)} allowed in this container" if limit is not None else ""
    )
    if min(free, free if limit is None else limit) < _LEAST_MEMORY:
        return _limited_machine("memory", fact, "close other programs, or use smaller batches")
    return _good_machine("memory", fact)


def _available_memory() -> tuple[int, int | None]:
    """Return the free bytes of this machine, and the container's limit if it is below the machine's memory."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    free = pages
    with suppress(OSError):
        lines = Path("/proc/meminfo").read_text().splitlines()
        free = next((1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable")), pages)
    limits = []
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError):
            limits.append(int((_CGROUP / name).read_text()))
    return free, next((limit for limit in limits if limit < pages), None)


def _shared_memory_results() -> Iterator[CheckResult]:
    if not _SHARED.exists():
        return
    size = shutil.disk_usage(_SHARED).total
    fact = f"{_size_text(size)} in {_SHARED}, for workers that train together"
    if size < _LEAST_SHARED:
        yield _limited_machine("shared memory", fact, "allow a container more: docker run --shm-size=4g, or --ipc=host")
    else:
        yield _good_machine("shared memory", fact)


def _disk_result(part: str, folder: Path) -> CheckResult:
    free = shutil.disk_usage(folder).free
    fact = f"{_size_text(free)} free in {folder}"
    if not os.access(folder, os.W_OK):
        return _limited_machine(
            part, f"{folder} isn't writable", "work in a folder that you can write to, or set TMPDIR to one"
        )
    return (
        _limited_machine(part, fact, "free some space, or work on another disk")
        if free < _LEAST_DISK
        else _good_machine(part, fact)
    )


def _store_result() -> CheckResult:
    """Return a result about the folder of pulled models. The check leaves the folder unchanged."""
    from zoo.names import store  # imports protobuf; another check reports if it is missing

    folder = store().path
    existing = next((path for path in (folder, *folder.parents) if path.exists()), folder)
    try:
        with tempfile.TemporaryFile(dir=existing):
            return _good_machine("store", f"{folder} is writable")
    except OSError as problem:
        fact = f"no model can be pulled, since {folder} isn't writable: {problem.strerror}"
        return _limited_machine("store", fact, "to pull models, set NETDSL_HOME to a folder that you can write to")


def _open_files_result() -> CheckResult:
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if limit == resource.RLIM_INFINITY:
        return _good_machine("open files", "unlimited")
    fact = f"{limit:,} at once"
    return (
        _limited_machine("open files", fact, "ulimit -n 4096")
        if limit < _LEAST_FILES
        else _good_machine("open files", fact)
    )


def _thread_results(environment: Mapping[str, str]) -> Iterator[CheckResult]:
    """Yield results about OpenMP settings that make threads spin, or that start more threads than there are cores."""
    cores = os.cpu_count() or 1
    if environment.get("OMP_WAIT_POLICY", "").upper() == "ACTIVE":
        fact = "OMP_WAIT_POLICY=ACTIVE: waiting threads spin, which slows down others"
        yield _limited_machine("threads", fact, "unset OMP_WAIT_POLICY; zoo sets it to PASSIVE")
    if environment.get("KMP_BLOCKTIME", "0").lower() == "infinite":
        yield _limited_machine("threads", "KMP_BLOCKTIME=infinite: waiting threads spin forever", "unset KMP_BLOCKTIME")
    threads = environment.get("OMP_NUM_THREADS", "")
    if (whole_number(threads) or 0) > cores:
        yield _limited_machine(
            "threads", f"OMP_NUM_THREADS={threads} is more than the {cores} cores", "unset OMP_NUM_THREADS"
        )
    quota = _core_quota()
    if quota is not None and quota < cores and not threads:
        fact = f"this container may use {quota:.3g} of {cores} cores, but torch starts {cores} threads"
        yield _limited_machine("threads", fact, f"OMP_NUM_THREADS={max(1, int(quota))}")


def _core_quota() -> float | None:
    """Return the number of cores that this container may use, or `None` without a quota."""
    with suppress(OSError, ValueError, IndexError):
        quota, period = (_CGROUP / "cpu.max").read_text().split()[:2]
        return int(quota) / int(period)
    with suppress(OSError, ValueError):
        quota, period = ((_CGROUP / "cpu" / name).read_text() for name in ("cpu.cfs_quota_us", "cpu.cfs_period_us"))
        return int(quota) / int(period) if int(quota) > 0 else None
    return None


def _good_machine(part: str, fact: str) -> CheckResult:
    return CheckResult("machine", part, Verdict.GOOD, fact)


def _limited_machine(part: str, fact: str, advice: str) -> CheckResult:
    return CheckResult("machine", part, Verdict.LIMITED, fact, advice)


def _size_text(number: float) -> str:
    return f"{number / _GIB:,.1f} GiB" if number >= _GIB else f"{number / (1 << 20):,.0f} MiB"
