"""Shapes of a net that already has memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from torch import Tensor, nn

from netdsl import build
from netdsl.build import Built
from netdsl.layer import Layer, Shape


def reshape(built: Built, given: Mapping[int, Shape]) -> None:
    """Infer all shapes anew from those of some edges."""
    with _without_memory(built.layers):
        build.reshape(built, given)


@contextmanager
def _without_memory(layers: Iterable[Layer]) -> Iterator[None]:
    """Layers run on tensors without memory only if their own blobs have none either."""
    tables = [table for layer in layers for module in layer.modules() for table in _tables(module)]
    held = [dict(table) for table in tables]
    try:
        for table in tables:
            table.update({name: tensor.to("meta") for name, tensor in table.items() if tensor is not None})
        yield
    finally:
        for table, tensors in zip(tables, held, strict=True):
            table.update(tensors)


def _tables(module: nn.Module) -> tuple[dict[str, Tensor | None], ...]:
    return module._parameters, module._buffers  # type: ignore[return-value]  # parameters are tensors
