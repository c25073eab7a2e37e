"""The base class of layers written in Python, and the modules whose layers are a script's own code."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from caffe_proto import caffe_pb2 as pb
from netdsl.allowed_modules import module_file
from netdsl.layer.user_code import ArrayBlob, ArrayBlobs
from netdsl.net.graph import Graph


class Layer:
    """The base class of a layer written in Python. Its methods receive blobs with numpy arrays.

    `param_str` is the text in `python_param`, and `phase` is TRAIN or TEST. `blobs` are the layer's own blobs. `setup`
    adds them with `self.blobs.add_blob(2, 3)` and fills them.
    """

    param_str: str
    phase: int
    blobs: ArrayBlobs

    def __init__(self, layer: pb.LayerParameter | None = None) -> None: ...

    def setup(self, bottom: Sequence[ArrayBlob], top: Sequence[ArrayBlob]) -> None:
        """Read the settings and check the bottoms. This is called once."""

    def reshape(self, bottom: Sequence[ArrayBlob], top: Sequence[ArrayBlob]) -> None:
        """Set the shapes of the tops. This is called before each pass."""
        raise NotImplementedError(f"{type(self).__name__} doesn't define reshape")

    def forward(self, bottom: Sequence[ArrayBlob], top: Sequence[ArrayBlob]) -> None:
        """Write to `top[i].data`."""
        raise NotImplementedError(f"{type(self).__name__} doesn't define forward")

    def backward(self, top: Sequence[ArrayBlob], propagate_down: Sequence[bool], bottom: Sequence[ArrayBlob]) -> None:
        """Write to `bottom[i].diff` if `propagate_down[i]` is set, and to `self.blobs[i].diff`."""
        raise NotImplementedError(f"{type(self).__name__} doesn't define backward")


def own_modules(graph: Graph) -> set[str]:
    """Return the modules in a net that the program imported or defined, or that are in its script's folder.

    Other installed modules aren't included, because a downloaded net can name any module.
    """
    names = {node.layer.python_param.module for node in graph.nodes} - {""}
    return {name for name in names if _defines_layers(name) or _is_next_to_script(name)}


def _defines_layers(name: str) -> bool:
    """Return whether a module has been imported and defines layer classes."""
    values = list(vars(sys.modules[name]).values()) if name in sys.modules else []
    return any(isinstance(value, type) and issubclass(value, Layer) and value is not Layer for value in values)


def _is_next_to_script(name: str) -> bool:
    script, file = getattr(sys.modules["__main__"], "__file__", None), module_file(name)
    return script is not None and file is not None and Path(script).resolve().parent == file.resolve().parent
