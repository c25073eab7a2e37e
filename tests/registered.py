"""Layer types that tests make known for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from netdsl.layer import Layer
from netdsl.layers import LAYERS


@contextmanager
def registered(**layer_classes: type[Layer]) -> Iterator[None]:
    """Have layer types by these names, also in place of netdsl's own; afterwards all is as before."""
    before = dict(LAYERS._values)
    LAYERS._values.update(layer_classes)
    try:
        yield
    finally:
        LAYERS._values.clear()
        LAYERS._values.update(before)
