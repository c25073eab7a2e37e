"""The layers by the names that the SparkNet paper gives them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from caffe_proto import caffe_pb2 as pb
from netdsl.dsl.constructors import Constructor
from netdsl.layers import LAYERS

Max = pb.PoolingParameter.MAX
Average = pb.PoolingParameter.AVE
Stochastic = pb.PoolingParameter.STOCHASTIC

Pair = int | Sequence[int]


def _make(type_name: str) -> Constructor:
    return Constructor(type_name, LAYERS[type_name])


def _sides(name: str, value: Pair | None) -> dict[str, Any]:
    """A size as Caffe says it: one number for a square, height and width for anything else."""
    if value is None:
        return {}
    sizes = [value] if isinstance(value, int) else list(value)
    if len(set(sizes)) == 1:
        return {name: sizes[0]}
    short = name.removesuffix("_size")
    return {f"{short}_h": sizes[0], f"{short}_w": sizes[1]}


def RDDLayer(name: str, shape: Sequence[int], **settings: Any) -> pb.LayerParameter:  # noqa: N802 - the paper's name
    """A blob whose values come from an RDD, a DataFrame, or whoever runs the net."""
    return _make("Input")(name, shape={"dim": list(shape)}, **settings)


def ConvLayer(  # noqa: N802
    name: str,
    bottoms: Sequence[str],
    *,
    kernel: Pair,
    num_filters: int,
    stride: Pair | None = None,
    pad: Pair | None = None,
    **settings: Any,
) -> pb.LayerParameter:
    """A convolution."""
    sizes = {**_sides("kernel_size", kernel), **_sides("stride", stride), **_sides("pad", pad)}
    return _make("Convolution")(name, bottoms, num_output=num_filters, **sizes, **settings)


def PoolLayer(  # noqa: N802
    name: str,
    bottoms: Sequence[str],
    *,
    kernel: Pair,
    pool: int | str = Max,
    stride: Pair | None = None,
    pad: Pair | None = None,
    **settings: Any,
) -> pb.LayerParameter:
    """A pooling layer."""
    sizes = {**_sides("kernel_size", kernel), **_sides("stride", stride), **_sides("pad", pad)}
    return _make("Pooling")(name, bottoms, pool=pool, **sizes, **settings)


def LinearLayer(name: str, bottoms: Sequence[str], *, num_outputs: int, **settings: Any) -> pb.LayerParameter:  # noqa: N802
    """A fully connected layer."""
    return _make("InnerProduct")(name, bottoms, num_output=num_outputs, **settings)


def ActivationLayer(  # noqa: N802
    name: str, bottoms: Sequence[str], *, activation: Constructor, **settings: Any
) -> pb.LayerParameter:
    """An activation, given as its type: `activation=ReLU`."""
    return activation(name, bottoms, **settings)
