"""The memory that training large nets really takes, in processes of their own."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks.planner_memory import BATCHES, SHAPES, measured, predicted, write_images


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says how much memory a process took at most")
@pytest.mark.parametrize("name", BATCHES)
def test_the_prediction_is_within_a_tenth(name: str, tmp_path: Path) -> None:
    write_images(tmp_path / "images", SHAPES.get(name, (3, 256, 256)))
    batch = BATCHES[name][0]
    assert predicted(name, batch).total == pytest.approx(measured(name, batch, tmp_path / "images"), rel=0.1)
