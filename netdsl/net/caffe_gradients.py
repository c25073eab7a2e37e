"""Computes Caffe's gradients of layers whose blobs are overwritten before the backward pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from netdsl.layer.running import ReadsInBackward
from netdsl.net.build import Built
from netdsl.net.caffe_memory import CaffeMemory, differing_gradients


@dataclass(frozen=True)
class LastEdges:
    """The edges whose data are in the memory of a layer's bottoms and tops after the forward pass."""

    bottoms: tuple[int, ...]
    tops: tuple[int, ...]


def last_edges(built: Built) -> dict[int, LastEdges]:
    """Return the last edges of the layers whose gradients differ from Caffe's, by layer index."""
    memory = CaffeMemory(built)
    nodes = {index: built.graph.nodes[index] for index in differing_gradients(built, memory)}
    return {
        index: LastEdges(tuple(map(memory.last, node.bottoms)), tuple(map(memory.last, node.tops)))
        for index, node in nodes.items()
    }


def run_as_caffe(
    layer: ReadsInBackward, last: LastEdges, contents: Mapping[int, Tensor], bottoms: Sequence[Tensor]
) -> tuple[Tensor, ...]:
    """Return the tops of a layer whose gradients will be Caffe's.

    By the backward pass, `contents` must contain the data of the last edges.
    """
    blobs = map(layer.owner_of, layer.blob_names())
    tops: tuple[Tensor, ...] = _AsCaffe.apply(layer, last, contents, *bottoms, *blobs)  # type: ignore[no-untyped-call]
    return tops


class _AsCaffe(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, layer: ReadsInBackward, last: LastEdges, contents: Mapping[int, Tensor], *tensors: Tensor
    ) -> tuple[Tensor, ...]:
        bottoms, device = tensors[: len(last.bottoms)], tensors[0].device.type
        made = layer(*bottoms)
        tops: tuple[Tensor, ...] = made if isinstance(made, tuple) else (made,)
        ctx.save_for_backward(*bottoms)
        ctx.layer, ctx.last, ctx.contents = layer, last, contents
        ctx.shapes = [top.shape for top in tops]
        ctx.precision = device, torch.get_autocast_dtype(device), torch.is_autocast_enabled(device)
        return tops

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        seen = ctx.saved_tensors
        bottoms = [ctx.contents[edge].reshape(old.shape) for edge, old in zip(ctx.last.bottoms, seen, strict=True)]
        tops = [ctx.contents[edge].reshape(shape) for edge, shape in zip(ctx.last.tops, ctx.shapes, strict=True)]
        with torch.autocast(*ctx.precision):
            found = ctx.layer.caffe_gradients(seen, bottoms, tops, gradients)
        return None, None, None, *found
