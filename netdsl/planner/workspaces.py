"""What operations take beside their tensors while they run."""

from __future__ import annotations

from collections.abc import Callable

from netdsl.planner.operations import ConvolutionPass, TensorOperation

WorkspaceRule = Callable[[TensorOperation], int]  # bytes

_BYTES = 4  # of a value
_BLOCK = 16  # channels, as many as a register of AVX-512 has values
_COLOURS = 4


def no_workspace(operation: TensorOperation) -> int:
    """Nothing."""
    return 0


def onednn_workspace(operation: TensorOperation) -> int:
    """The copies that oneDNN, a CPU's library of convolutions, makes in its own layout with channels in blocks.

    The two tensors that an operation reads are copied, and the third is computed in that layout, before torch has
    memory for it in the usual one. Then the copies are let go, and the result is copied. An image in colours is read
    as it is.
    """
    if operation.convolution is None:
        return 0
    shape = operation.convolution
    pixels, top_pixels = shape.height * shape.width, shape.top_height * shape.top_width
    kernel = shape.kernel_height * shape.kernel_width
    bottom = _copied(shape.batch * pixels, shape.channels)
    top = _copied(shape.batch * top_pixels, shape.filters)
    weight = _BYTES * kernel * shape.channels // shape.groups * shape.filters
    match operation.convolution_pass:
        case ConvolutionPass.TOP:
            read, result, plain = bottom + weight, top, shape.batch * top_pixels * shape.filters
        case ConvolutionPass.BOTTOM_GRADIENT:
            read, result, plain = top + weight, bottom, shape.batch * pixels * shape.channels
        case _:
            return bottom + top
    return max(read + result - _BYTES * plain, result)


def _copied(places: int, channels: int) -> int:
    """The bytes of a copy of images with channels in blocks."""
    return 0 if channels <= _COLOURS else _BYTES * places * -(-channels // _BLOCK) * _BLOCK
