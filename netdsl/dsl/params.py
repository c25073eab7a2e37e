"""Nets in Python: NetParams, and layer functions with the SparkNet paper's names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Any, ParamSpec, Unpack

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of
from caffe_proto.dialects import dialect_named, mark, mark_by_fields
from caffe_proto.text.prototxt import text_of
from netdsl.dsl.constructors import CAFFE_NAMES, assign
from netdsl.dsl.layer_types import Convolution, InnerProduct, Input, Pooling
from netdsl.errors import NetError

if TYPE_CHECKING:
    from netdsl.dsl.layer_types import NetSettings, PoolingParameterPoolMethodName


Max = pb.PoolingParameter.MAX
Average = pb.PoolingParameter.AVE
Stochastic = pb.PoolingParameter.STOCHASTIC
P = ParamSpec("P")
Names = Sequence[str] | str
Pair = int | Sequence[int]


class NetParams:
    """The description of a net: an optional name and its layers. Raises a `NetError` if the layers don't match.

    `message` is the net as Caffe's message, and `prototxt()` returns its text. `dialect` names the fork of Caffe that
    the net is for, because forks can define the same type differently.
    """

    def __init__(
        self,
        *name_and_layers: str | pb.LayerParameter,
        dialect: str | None = None,
        **settings: Unpack[NetSettings],
    ) -> None:
        self.message = net_message(name_and_layers, settings, dialect)
        check_net(self.message)

    def prototxt(self) -> str:
        """Return the net as prototxt."""
        return text_of(self.message)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NetParams) and self.message == other.message

    __hash__ = None  # type: ignore[assignment]  # the message can change

    def __repr__(self) -> str:
        return f"NetParams({self.message.name!r}, {len(self.message.layer)} layers)"

    def _repr_html_(self) -> str:
        from netdsl.model.model import Model  # a net is described without what opens files

        return Model(self.message)._repr_html_()


def net_message(
    name_and_layers: Sequence[Any], settings: Mapping[str, Any], dialect: str | None = None
) -> pb.NetParameter:
    """Return the message for the arguments of NetParams without checking the net."""
    has_name = bool(name_and_layers) and isinstance(name_and_layers[0], str)
    net = pb.NetParameter(name=name_and_layers[0] if has_name else None)
    what = f"net '{net.name}'"
    for number, layer in enumerate(name_and_layers[has_name:], 1):
        if not isinstance(layer, pb.LayerParameter):
            hint = (
                "; write * before it"
                if isinstance(layer, (list, tuple))
                else "; pass what a constructor such as ConvolutionLayer returns"
            )
            raise NetError(f"{what}: layer number {number} is a {type(layer).__name__}, not a layer{hint}")
        net.layer.append(layer)
    assign(net, settings, what)
    if dialect is not None:
        mark(net, [dialect_named(dialect).name])
    return net


def check_net(net: pb.NetParameter) -> None:
    """Raise a `NetError` if layer types, connections, shapes or fillers are wrong in any phase of the net."""
    from netdsl.model.data_shapes import settle  # imports torch, which isn't needed to describe a net
    from netdsl.model.model import Model
    from netdsl.net.build import check_fillers

    marked = copy_of(net)
    mark_by_fields(marked)
    for phase in Model(marked).phases:
        check_fillers(settle(marked, phase, {}, said={}).built)


def _window_settings(layer: str, *, kernel: Pair, stride: Pair | None, pad: Pair | None) -> dict[str, Any]:
    return {
        **_sides(layer, "kernel", kernel, "kernel_size"),
        **_sides(layer, "stride", stride, "stride"),
        **_sides(layer, "pad", pad, "pad"),
    }


def _sides(layer: str, what: str, value: Pair | None, square: str) -> dict[str, Any]:
    """Return Caffe's settings for a size: one field for a square, or two for height and width."""
    if value is None:
        return {}
    sizes = list(value) if isinstance(value, (list, tuple)) else [value]
    if len(sizes) not in (1, 2):
        raise NetError(
            f"layer '{layer}': {what} must be one number or (height, width), not {value!r}; write it as 3 or (3, 5)"
        )
    return {square: sizes[0]} if len(set(sizes)) == 1 else {f"{what}_h": sizes[0], f"{what}_w": sizes[1]}


def _needs_settings(function: Callable[P, pb.LayerParameter]) -> Callable[P, pb.LayerParameter]:
    """Return the function with a check that reports a missing setting and a similar name, if the call has one."""
    parameters = signature(function).parameters.values()
    required = [p.name for p in parameters if p.default is p.empty and p.kind is not p.VAR_KEYWORD]

    @wraps(function)
    def checked(*args: P.args, **settings: P.kwargs) -> pb.LayerParameter:
        missing = next((name for name in required[len(args) :] if name not in settings), None)
        if missing is None:
            return function(*args, **settings)
        meant = [missing, CAFFE_NAMES.get(missing, missing)]
        near = next((name for name in settings if name not in required and get_close_matches(name, meant, 1)), None)
        hint = f"; write {missing} for '{near}'" if near is not None else ""
        raise NetError(f"layer '{args[0] if args else ''}': {function.__name__} needs {missing}{hint}")

    return checked


@_needs_settings
def RDDLayer(name: str, shape: Sequence[int], **settings: Any) -> pb.LayerParameter:  # noqa: N802 - the paper's name
    """Add an input blob: `RDDLayer("data", shape=[64, 1, 28, 28])` for batches of 64 images.

    Its values come from the data for training or prediction: arrays, a table, an RDD, a DataFrame, or the arguments of
    `forward`. `shape` starts with the batch size. Settings are those of Caffe's `Input`.
    """
    return Input(name, shape={"dim": shape}, **settings)


@_needs_settings
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
    """Convolve images with learned filters: `ConvLayer("conv1", ["data"], kernel=(5, 5), num_filters=20)`.

    `kernel`, `stride` and `pad` are (height, width). The default stride is 1 and the default pad 0. Other settings are
    those of Caffe's `Convolution`, such as `weight_filler={"type": "xavier"}`, `group=2` or `dilation=[2]`.
    """
    sides = _window_settings(name, kernel=kernel, stride=stride, pad=pad)
    return Convolution(name, bottoms, num_output=num_filters, **sides, **settings)


@_needs_settings
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
    """Pool each window of an image: `PoolLayer("pool1", ["conv1"], kernel=(2, 2), stride=(2, 2))`.

    `pool` is Max, Average or Stochastic. `kernel`, `stride` and `pad` are (height, width). The default stride is 1 and
    the default pad 0. Other settings are those of Caffe's `Pooling`.
    """
    return Pooling(
        name, bottoms, pool=pool, **_window_settings(name, kernel=kernel, stride=stride, pad=pad), **settings
    )


@_needs_settings
def LinearLayer(name: str, bottoms: Names, *, num_outputs: int, **settings: Any) -> pb.LayerParameter:  # noqa: N802
    """Connect all values of an item to all outputs: `LinearLayer("ip1", ["pool1"], num_outputs=500)`.

    Settings are those of Caffe's `InnerProduct`, such as `weight_filler={"type": "xavier"}` or `bias_term=False`.
    """
    return InnerProduct(name, bottoms, num_output=num_outputs, **settings)


@_needs_settings
def ActivationLayer(  # noqa: N802
    name: str, bottoms: Names, *, activation: Callable[..., pb.LayerParameter], **settings: Any
) -> pb.LayerParameter:
    """Apply a function to each value: `ActivationLayer("relu1", ["ip1"], activation=ReLU)`.

    `activation` is a layer type, such as ReLU, TanH or Sigmoid. Settings are those of that type.
    """
    if not callable(activation):
        raise NetError(
            f"layer '{name}': activation must be a layer type, such as ReLU, not {activation!r}; pass it "
            "without parentheses, as in activation=ReLU"
        )
    return activation(name, bottoms, **settings)
