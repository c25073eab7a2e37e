"""The magnitudes of all blobs and gradients of a net, which a solver reports with `debug_info`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from torch import Tensor, nn

from netdsl.layer import Layer
from netdsl.net.build import Built
from netdsl.solver.events import BlobMagnitude


@contextmanager
def record_magnitudes(built: Built) -> Iterator[list[BlobMagnitude]]:
    """A list that is filled while the net runs forward and backward: the tops and parameters of each layer in the
    order in which layers run, then the gradients of tops as they are computed, and at the end those of parameters.
    """
    magnitudes: list[BlobMagnitude] = []
    with ExitStack() as stack:
        for layer in built.layers:
            stack.callback(layer.register_forward_hook(_recording_hook(magnitudes)).remove)
        yield magnitudes
    for layer in built.layers:
        for index, blob in enumerate(layer.blob_tensors()):
            if blob.grad is not None:
                magnitudes.append(BlobMagnitude(layer.layer.name, str(index), True, True, _mean(blob.grad)))


def _recording_hook(magnitudes: list[BlobMagnitude]) -> Any:
    def record(layer: nn.Module, bottoms: tuple[Tensor, ...], tops: Tensor | tuple[Tensor, ...]) -> None:
        assert isinstance(layer, Layer)
        name = layer.layer.name
        for top, value in zip(layer.layer.top, tops if isinstance(tops, tuple) else (tops,), strict=False):
            magnitudes.append(BlobMagnitude(name, top, False, False, _mean(value)))
            if value.requires_grad:
                value.register_hook(  # type: ignore[no-untyped-call]
                    lambda gradient, top=top: magnitudes.append(BlobMagnitude(name, top, False, True, _mean(gradient)))
                )
        for index, blob in enumerate(layer.blob_tensors()):
            magnitudes.append(BlobMagnitude(name, str(index), True, False, _mean(blob)))

    return record


def _mean(values: Tensor) -> float:
    return float(values.detach().abs().mean()) if values.numel() else 0.0
