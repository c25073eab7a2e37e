"""How large everything is that goes through a net: what `debug_info` asks for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from torch import Tensor, nn

from netdsl.layer import Layer
from netdsl.net.build import Built
from netdsl.solver.events import Magnitude


@contextmanager
def inspected(built: Built) -> Iterator[list[Magnitude]]:
    """A list that fills while the net runs forward and backward: tops in the order in which layers run, then the
    gradients as they come back, then those of the layers' own blobs. A layer that works along with the one before it
    isn't there.
    """
    found: list[Magnitude] = []
    with ExitStack() as stack:
        for layer in built.layers:
            stack.callback(layer.register_forward_hook(_watcher(found)).remove)
        yield found
    for layer in built.layers:
        for index, blob in enumerate(layer.blob_tensors()):
            if blob.grad is not None:
                found.append(Magnitude(layer.layer.name, str(index), True, True, _mean(blob.grad)))


def _watcher(found: list[Magnitude]) -> Any:
    def watch(layer: nn.Module, bottoms: tuple[Tensor, ...], tops: Tensor | tuple[Tensor, ...]) -> None:
        assert isinstance(layer, Layer)
        name = layer.layer.name
        for top, value in zip(layer.layer.top, tops if isinstance(tops, tuple) else (tops,), strict=False):
            found.append(Magnitude(name, top, False, False, _mean(value)))
            if value.requires_grad:
                value.register_hook(  # type: ignore[no-untyped-call]
                    lambda gradient, top=top: found.append(Magnitude(name, top, False, True, _mean(gradient)))
                )
        for index, blob in enumerate(layer.blob_tensors()):
            found.append(Magnitude(name, str(index), True, False, _mean(blob)))

    return watch


def _mean(values: Tensor) -> float:
    return float(values.detach().abs().mean()) if values.numel() else 0.0
