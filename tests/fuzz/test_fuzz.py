"""Damaged files of every format are read, or refused with one `CaffeError`. `make fuzz` runs for longer."""

import os
import subprocess
import sys
from pathlib import Path
from random import Random

from tests.fuzz.damages import damaged

_CASES = 2  # cases for each reader


def test_damaged_files_of_every_format_are_read_or_refused(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "tests.fuzz", "--cases", str(_CASES), "--seed", "1", "--keep", str(tmp_path)]
    result = subprocess.run(
        command, capture_output=True, text=True, cwd=root, env=os.environ | {"PYTHONPATH": str(root)}
    )
    assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-2000:]


def test_a_case_is_repeatable() -> None:
    data, other = bytes(range(200)), b"other" * 30
    assert [damaged(Random(seed), data, other) for seed in range(50)] == [
        damaged(Random(seed), data, other) for seed in range(50)
    ]
    assert len({damaged(Random(seed), data, other) for seed in range(50)}) > 40
