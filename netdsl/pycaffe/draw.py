"""pycaffe's `draw`: pictures of nets. A layer's label follows from its settings, whatever its type."""

from __future__ import annotations

import io
import shutil
import subprocess
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from google.protobuf.message import Message

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import import_extra
from caffe_proto.storage import write_pieces
from netdsl.dsl.constructors import settings_field
from netdsl.errors import NetError
from netdsl.layers import LAYERS
from netdsl.net.graph import is_included

_TEXT_FORMATS = ("raw", "dot", "gv")  # names of graphviz's text format
# Inches between nodes: along the direction and across.
_DIRECTIONS = {"LR": (2.4, 0.9), "TB": (0.9, 3.4), "BT": (0.9, 3.4)}
_MARGIN = 1.8  # inches
_DPI, _LARGEST = 72, 30_000  # pixels; matplotlib's images must be smaller than 2^16
_Position = tuple[float, float]
_BLOB, _IN_PLACE, _OTHER = "#E0E0E0", "#90EE90", "#6495ED"
_CONVOLUTION, _WINDOW, _CONNECTED = "#FF5050", "#FF9900", "#CC33FF"


@dataclass(frozen=True)
class _PictureNode:
    """A node: the lines of its label, and its appearance."""

    label: str
    color: str
    shape: str  # a graphviz name


@dataclass
class GraphPicture:
    """A directed graph to draw from the left (LR), the top (TB) or the bottom (BT)."""

    name: str
    rankdir: str = "LR"
    nodes: dict[str, _PictureNode] = field(default_factory=dict)
    edges: list[tuple[str, str, str]] = field(default_factory=list)  # tail, head and label

    def to_string(self) -> str:
        """Return the graph as graphviz text."""
        lines = [f"digraph {_quoted(self.name)} {{", f"rankdir={self.rankdir};"]
        for key, node in self.nodes.items():
            look = f"shape={node.shape}, style=filled, fillcolor={_quoted(node.color)}"
            lines.append(f"{_quoted(key)} [label={_quoted(node.label)}, {look}];")
        lines += [f"{_quoted(tail)} -> {_quoted(head)} [label={_quoted(text)}];" for tail, head, text in self.edges]
        return "\n".join([*lines, "}\n"])

    def create(self, format: str = "png") -> bytes:  # noqa: A002 - it is pydot's name
        """Return the picture in a format such as png, svg or pdf. `raw` is graphviz text."""
        if format in _TEXT_FORMATS:
            return self.to_string().encode()
        program = shutil.which("dot")
        return self._drawn(format) if program is None else self._by_graphviz(program, format)

    def _by_graphviz(self, program: str, kind: str) -> bytes:
        done = subprocess.run([program, f"-T{kind}"], input=self.to_string().encode(), capture_output=True)
        if done.returncode:
            reason = done.stderr.decode(errors="replace").strip().partition("\n")[0]
            raise NetError(f"graphviz can't draw the net as {kind}: {reason}; install graphviz, or choose png")
        return done.stdout

    def _drawn(self, kind: str) -> bytes:
        import_extra("matplotlib", "logs", "drawing nets needs graphviz or matplotlib")
        figure = import_module("matplotlib.figure").Figure(layout=None)
        if kind not in figure.canvas.get_supported_filetypes():
            raise NetError(
                f"'{kind}' isn't a supported picture format; use png, svg or pdf, or install graphviz for its "
                "other formats"
            )
        self._draw_on(figure)
        drawn = io.BytesIO()
        figure.savefig(drawn, format=kind, dpi=min(_DPI, _LARGEST / max(figure.get_size_inches())))
        return drawn.getvalue()

    def _draw_on(self, figure: Any) -> None:
        places = self._places()
        (left, right), (low, high) = ((min(axis), max(axis)) for axis in zip(*places.values(), strict=True))
        figure.set_size_inches(right - left + 2 * _MARGIN, high - low + 2 * _MARGIN)
        axes = figure.add_axes(
            (0, 0, 1, 1), xlim=(left - _MARGIN, right + _MARGIN), ylim=(low - _MARGIN, high + _MARGIN)
        )
        axes.set_axis_off()
        for tail, head, text in self.edges:
            axes.annotate("", places[head], places[tail], arrowprops={"arrowstyle": "->", "shrinkA": 24, "shrinkB": 24})
            middle = [(one + other) / 2 for one, other in zip(places[tail], places[head], strict=True)]
            axes.text(*middle, text, fontsize=7, ha="center", va="bottom")
        for key, node in self.nodes.items():
            style = "square" if node.shape == "record" else "round"
            box = {"boxstyle": style, "facecolor": node.color, "edgecolor": "black"}
            axes.text(*places[key], node.label, fontsize=8, ha="center", va="center", bbox=box)

    def _places(self) -> dict[str, _Position]:
        """Return the nodes' positions.

        The distance along the direction is the longest path to a node; equal ones are side by side.
        """
        ranks = self._ranks()
        sizes, taken = Counter(ranks.values()), Counter[int]()
        step, side_step = _DIRECTIONS[self.rankdir]
        places = {}
        for key, rank in ranks.items():
            along, across = rank * step, ((sizes[rank] - 1) / 2 - taken[rank]) * side_step
            taken[rank] += 1
            upright = -across, along if self.rankdir == "BT" else -along
            places[key] = (along, across) if self.rankdir == "LR" else upright
        return places

    def _ranks(self) -> dict[str, int]:
        """Return the length of the longest path to each node.

        Edges are in the net's order, so that an edge to a node with earlier outgoing edges leads back and doesn't
        count.
        """
        ranks, tails = dict.fromkeys(self.nodes, 0), set[str]()
        for tail, head, _ in self.edges:
            if head not in tails:
                ranks[head] = max(ranks[head], ranks[tail] + 1)
            tails.add(tail)
        return ranks


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def get_pooling_types_dict() -> dict[int, str]:
    """Return the names of pooling methods by number."""
    return {value.number: value.name for value in pb.PoolingParameter.PoolMethod.DESCRIPTOR.values}


def get_edge_label(layer: pb.LayerParameter) -> str:
    """Return the label of edges to a layer's tops: the number of outputs, or the batch size."""
    outputs, batch = _setting(layer, "num_output"), _setting(layer, "batch_size")
    return str(outputs) if outputs is not None else f"Batch {batch}" if batch is not None else ""


def get_layer_lr_mult(layer: pb.LayerParameter) -> tuple[float, float]:
    """Return the learning rate multipliers of weights and biases.

    Raises a `ValueError` for layers without `num_output`.
    """
    if _setting(layer, "num_output") is None:
        raise ValueError(f"{layer.type} layers do not have a learning rate multiplier")
    rates = [spec.lr_mult for spec in layer.param[:2]] + [1.0, 1.0]
    return rates[0], rates[1]


def get_layer_label(layer: pb.LayerParameter, rankdir: str, display_lrm: bool = False) -> str:
    """Return a layer's name, type and window, and with `display_lrm` its learning rate multipliers."""
    method = _setting(layer, "pool")
    kind = layer.type if method is None else f"{layer.type} {get_pooling_types_dict()[method]}"
    parts = [layer.name, f"({kind})"]
    if _setting(layer, "kernel_size") is not None:
        parts += [
            f"kernel size: {_first_value(layer, 'kernel_size', 1)}",
            f"stride: {_first_value(layer, 'stride', 1)}",
            f"pad: {_first_value(layer, 'pad', 0)}",
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
    """Return the graph of a net with all layers, or with those of a phase.

    It has pydot's methods `to_string` and `create`.
    """
    if rankdir not in _DIRECTIONS:
        raise NetError(f"rankdir is '{rankdir}'; set it to one of {', '.join(_DIRECTIONS)}")
    picture = GraphPicture(caffe_net.name or "Net", rankdir)
    for layer in caffe_net.layer:
        if phase is None or is_included(layer, pb.NetState(phase=pb.Phase.Name(phase))):
            label = get_layer_label(layer, rankdir, display_lrm)
            _add_layer(picture, layer, label, get_edge_label(layer) if label_edges else "")
    return picture


def draw_net(
    caffe_net: pb.NetParameter, rankdir: str, ext: str = "png", phase: int | None = None, display_lrm: bool = False
) -> bytes:
    """Return the picture of a net as the contents of a file."""
    return get_pydot_graph(caffe_net, rankdir, phase=phase, display_lrm=display_lrm).create(format=ext)


def draw_net_to_file(
    caffe_net: pb.NetParameter,
    filename: str | Path,
    rankdir: str = "LR",
    phase: int | None = None,
    display_lrm: bool = False,
) -> None:
    """Draw a net to a file. The suffix determines the format, where `.raw` is graphviz text."""
    suffix = str(filename).rpartition(".")[2]
    write_pieces(Path(filename), [draw_net(caffe_net, rankdir, suffix, phase, display_lrm)])


def choose_color_by_layertype(layertype: str) -> str:
    """Return the color for a layer type, which depends on whether it has outputs, a window, or both."""
    settings = _settings_of(pb.LayerParameter(type=layertype))
    names = settings.DESCRIPTOR.fields_by_name if settings is not None else {}
    if "num_output" in names:
        return _CONVOLUTION if "kernel_size" in names else _CONNECTED
    return _WINDOW if "kernel_size" in names else _OTHER


def _add_layer(picture: GraphPicture, layer: pb.LayerParameter, label: str, edge_label: str) -> None:
    in_place = len(layer.bottom) == 1 and list(layer.bottom) == list(layer.top)
    key = f"{layer.name}_{layer.type}"
    picture.nodes.update({f"{name}_blob": _PictureNode(name, _BLOB, "octagon") for name in (*layer.bottom, *layer.top)})
    picture.nodes[key] = _PictureNode(label, _IN_PLACE if in_place else choose_color_by_layertype(layer.type), "record")
    picture.edges += [(f"{name}_blob", key, "") for name in layer.bottom]
    picture.edges += [(key, f"{name}_blob", edge_label) for name in layer.top]


def _settings_of(layer: pb.LayerParameter) -> Message | None:
    """Return the message with a layer's own settings, or `None` if its type is unknown or has no settings."""
    kind = LAYERS.get(layer.type)
    return getattr(layer, settings_field(kind.config)) if kind is not None and kind.config is not None else None


def _setting(layer: pb.LayerParameter, name: str) -> Any:
    """Return the value of a layer's setting, or `None` if its type doesn't have the setting."""
    return getattr(_settings_of(layer), name, None)


def _first_value(layer: pb.LayerParameter, name: str, default: int) -> int:
    value = _setting(layer, name)
    values: Sequence[int] = [value] if isinstance(value, int) else value or []
    return values[0] if values else default
