"""A shared variable changes for one worker at a time, and whoever dies there holds nobody up."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from netdsl.distributed.transports.shared_memory.memory import create

WORKER = Path(__file__).with_name("variable_worker.py")


def test_no_exchange_is_lost_nor_kept_from_others_by_the_dead():
    descriptor = create(2)
    processes = [
        subprocess.Popen(
            [sys.executable, str(WORKER), str(descriptor), str(rank)],
            pass_fds=[descriptor],
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    printed = [process.communicate()[0].split() for process in processes]
    os.close(descriptor)
    assert [process.returncode for process in processes] == [0, -9]
    assert printed[0][2:] == ["True"]
    for least, most in (printed[0][:2], printed[1][:2]):
        # What one gives the other takes, so that 2 + 0 + 8 stay; each of 200 exchanges may round the last bit.
        assert float(least) == pytest.approx(10.0, abs=1e-12)
        assert float(most) == pytest.approx(10.0, abs=1e-12)
