"""Made-up input for a net, and a trial run: one forward pass of it, as quickly and in as little memory as it goes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from netdsl.errors import NetError, ShapeError
from netdsl.layer import Layer, Shape
from netdsl.layer.fillers import fill
from netdsl.net.build import Built, reshape
from netdsl.net.graph import Phase
from netdsl.net.module import NetModule, Step

Array = npt.NDArray[np.float32]

_SIDE = 48  # of an image: sides are halved as long as the longest stays at least this
_POOLED = 32  # what most nets pool by in all
_TILE = 65521  # values that differ, and are then repeated
_SPREAD = 0.01  # of made-up weights: what they make neither dies out nor grows without limit


def dry_run(built: Built) -> None:
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
    """Values for one input, in its shape, that such a net can do with."""
    pairs = zip(built.graph.nodes, built.layers, strict=True)
    shapes = [built.shapes[each] for node, layer in pairs if layer.external for each in node.tops]
    making = _Making(built, shapes, np.random.default_rng(edge))
    return torch.from_numpy(making.values(built.shapes[edge], is_label=edge in _labels(built)))


def sample_inputs(built: Built, shapes: Mapping[str, Shape], seed: int = 0) -> dict[str, Array]:
    """Values for all inputs by name, in shapes that may be others than the net's own; the same ones for a seed."""
    making = _Making(built, shapes.values(), np.random.default_rng(seed))
    labels = {built.graph.blobs[edge] for edge in _labels(built)}
    return {name: making.values(shape, is_label=name in labels) for name, shape in shapes.items()}


class _Making:
    """Random numbers; plausible rows for detection nets; zeros and ones for labels: not any number is one."""

    def __init__(self, built: Built, shapes: Iterable[Shape], random: np.random.Generator) -> None:
        self.random, self.trains = random, built.graph.phase is Phase.TRAIN
        self.height, self.width = max((shape[2:] for shape in shapes if _is_image(shape)), default=(1, 1))

    def values(self, shape: Shape, *, is_label: bool) -> Array:
        row = _row(shape)
        if row is not None:
            found = np.array([row(self) for _ in range(math.prod(shape) // len(row(self)))]).reshape(shape)
        elif is_label:
            found = self.random.integers(0, 2 if len(shape) > 1 else 1, shape)
        else:
            found = self.random.standard_normal(shape, np.float32)
        return np.asarray(found, np.float32)


def _is_image(shape: Shape) -> bool:
    return len(shape) == 4 and _row(shape) is None


def _row(shape: Shape) -> Row | None:
    """What a row of this blob is, if it is a blob of rows."""
    return _ROWS.get(shape[1:]) or (_ROWS.get(shape[3:]) if len(shape) == 4 and shape[:2] == (1, 1) else None)


def _size(making: _Making) -> Sequence[float]:
    """An image's size and scale."""
    return making.height, making.width, 1.0


def _box(making: _Making) -> Sequence[float]:
    """In training a box, and the class of what is in it; else an image, and a region of it."""
    if making.trains:
        return 0.0, 0.0, making.width / 2, making.height / 2, 1.0
    (left, right), (top, bottom) = (
        sorted(making.random.uniform(0, side - 1, 2)) for side in (making.width, making.height)
    )
    return 0.0, left, top, right, bottom


def _object(making: _Making) -> Sequence[float]:
    """An image, a label, an object, a box in parts of the image, and whether it is difficult."""
    return 0.0, 1.0, 0.0, 0.1, 0.1, 0.6, 0.6, 0.0


Row = Callable[[_Making], Sequence[float]]
_ROWS: dict[Shape, Row] = {(3,): _size, (1, 1, 3): _size, (5,): _box, (5, 1, 1): _box, (8,): _object}


def _labels(built: Built) -> set[int]:
    """The edges that a layer reads without a gradient."""
    pairs = zip(built.graph.nodes, built.layers, strict=True)
    return {node.bottoms[place] for node, layer in pairs for place in layer.no_gradient if place < len(node.bottoms)}


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
