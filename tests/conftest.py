"""Rules and fixtures for all tests."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Generator

os.environ.setdefault("OMP_NUM_THREADS", "1")  # set before torch is loaded: tests and their processes run in parallel
os.environ.setdefault("NETDSL_PROGRESS", "no")  # whether a line reports progress depends on the speed of the machine

from pathlib import Path

import pytest
import torch

TESTS = Path(__file__).parent
BROAD = (  # tests of whole programs in their own processes, whole training runs, all types, or a compiler
    "attacks",
    "chaos",
    "converters/test_memory.py",
    "fuzz",
    "netdsl/checking/test_apart.py",
    "netdsl/distributed/launchers",
    "netdsl/distributed/control",
    "netdsl/distributed/test_contract_in_processes.py",
    "netdsl/distributed/test_every_combination.py",
    "netdsl/distributed/test_exchanges.py",
    "netdsl/distributed/test_journal.py",
    "netdsl/distributed/test_loop.py",
    "netdsl/distributed/test_supervisor.py",
    "netdsl/transparent",
    "netdsl/distributed/transports",
    "netdsl/mpi",
    "netdsl/spark",
    "netdsl/pycaffe/test_nccl.py",
    "netdsl/pycaffe/test_scripts.py",
    "netdsl/training/test_job.py",
    "netdsl/training/test_with_workers.py",
    "netdsl/test_every_layer_on_a_gpu.py",
    "netdsl/test_module_in_torch.py",
    "pages",
    "test_docs.py",
    "test_doors.py",
    "test_wheel.py",
    "zoo/catalogue/test_learning.py",
    "zoo/cli",
    "zoo/report/test_page_in_browser.py",
    "zoo/store",
)


def _is_broad(path: Path) -> bool:
    return any(path.is_relative_to(TESTS / name) for name in BROAD)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Ignore files that `make check` leaves to `make test`, to save the time of importing them."""
    return True if "not broad" in config.option.markexpr and _is_broad(collection_path) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that `make check` leaves to `make test`."""
    for item in items:
        if _is_broad(item.path):
            item.add_marker(pytest.mark.broad)


@pytest.fixture(scope="session", autouse=True)
def _home(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep downloads and caches in the tests' own folders."""
    os.environ["NETDSL_HOME"] = str(tmp_path_factory.mktemp("home"))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Seed the random numbers, so that weights are the same in any order of tests."""
    torch.manual_seed(1701)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show what a program wrote that a test ran and that failed."""
    report = yield
    failure = None if call.excinfo is None else call.excinfo.value
    if isinstance(failure, (subprocess.CalledProcessError, subprocess.TimeoutExpired)):
        for name, written in {"stdout": failure.stdout, "stderr": failure.stderr}.items():
            text = written.decode(errors="replace") if isinstance(written, bytes) else written
            report.sections.append((f"{name} of the program", text or ""))
    return report
