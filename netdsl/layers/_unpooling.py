"""Values put into a larger image, where a pooling took them from; told to torch and to ONNX."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from netdsl.errors import ShapeError
from netdsl.layer import OnnxGraph, Shape
from netdsl.layer.onnx_form import flattened, reshaped, whole
from netdsl.layers._labels import indices_of


def check_mask(bottoms: Sequence[Shape]) -> None:
    """A ShapeError unless the second bottom has a place for each value of the first."""
    if bottoms[0] != bottoms[1]:
        raise ShapeError(f"the mask has shape {list(bottoms[1])}, what it belongs to has {list(bottoms[0])}")


def put_back(x: Tensor, mask: Tensor, height: int, width: int) -> Tensor:
    """A plane of zeros for each of the bottom, with its values at the places that the mask says."""
    empty = x.new_zeros(*x.shape[:2], height * width)
    places = indices_of(mask.flatten(2), height * width, "places", "make the top as large as what was pooled")
    return empty.scatter(2, places, x.flatten(2)).view(*x.shape[:2], height, width)


def put_back_onnx(g: OnnxGraph, x: str, mask: str, height: int, width: int) -> str:
    """`put_back`, told to an ONNX graph."""
    planes = g.node("Shape", x, start=0, end=2)
    empty = g.node("Expand", g.constant(0.0), g.node("Concat", planes, g.constant([height * width]), axis=0))
    top = g.node("ScatterElements", empty, whole(g, flattened(g, mask, 2)), flattened(g, x, 2), axis=2)
    return reshaped(g, top, 0, 0, height, width)
