"""What holds for all tests."""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is loaded: tests and what they start run side by side

from pathlib import Path

import pytest
import torch

TESTS = Path(__file__).parent
BROAD = (  # what is tested there are whole programs in processes of their own, whole trainings, all types or a compiler
    "chaos",
    "converters/test_memory.py",
    "fuzz",
    "netdsl/checking/test_trial_process.py",
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
    """Leave out what `make check` leaves to `make test`, without the time that importing it takes."""
    return True if "not broad" in config.option.markexpr and _is_broad(collection_path) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that `make check` leaves to `make test`."""
    for item in items:
        if _is_broad(item.path):
            item.add_marker(pytest.mark.broad)


@pytest.fixture(scope="session", autouse=True)
def _home(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What is fetched or made once stays in the tests' own folders."""
    os.environ["NETDSL_HOME"] = str(tmp_path_factory.mktemp("home"))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Random weights are the same whenever a test runs, and whatever ran before it."""
    torch.manual_seed(1701)
