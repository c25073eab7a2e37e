"""Every layer type, one file each. `LAYERS` has them by Caffe's name; copy it to add your own."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from netdsl.layer import Layer
from netdsl.layers.split import insert_splits

__all__ = ["LAYERS", "Types", "insert_splits"]

Types = dict[str, type[Layer]]


def _scan() -> Types:
    """The layer classes of the modules in this package; files that begin with `_` hold what several share."""
    types: Types = {}
    for module in iter_modules(__path__, f"{__name__}."):
        if module.name.rpartition(".")[2].startswith("_"):
            continue
        contents = vars(import_module(module.name))
        for name, value in contents.items():
            if isinstance(value, type) and issubclass(value, Layer) and value.__module__ == module.name:
                types[name] = value
    return types


LAYERS: Types = _scan()
