"""The modules of Python layers that are a script's own code, which nets may run without more ado."""

from __future__ import annotations

import sys
from pathlib import Path

from netdsl.allowed_modules import module_file
from netdsl.net.graph import Graph
from netdsl.pycaffe.python_layer import Layer


def own_modules(graph: Graph) -> set[str]:
    """The modules that a net names and that the program imported or defined, or has beside its script.

    A module that is merely installed is none of them, since a downloaded net can name any.
    """
    names = {node.layer.python_param.module for node in graph.nodes} - {""}
    return {name for name in names if _defines_layers(name) or _is_beside_script(name)}


def _defines_layers(name: str) -> bool:
    """Whether a module was imported and has classes of layers."""
    values = list(vars(sys.modules[name]).values()) if name in sys.modules else []
    return any(isinstance(value, type) and issubclass(value, Layer) and value is not Layer for value in values)


def _is_beside_script(name: str) -> bool:
    script, file = getattr(sys.modules["__main__"], "__file__", None), module_file(name)
    return script is not None and file is not None and Path(script).resolve().parent == file.resolve().parent
