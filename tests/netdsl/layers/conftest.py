from __future__ import annotations

from collections.abc import Callable

import pytest

from netdsl.layer import Layer
from tests.nets import allocated_layer


@pytest.fixture
def made() -> Callable[..., Layer]:
    """Make a layer with memory on bottoms of some shapes."""
    return allocated_layer
