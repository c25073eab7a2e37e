"""Registries of names: netdsl's own values, and those that programs add."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl import Net
from netdsl.errors import RegistryError
from netdsl.layer import Layer
from netdsl.layers import LAYERS
from netdsl.registry import Registry, register_layer

TEXT = """layer { name: "x" type: "Input" top: "x" input_param { shape { dim: 2 } } }
          layer { name: "y" type: "Thrice" bottom: "x" top: "y" }"""


class Thrice(Layer):
    def forward(self, x: Tensor) -> Tensor:
        return 3 * x


@pytest.fixture
def thrice() -> Iterator[None]:
    assert register_layer(Thrice) is Thrice
    yield
    LAYERS.unregister("Thrice")


@pytest.mark.usefixtures("thrice")
def test_a_registered_type_works_like_a_built_in_one() -> None:
    assert LAYERS["Thrice"] is Thrice and "Thrice" in [*LAYERS] and LAYERS.near("trice") == "Thrice"
    assert Net(from_text(TEXT, pb.NetParameter)).forward(x=[1.0, 2.0])["y"].tolist() == [3.0, 6.0]


@pytest.mark.usefixtures("thrice")
def test_a_name_belongs_to_only_one_class() -> None:
    register_layer(Thrice)
    register_layer(type("Thrice", (Thrice,), {"__module__": Thrice.__module__}))  # as if the same lines ran again
    other = type("Thrice", (Layer,), {"__module__": "office"})
    both = r"the layer type 'Thrice' is defined twice, by .*test_registry\.Thrice and office\.Thrice; rename one"
    with pytest.raises(RegistryError, match=both):
        register_layer(other)
    with pytest.raises(RegistryError, match=r"netdsl\.layers\.relu\.ReLU and office\.ReLU"):
        register_layer(type("ReLU", (Layer,), {"__module__": "office"}))


def test_a_registry_is_a_mapping() -> None:
    registry = Registry[int]("number")
    registry.register("one", 1, "office.ONE")
    assert dict(registry) == {"one": 1} and len(registry) == 1 and registry.get("two") is None
    assert registry.near("ONE ") == "one" and registry.near("million") is None
    with pytest.raises(KeyError):
        registry["two"]


def test_a_registry_needs_neither_torch_nor_numpy() -> None:
    program = "import sys, netdsl.registry; print(sorted({'torch', 'numpy', 'google.protobuf'} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "[]\n"
