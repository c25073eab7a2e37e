"""The algorithms of a convolution: where each applies, what it costs, and the fastest choice within a memory limit.

A convolution has three passes, which compute the top, the gradient of the bottom and the gradient of the weights. Each
pass uses the same transforms and products, so the description of an algorithm applies to all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from caffe_proto.errors import import_extra
from netdsl.errors import MemoryBoundError
from netdsl.planner.operations import ConvolutionShape

_FLOAT32 = 4  # bytes
_REAL_TRANSFORM = 2.5  # operations for each value, times the logarithm of the number of values
_COMPLEX_PRODUCT = 8  # operations for a multiplication and an addition of complex numbers


class ConvolutionAlgorithm(Enum):
    """An algorithm that computes a convolution."""

    IMPLICIT_GEMM = "implicit-gemm"  # a matrix product that reads its windows directly from the bottom
    IM2COL = "im2col"  # writes the windows of one image at a time into a matrix, as Caffe does
    FFT = "fft"  # one product for each frequency
    WINOGRAD_2X2 = "winograd-2x2"  # Lavin and Gray's F(2x2, 3x3)
    WINOGRAD_4X4 = "winograd-4x4"  # their F(4x4, 3x3)


@dataclass(frozen=True)
class AlgorithmCost:
    """The operations of an algorithm in one pass of a convolution, and its workspace in bytes.

    The workspace excludes the bottom, the top and the weights. `transform_flops` are the part of `flops` outside matrix
    products.
    """

    algorithm: ConvolutionAlgorithm
    flops: float
    transform_flops: float
    workspace: int


def algorithm_costs(shape: ConvolutionShape, value_bytes: int = _FLOAT32) -> tuple[AlgorithmCost, ...]:
    """Return the costs of all algorithms that support a convolution. `value_bytes` is the size of a value."""
    return tuple(_COSTS[algorithm](shape, value_bytes) for algorithm in ConvolutionAlgorithm if _fits(algorithm, shape))


def fft_over_gemm(shape: ConvolutionShape) -> float:
    """Return the ratio of an FFT's memory to a GEMM's, as Table 2 of Zou et al. (2017) counts it.

    The paper says that filters are padded to the size of the input, and that the transformed feature maps need more
    memory, but it has no formula. Its numbers result if a GEMM has inputs and outputs, and an FFT has inputs, plus
    filters and outputs as half spectra of the inputs' size. This assumes that inputs are transformed in place, which
    `algorithm_costs` doesn't.
    """
    spectra = _spectra(shape)
    inputs, outputs = _bottom_values(shape) * _FLOAT32, _top_values(shape) * _FLOAT32
    return (inputs + spectra.weights + spectra.tops) / (inputs + outputs)


def _fits(algorithm: ConvolutionAlgorithm, shape: ConvolutionShape) -> bool:
    """Return whether an algorithm supports a convolution.

    Winograd's tiles need a dense 3x3 window and a stride of 1. The other algorithms support any window.
    """
    if algorithm not in _TILES:
        return True
    kernel = shape.kernel_height, shape.kernel_width
    return kernel == (3, 3) and shape.stride == shape.dilation == (1, 1)


def _implicit_gemm(shape: ConvolutionShape, value_bytes: int) -> AlgorithmCost:
    return AlgorithmCost(ConvolutionAlgorithm.IMPLICIT_GEMM, _product_flops(shape), 0.0, 0)


def _im2col(shape: ConvolutionShape, value_bytes: int) -> AlgorithmCost:
    """Return the cost of im2col. A 1x1 window with a stride of 1 needs no copy, since the matrix is the bottom
    itself."""
    window = shape.kernel_height * shape.kernel_width
    itself = window == 1 and shape.stride == (1, 1) and shape.pad == (0, 0)
    columns = 0 if itself else shape.channels * window * shape.top_height * shape.top_width
    return AlgorithmCost(ConvolutionAlgorithm.IM2COL, _product_flops(shape), 0.0, columns * value_bytes)


@dataclass(frozen=True)
class _Spectra:
    """The bytes of the half spectra of a convolution by FFT."""

    bottoms: int
    weights: int
    tops: int

    @property
    def bytes(self) -> int:
        return self.bottoms + self.weights + self.tops


def _spectra(shape: ConvolutionShape, value_bytes: int = _FLOAT32) -> _Spectra:
    """Return the sizes of the half spectra.

    Every plane has the size of the padded bottom, so no window wraps around. Tops include the positions that a stride
    skips. Half precision isn't used, since a spectrum's values are sums over a plane and would overflow.
    """
    height, width = _padded_size(shape)
    plane = height * (width // 2 + 1) * 2 * max(value_bytes, _FLOAT32)
    return _Spectra(*(count * plane for count in _planes(shape)))


def _fft(shape: ConvolutionShape, value_bytes: int) -> AlgorithmCost:
    height, width = _padded_size(shape)
    transforms = sum(_planes(shape)) * _REAL_TRANSFORM * height * width * math.log2(max(2, height * width))
    frequencies = height * (width // 2 + 1)
    pairs = shape.batch * shape.filters * (shape.channels // shape.groups)
    products = _COMPLEX_PRODUCT * frequencies * pairs
    workspace = _spectra(shape, value_bytes).bytes
    return AlgorithmCost(ConvolutionAlgorithm.FFT, transforms + products, transforms, workspace)


@dataclass(frozen=True)
class _Tile:
    """A Winograd tile.

    `places` is the number of positions of the top that it computes along an axis. The others are Lavin and Gray's
    operation counts to transform a tile of the bottom, a filter and a tile of the top.
    """

    places: int
    bottom: int
    weight: int
    top: int

    @property
    def values(self) -> int:
        return (self.places + 2) ** 2


_TILES = {
    ConvolutionAlgorithm.WINOGRAD_2X2: _Tile(2, 32, 28, 24),
    ConvolutionAlgorithm.WINOGRAD_4X4: _Tile(4, 156, 72, 90),
}


def _winograd(algorithm: ConvolutionAlgorithm) -> Callable[[ConvolutionShape, int], AlgorithmCost]:
    tile = _TILES[algorithm]

    def cost(shape: ConvolutionShape, value_bytes: int) -> AlgorithmCost:
        tiles = -(-shape.top_height // tile.places) * -(-shape.top_width // tile.places)
        bottoms, weights, tops = _planes(shape)
        transforms = float(tiles * (bottoms * tile.bottom + tops * tile.top) + weights * tile.weight)
        pairs = shape.batch * shape.filters * (shape.channels // shape.groups)
        products = 2.0 * pairs * tiles * tile.values
        workspace = (tiles * (bottoms + tops) + weights) * tile.values * value_bytes
        return AlgorithmCost(algorithm, transforms + products, transforms, workspace)

    return cost


_COSTS: dict[ConvolutionAlgorithm, Callable[[ConvolutionShape, int], AlgorithmCost]] = {
    ConvolutionAlgorithm.IMPLICIT_GEMM: _implicit_gemm,
    ConvolutionAlgorithm.IM2COL: _im2col,
    ConvolutionAlgorithm.FFT: _fft,
} | {algorithm: _winograd(algorithm) for algorithm in _TILES}


def _product_flops(shape: ConvolutionShape) -> float:
    window = shape.kernel_height * shape.kernel_width * (shape.channels // shape.groups)
    return 2.0 * _top_values(shape) * window


def _planes(shape: ConvolutionShape) -> tuple[int, int, int]:
    """Return the number of planes in the bottom, in the weights and in the top."""
    weights = shape.filters * (shape.channels // shape.groups)
    return shape.batch * shape.channels, weights, shape.batch * shape.filters


def _padded_size(shape: ConvolutionShape) -> tuple[int, int]:
    return shape.height + 2 * shape.pad[0], shape.width + 2 * shape.pad[1]


def _bottom_values(shape: ConvolutionShape) -> int:
    return shape.batch * shape.channels * shape.height * shape.width


def _top_values(shape: ConvolutionShape) -> int:
    return shape.batch * shape.filters * shape.top_height * shape.top_width


@dataclass(frozen=True)
class AlgorithmOption:
    """A way to compute a convolution, with its seconds in a step and the bytes of its workspace."""

    algorithm: ConvolutionAlgorithm
    seconds: float
    bytes: int


Options = Mapping[str, Sequence[AlgorithmOption]]  # by the convolution's name; no sequence is empty


@dataclass(frozen=True)
class AlgorithmChoice:
    """One option for each convolution, chosen for the shortest total time within the memory limit."""

    options: Mapping[str, AlgorithmOption]

    @property
    def seconds(self) -> float:
        """The seconds of all convolutions in a step."""
        return sum(option.seconds for option in self.options.values())

    @property
    def bytes(self) -> int:
        """The total workspace of all convolutions. The paper also adds them up, as if none were reused by the next
        one."""
        return sum(option.bytes for option in self.options.values())


def choose_algorithms(options: Options, bound: int) -> AlgorithmChoice:
    """Return the fastest choice that needs at most this many bytes.

    Raises a `MemoryBoundError` with the number of missing bytes if there is none.
    """
    least = {name: min(option.bytes for option in ways) for name, ways in options.items()}
    room = bound - sum(least.values())
    if room < 0:
        raise MemoryBoundError(
            f"the convolutions need {_megabytes(bound - room)}, but only {_megabytes(max(0, bound))} are "
            f"available, which is {_megabytes(-room)} too little; lower the batch, or choose a device with more "
            "memory"
        )
    pairs = [(name, option) for name, ways in options.items() for option in ways]
    more = [option.bytes - least[name] for name, option in pairs]
    chosen = _solve_program([name for name, _ in pairs], [option.seconds for _, option in pairs], more, room)
    return AlgorithmChoice({name: option for (name, option), taken in zip(pairs, chosen, strict=True) if taken})


def _solve_program(names: Sequence[str], seconds: Sequence[float], more: Sequence[int], room: int) -> list[bool]:
    """Return whether each pair of a convolution and an option is chosen.

    `more` is the option's memory above the smallest option of the same convolution. The solver's numbers have a
    tolerance, so a solution may exceed the limit slightly. Such a solution is excluded.
    """
    if not names:
        return []
    optimize = import_extra("scipy.optimize", "planner", "choosing algorithms needs scipy")
    one_each = np.array([[name == other for other in names] for name in dict.fromkeys(names)], float)
    sizes = np.array([min(bytes_ / max(room, 1), 2.0) for bytes_ in more])
    constraints = [optimize.LinearConstraint(one_each, 1, 1), optimize.LinearConstraint(sizes, ub=min(room, 1))]
    cost = np.array(seconds) / max(*seconds, np.finfo(float).tiny)
    while True:
        result: Any = optimize.milp(
            cost, integrality=np.ones(len(names)), bounds=(0, 1), constraints=constraints, options={"mip_rel_gap": 0}
        )
        assert result.x is not None, result.message  # the smallest options always fit
        taken = np.round(result.x)
        if sum(bytes_ for bytes_, chosen in zip(more, taken, strict=True) if chosen) <= room:
            return [bool(chosen) for chosen in taken]
        constraints.append(optimize.LinearConstraint(taken, ub=len(one_each) - 1))


def _megabytes(count: int) -> str:
    return f"{count / 1e6:,.1f} MB"
