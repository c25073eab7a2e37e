"""Every layer type, one file each. `LAYERS` has them by Caffe's name; copy it to add your own."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from netdsl.layer import Layer

Types = dict[str, type[Layer]]


def _scan() -> Types:
    """The layer classes of the modules in this package; files that begin with `_` hold what several share."""
    found: Types = {}
    for module in iter_modules(__path__, f"{__name__}."):
        if module.name.rpartition(".")[2].startswith("_"):
            continue
        contents = vars(import_module(module.name))
        for name, value in contents.items():
            if isinstance(value, type) and issubclass(value, Layer) and value.__module__ == module.name:
                found[name] = value
    return found


LAYERS: Types = _scan()
