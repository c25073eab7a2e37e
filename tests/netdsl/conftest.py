"""Random input that is the same in every run and in any order of the tests."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch

from netdsl import pycaffe
from tests.device import DEVICE


@pytest.fixture(autouse=True)
def _same_random_numbers() -> None:
    torch.manual_seed(0)
    np.random.seed(0)


@pytest.fixture
def pycaffe_on_device() -> Iterator[None]:
    """Make pycaffe compute on the device for tests of numbers."""
    if DEVICE.type == "cuda":
        pycaffe.set_mode_gpu()
    yield
    pycaffe.set_mode_cpu()
