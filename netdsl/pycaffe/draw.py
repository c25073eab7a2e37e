"""pycaffe's `draw`: pictures of nets. What a layer's label says follows from its settings, whatever its type."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from google.protobuf.message import Message

from caffe_proto import caffe_pb2 as pb
from caffe_proto.storage import write_pieces
from netdsl.dsl.constructors import settings_field
from netdsl.errors import NetError
from netdsl.layers import LAYERS
from netdsl.net.graph import is_included
from netdsl.pycaffe.graph_picture import DIRECTIONS, GraphPicture, PictureNode

_BLOB, _IN_PLACE, _OTHER = "#E0E0E0", "#90EE90", "#6495ED"
_CONVOLUTION, _WINDOW, _CONNECTED = "#FF5050", "#FF9900", "#CC33FF"


def get_pooling_types_dict() -> dict[int, str]:
    """The names of pooling methods by their numbers."""
    return {value.number: value.name for value in pb.PoolingParameter.PoolMethod.DESCRIPTOR.values}


def get_edge_label(layer: pb.LayerParameter) -> str:
    """What an edge to a layer's top says: how many outputs it has, or items in a batch."""
    outputs, batch = _setting(layer, "num_output"), _setting(layer, "batch_size")
    return str(outputs) if outputs is not None else f"Batch {batch}" if batch is not None else ""


def get_layer_lr_mult(layer: pb.LayerParameter) -> tuple[float, float]:
    """The learning rate multipliers of weights and biases, for a layer with outputs that learn."""
    if _setting(layer, "num_output") is None:
        raise ValueError(f"{layer.type} layers do not have a learning rate multiplier")
    rates = [spec.lr_mult for spec in layer.param[:2]] + [1.0, 1.0]
    return rates[0], rates[1]


def get_layer_label(layer: pb.LayerParameter, rankdir: str, display_lrm: bool = False) -> str:
    """A layer's name, type, window and, with `display_lrm`, learning rate multipliers."""
    method = _setting(layer, "pool")
    kind = layer.type if method is None else f"{layer.type} {get_pooling_types_dict()[method]}"
    parts = [layer.name, f"({kind})"]
    if _setting(layer, "kernel_size") is not None:
        parts += [
            f"kernel size: {_first(layer, 'kernel_size', 1)}",
            f"stride: {_first(layer, 'stride', 1)}",
            f"pad: {_first(layer, 'pad', 0)}",
        ]
    if display_lrm and _setting(layer, "num_output") is not None and any(get_layer_lr_mult(layer)):
        parts.append("lr mult: {:.1f}, {:.1f}".format(*get_layer_lr_mult(layer)))
    return (" " if rankdir in ("TB", "BT") else "\n").join(parts)


def get_pydot_graph(
    caffe_net: pb.NetParameter,
    rankdir: str,
    label_edges: bool = True,
    phase: int | None = None,
    display_lrm: bool = False,
) -> GraphPicture:
    """The graph of a net, with all layers or those of a phase. It has pydot's methods `to_string` and `create`."""
    if rankdir not in DIRECTIONS:
        raise NetError(f"rankdir is '{rankdir}'; it can be {', '.join(DIRECTIONS)}")
    picture = GraphPicture(caffe_net.name or "Net", rankdir)
    for layer in caffe_net.layer:
        if phase is None or is_included(layer, pb.NetState(phase=pb.Phase.Name(phase))):
            label = get_layer_label(layer, rankdir, display_lrm)
            _add(picture, layer, label, get_edge_label(layer) if label_edges else "")
    return picture


def draw_net(
    caffe_net: pb.NetParameter, rankdir: str, ext: str = "png", phase: int | None = None, display_lrm: bool = False
) -> bytes:
    """The picture of a net as the bytes of a file."""
    return get_pydot_graph(caffe_net, rankdir, phase=phase, display_lrm=display_lrm).create(format=ext)


def draw_net_to_file(
    caffe_net: pb.NetParameter,
    filename: str | Path,
    rankdir: str = "LR",
    phase: int | None = None,
    display_lrm: bool = False,
) -> None:
    """Draw a net into a file, whose suffix says the format; `.raw` is text for graphviz."""
    suffix = str(filename).rpartition(".")[2]
    write_pieces(Path(filename), [draw_net(caffe_net, rankdir, suffix, phase, display_lrm)])


def choose_color_by_layertype(layertype: str) -> str:
    """The colour of layers of a type: by whether they have outputs, a window, or both."""
    settings = _settings(pb.LayerParameter(type=layertype))
    names = settings.DESCRIPTOR.fields_by_name if settings is not None else {}
    if "num_output" in names:
        return _CONVOLUTION if "kernel_size" in names else _CONNECTED
    return _WINDOW if "kernel_size" in names else _OTHER


def _add(picture: GraphPicture, layer: pb.LayerParameter, label: str, edge_label: str) -> None:
    in_place = len(layer.bottom) == 1 and list(layer.bottom) == list(layer.top)
    key = f"{layer.name}_{layer.type}"
    picture.nodes.update({f"{name}_blob": PictureNode(name, _BLOB, "octagon") for name in (*layer.bottom, *layer.top)})
    picture.nodes[key] = PictureNode(label, _IN_PLACE if in_place else choose_color_by_layertype(layer.type), "record")
    picture.edges += [(f"{name}_blob", key, "") for name in layer.bottom]
    picture.edges += [(key, f"{name}_blob", edge_label) for name in layer.top]


def _settings(layer: pb.LayerParameter) -> Message | None:
    """The message with a layer's own settings; None if its type is unknown or has none."""
    kind = LAYERS.get(layer.type)
    return getattr(layer, settings_field(kind.config)) if kind is not None and kind.config is not None else None


def _setting(layer: pb.LayerParameter, name: str) -> Any:
    """The value of a layer's setting; None if its type has no such setting."""
    return getattr(_settings(layer), name, None)


def _first(layer: pb.LayerParameter, name: str, default: int) -> int:
    value = _setting(layer, name)
    values: Sequence[int] = [value] if isinstance(value, int) else value or []
    return values[0] if values else default
