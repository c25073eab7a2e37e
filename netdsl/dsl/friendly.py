"""Layer functions with the names of the SparkNet paper."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from caffe_proto import caffe_pb2 as pb
from netdsl.dsl.layer_types import Convolution, InnerProduct, Input, Pooling
from netdsl.errors import NetError

if TYPE_CHECKING:
    from netdsl.dsl.layer_types import PoolingParameterPoolMethodName

Max = pb.PoolingParameter.MAX
Average = pb.PoolingParameter.AVE
Stochastic = pb.PoolingParameter.STOCHASTIC

Names = Sequence[str] | str
Pair = int | Sequence[int]


def _window(layer: str, *, kernel: Pair, stride: Pair | None, pad: Pair | None) -> dict[str, Any]:
    return {
        **_sides(layer, "kernel", kernel, "kernel_size"),
        **_sides(layer, "stride", stride, "stride"),
        **_sides(layer, "pad", pad, "pad"),
    }


def _sides(layer: str, what: str, value: Pair | None, square: str) -> dict[str, Any]:
    """The settings of a size in Caffe: one field for a square, two for height and width."""
    if value is None:
        return {}
    sizes = list(value) if isinstance(value, (list, tuple)) else [value]
    if len(sizes) not in (1, 2):
        raise NetError(f"layer '{layer}': {what} takes one number or (height, width), not {value!r}")
    return {square: sizes[0]} if len(set(sizes)) == 1 else {f"{what}_h": sizes[0], f"{what}_w": sizes[1]}


def RDDLayer(name: str, shape: Sequence[int], **settings: Any) -> pb.LayerParameter:  # noqa: N802 - the paper's name
    """An input of the net, whose values come from an RDD, a DataFrame or the caller."""
    return Input(name, shape={"dim": shape}, **settings)


def ConvLayer(  # noqa: N802
    name: str,
    bottoms: Names,
    *,
    kernel: Pair,
    num_filters: int,
    stride: Pair | None = None,
    pad: Pair | None = None,
    **settings: Any,
) -> pb.LayerParameter:
    """A convolution."""
    sides = _window(name, kernel=kernel, stride=stride, pad=pad)
    return Convolution(name, bottoms, num_output=num_filters, **sides, **settings)


def PoolLayer(  # noqa: N802
    name: str,
    bottoms: Names,
    *,
    kernel: Pair,
    pool: PoolingParameterPoolMethodName = Max,
    stride: Pair | None = None,
    pad: Pair | None = None,
    **settings: Any,
) -> pb.LayerParameter:
    """A pooling layer."""
    return Pooling(name, bottoms, pool=pool, **_window(name, kernel=kernel, stride=stride, pad=pad), **settings)


def LinearLayer(name: str, bottoms: Names, *, num_outputs: int, **settings: Any) -> pb.LayerParameter:  # noqa: N802
    """A fully connected layer."""
    return InnerProduct(name, bottoms, num_output=num_outputs, **settings)


def ActivationLayer(  # noqa: N802
    name: str, bottoms: Names, *, activation: Callable[..., pb.LayerParameter], **settings: Any
) -> pb.LayerParameter:
    """An activation, given as its type: `activation=ReLU`."""
    return activation(name, bottoms, **settings)
