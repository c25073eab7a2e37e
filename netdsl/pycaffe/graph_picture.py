"""The picture of a graph: as graphviz's text, drawn by graphviz where its `dot` is installed, or else by matplotlib."""

from __future__ import annotations

import io
import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from caffe_proto.errors import import_extra
from netdsl.errors import NetError

_TEXT = ("raw", "dot", "gv")  # formats that are graphviz's text itself
DIRECTIONS = {"LR": (2.4, 0.9), "TB": (0.9, 3.4), "BT": (0.9, 3.4)}  # inches from node to node, along and across
_MARGIN = 1.8  # inches
_DPI, _LARGEST = 72, 30_000  # pixels; matplotlib draws images of less than 2^16

Position = tuple[float, float]


@dataclass(frozen=True)
class PictureNode:
    """A node: the lines of its label, and how it looks."""

    label: str
    colour: str
    shape: str  # as graphviz names it


@dataclass
class GraphPicture:
    """A directed graph to be drawn, from the left (LR), the top (TB) or the bottom (BT)."""

    name: str
    rankdir: str = "LR"
    nodes: dict[str, PictureNode] = field(default_factory=dict)
    edges: list[tuple[str, str, str]] = field(default_factory=list)  # with their labels

    def to_string(self) -> str:
        """The graph as graphviz's text."""
        lines = [f"digraph {_quoted(self.name)} {{", f"rankdir={self.rankdir};"]
        for key, node in self.nodes.items():
            look = f"shape={node.shape}, style=filled, fillcolor={_quoted(node.colour)}"
            lines.append(f"{_quoted(key)} [label={_quoted(node.label)}, {look}];")
        lines += [f"{_quoted(tail)} -> {_quoted(head)} [label={_quoted(text)}];" for tail, head, text in self.edges]
        return "\n".join([*lines, "}\n"])

    def create(self, format: str = "png") -> bytes:  # noqa: A002 - it is pydot's name
        """The picture in a format such as png, svg or pdf; `raw` is graphviz's text."""
        if format in _TEXT:
            return self.to_string().encode()
        program = shutil.which("dot")
        return self._drawn(format) if program is None else self._by_graphviz(program, format)

    def _by_graphviz(self, program: str, kind: str) -> bytes:
        done = subprocess.run([program, f"-T{kind}"], input=self.to_string().encode(), capture_output=True)
        if done.returncode:
            reason = done.stderr.decode(errors="replace").strip().partition("\n")[0]
            raise NetError(f"graphviz can't draw the net as {kind}: {reason}")
        return done.stdout

    def _drawn(self, kind: str) -> bytes:
        import_extra("matplotlib", "logs", "drawing nets needs graphviz or matplotlib")
        figure = import_module("matplotlib.figure").Figure(layout=None)
        if kind not in figure.canvas.get_supported_filetypes():
            raise NetError(f"'{kind}' is no format of pictures here; png, svg and pdf are, and graphviz has more")
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
            box = {"boxstyle": style, "facecolor": node.colour, "edgecolor": "black"}
            axes.text(*places[key], node.label, fontsize=8, ha="center", va="center", bbox=box)

    def _places(self) -> dict[str, Position]:
        """Each node as far along as the longest way to it, and beside those that are as far."""
        ranks = self._ranks()
        sizes, taken = Counter(ranks.values()), Counter[int]()
        step, side_step = DIRECTIONS[self.rankdir]
        places = {}
        for key, rank in ranks.items():
            along, across = rank * step, ((sizes[rank] - 1) / 2 - taken[rank]) * side_step
            taken[rank] += 1
            upright = -across, along if self.rankdir == "BT" else -along
            places[key] = (along, across) if self.rankdir == "LR" else upright
        return places

    def _ranks(self) -> dict[str, int]:
        """The longest way to each node. Edges are in the net's order, so one to a node with ways on leads back."""
        ranks, tails = dict.fromkeys(self.nodes, 0), set[str]()
        for tail, head, _ in self.edges:
            if head not in tails:
                ranks[head] = max(ranks[head], ranks[tail] + 1)
            tails.add(tail)
        return ranks


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
