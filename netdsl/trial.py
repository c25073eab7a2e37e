"""A trial run: one forward pass of a net on small made-up input, as quickly and in as little memory as it goes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping

import torch
from torch import Tensor, nn

from netdsl.build import Built, reshape
from netdsl.errors import NetError, ShapeError
from netdsl.fillers import fill
from netdsl.layer import Layer, Shape
from netdsl.module import NetModule, Step

Row = Callable[[float, float], tuple[float, ...]]

_SIDE = 48  # of an image: sides are halved as long as the longest stays at least this
_POOLED = 32  # what most nets pool by in all
# What rows of so many numbers are for detection nets, given the image's height and width: its size and scale; an image
# or a corner, and a box; image, label, object, a box in parts of the image, and whether it is difficult.
_ROWS: dict[Shape, Row] = {
    (3,): lambda height, width: (height, width, 1.0),
    (5,): lambda height, width: (0.0, 0.0, width / 2, height / 2, 1.0),
    (8,): lambda height, width: (0.0, 1.0, 0.0, 0.1, 0.1, 0.6, 0.6, 0.0),
}
_TILE = 65521  # values that differ, and are then repeated
_SPREAD = 0.01  # of made-up weights: what they make neither dies out nor grows without limit


def run_once(built: Built) -> None:
    """A forward pass of one small image, or of as small a batch of as small images as the net takes.

    Weights are made up, since only the user's files have real ones.
    """
    for node, layer in zip(built.graph.nodes, built.layers, strict=True):
        if not node.bottoms and not layer.blob_names():  # data that the net makes up itself is made up smaller here
            layer.external = True  # type: ignore[misc]
    module = NetModule(built)
    module.steps = [step for step in module.steps if not _writes(module, step)]
    _allocate(built)
    problem: Exception | None = None
    for _ in _fitted(module):
        found = _run(module)
        if found is None:
            return
        problem = problem or found
    raise ShapeError(f"{built.graph.phase.name}: {first_line(problem)}") from problem


def _writes(module: NetModule, step: Step) -> bool:
    """Whether a layer would write a file, which nobody wants of a trial."""
    layer = module.layers[step.key]
    assert isinstance(layer, Layer)
    return layer.writes


def first_line(problem: BaseException | None) -> str:
    """What an exception says, without what torch adds to it; its name if it says nothing."""
    return str(problem).splitlines()[0] if str(problem) else type(problem).__name__


def _fitted(module: NetModule) -> Iterator[None]:
    """The net reshaped for one item in all sizes that it takes, smallest first.

    Its own batch may be huge: it is for nets that take no other.
    """
    built, own, taken = module.built, list(module.built.shapes), False
    edges = list(module.inputs.values())
    one = {edge: (1, *own[edge][1:]) if own[edge] else () for edge in edges}
    longest = max((side for shape in one.values() if _is_image(shape) for side in shape[2:]), default=1)
    for times in range(max(0, int(math.log2(longest / _SIDE))), -1, -1):
        if _fits(built, {edge: _halved(shape, times) for edge, shape in one.items()}):
            taken = True
            yield
    if not taken:
        reshape(built, {edge: own[edge] for edge in edges})
        yield


def _fits(built: Built, inputs: Mapping[int, Shape]) -> bool:
    try:
        reshape(built, inputs)
    except NetError:
        return False
    return True


def _halved(shape: Shape, times: int) -> Shape:
    """An image with its sides halved so often; what isn't an image stays as it is."""
    return (*shape[:2], *(_shorter(side, 2**times) for side in shape[2:])) if _is_image(shape) else shape


def _is_image(shape: Shape) -> bool:
    return len(shape) == 4 and _row(shape) is None


def _row(shape: Shape) -> Row | None:
    """What a row of this blob is, if it is a blob of rows."""
    return _ROWS.get(shape[1:] if len(shape) < 4 else shape[3:]) if len(shape) < 4 or shape[:2] == (1, 1) else None


def _shorter(side: int, step: int) -> int:
    """Multiples of what nets pool by stay that; where a side isn't even, one is made that pools to the same corners."""
    if side % _POOLED == 0:
        return math.ceil(side / step / _POOLED) * _POOLED
    return side // step if side % step == 0 else (side - 1) // step + 1


def _run(module: NetModule) -> Exception | None:
    """What went wrong, if anything did."""
    try:
        with torch.no_grad():
            module.run({edge: made_up(module.built, edge) for edge in module.inputs.values()})
    except (RuntimeError, ValueError, IndexError, TypeError, NetError) as problem:
        return problem
    return None


def made_up(built: Built, edge: int) -> Tensor:
    """Random values, but plausible rows for detection nets, and 0 where a layer reads labels: not any number is one."""
    shape = built.shapes[edge]
    row = _row(shape)
    if row is not None:
        return torch.tensor(row(*_image(built))).expand(shape)
    return torch.zeros(shape) if _is_label(built, edge) else torch.randn(shape)


def _image(built: Built) -> tuple[float, float]:
    """Height and width of the largest image."""
    pairs = zip(built.graph.nodes, built.layers, strict=True)
    shapes = [built.shapes[edge] for node, layer in pairs if layer.external for edge in node.tops]
    height, width = max((shape[2:] for shape in shapes if _is_image(shape)), default=(0, 0))
    return float(height), float(width)


def _is_label(built: Built, edge: int) -> bool:
    pairs = zip(built.graph.nodes, built.layers, strict=True)
    return any(
        edge in (node.bottoms[place] for place in layer.no_gradient if place < len(node.bottoms))
        for node, layer in pairs
    )


def _allocate(built: Built) -> None:
    """All weights are views of the same memory, so that hundreds of megabytes are neither taken nor filled."""
    sizes = [math.prod(blob.shape) for layer in built.layers for blob in layer.blob_tensors()]
    pool = _pool(max(sizes, default=0))
    done: dict[int, Tensor] = {}
    for layer in built.layers:
        if not layer.foreign:
            done |= _filled_up(layer, pool)
        layer.allocate("cpu", done)


def _pool(size: int) -> Tensor:
    tile = torch.randn(_TILE) * _SPREAD
    return tile.repeat(math.ceil(size / _TILE))[:size]


def _filled_up(layer: Layer, pool: Tensor) -> dict[int, Tensor]:
    """Values for a layer's blobs: weights from the pool, and ones for the sums that it keeps."""
    found: dict[int, Tensor] = {}
    for blob in layer.blob_tensors():
        if not blob.is_meta:
            continue
        _check_filler(blob)
        values = pool[: blob.numel()].view(blob.shape) if isinstance(blob, nn.Parameter) else torch.ones(blob.shape)
        found[id(blob)] = nn.Parameter(values, requires_grad=False) if isinstance(blob, nn.Parameter) else values
    return found


def _check_filler(blob: Tensor) -> None:
    """Fill one kernel, since a filler that doesn't exist or doesn't fit is the net's mistake."""
    filler = getattr(blob, "filler", None)
    if filler is not None:
        fill(torch.empty((1, 1, *blob.shape[2:])[: blob.dim()]), filler)
