"""Runs a net on made-up input for one forward pass, as quickly and in as little memory as possible."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from netdsl.checking.image_sizes import halved_images
from netdsl.errors import NetError, ShapeError, first_line, user_code_problem
from netdsl.layer import BringsData
from netdsl.layer.blobs import LayerBlobs
from netdsl.layer.data import DataOrigin
from netdsl.layer.deploying import WritesFile
from netdsl.layer.user_code import RunsUserCode
from netdsl.net.build import Built, reshape, running
from netdsl.net.memory import check_weights
from netdsl.net.module import NetModule
from netdsl.net.sample_inputs import input_kinds, is_image, sample_tensors
from netdsl.net.work import check_run

_TILE = 65521  # the number of different random values, which are then repeated
_SPREAD = 0.01  # the spread of made-up weights; with it, values neither vanish nor explode


def dry_run(built: Built) -> None:
    """Run one small image forward, or the smallest batch and images that the net accepts.

    Weights are made up, and so are data that the net itself would create.
    """
    built = built.with_own_blobs()
    for index, (node, layer) in enumerate(built.pairs()):
        if not (node.bottoms or layer.blob_names() or isinstance(layer, BringsData)):
            built.layers[index] = _SampledData(node.layer, [])
    module = NetModule(built)
    module.steps = [step for step in module.steps if not isinstance(module.layers[step.key], WritesFile)]
    _allocate(built)
    first_problem: Exception | None = None
    for _ in _small_sizes(module):
        check_run(built)
        problem = _problem_of_run(module)
        if problem is None:
            return
        first_problem = first_problem or problem
    if first_problem is not None and user_code_problem(first_problem) is not None:
        raise first_problem
    raise ShapeError(f"{first_line(first_problem)}, in phase {built.graph.phase.name}") from first_problem


class _SampledData(BringsData):
    """A stand-in for any layer that doesn't need a bottom. Its tops are made up like inputs."""

    tops = (0, None)
    data_origin = DataOrigin.INPUT


def _small_sizes(module: NetModule) -> Iterator[None]:
    """Reshape the net for one item in all sizes that it accepts, smallest first.

    The net's own batch may be huge, so it is used only if the net accepts no other.
    """
    built, full_shapes, fits_any = module.built, list(module.built.shapes), False
    edges = list(module.inputs.values())
    shapes = {edge: (1, *full_shapes[edge][1:]) if full_shapes[edge] else () for edge in edges}
    images = [edge for edge, kind in input_kinds(built).items() if is_image(kind, shapes[edge])]
    for _ in halved_images(built, shapes, images):
        fits_any = True
        yield
    if not fits_any:
        reshape(built, {edge: full_shapes[edge] for edge in edges})
        yield


def _problem_of_run(module: NetModule) -> Exception | None:
    """Return the problem of a forward pass, or `None`."""
    try:
        with torch.no_grad(), running(module.built):
            module.run(sample_tensors(module.built, module.inputs.values()))
    except Exception as problem:
        expected = isinstance(problem, (RuntimeError, ValueError, IndexError, TypeError, NetError))
        if expected or user_code_problem(problem) is not None:
            return problem
        raise
    return None


def _allocate(built: Built) -> None:
    """Make all weights views of the same memory, so that hundreds of megabytes needn't be allocated or filled."""
    check_weights(built, torch.device("cpu"))
    blobs = [blob for layer in built.layers for blob in layer.blob_tensors()]
    pool = _pool(max((blob.numel() for blob in blobs), default=0))
    ones = torch.ones(max((blob.numel() for blob in blobs if not isinstance(blob, nn.Parameter)), default=0))
    done: dict[int, Tensor] = {}
    for layer in built.layers:
        if not isinstance(layer, RunsUserCode):
            done |= _pooled_blobs(layer, pool, ones)
        layer.allocate("cpu", done)


def _pool(size: int) -> Tensor:
    tile = torch.randn(_TILE) * _SPREAD
    return tile.repeat(math.ceil(size / _TILE))[:size]


def _pooled_blobs(layer: LayerBlobs, pool: Tensor, ones: Tensor) -> dict[int, Tensor]:
    """Return values for a layer's blobs: weights from the pool, and ones for statistics."""
    values_of: dict[int, Tensor] = {}
    for blob in layer.blob_tensors():
        if not blob.is_meta:
            continue
        is_learned = isinstance(blob, nn.Parameter)
        values = (pool if is_learned else ones)[: blob.numel()].view(blob.shape)
        values_of[id(blob)] = nn.Parameter(values, requires_grad=False) if is_learned else values
    return values_of
