"""The names that `import netdsl` provides."""

from __future__ import annotations

import netdsl
from netdsl.layers import LAYERS


def test_a_star_import_has_the_layer_types_and_everything_else() -> None:
    names: dict[str, object] = {}
    exec("from netdsl import *", names)
    assert {"Net", "NetParams", "ConvLayer", "Max", "WeightCollection", "SoftmaxWithLoss", *LAYERS} <= names.keys()
    assert dir(netdsl) == sorted(netdsl.__all__)
    assert all(names[name] is getattr(netdsl, name) for name in netdsl.__all__)
