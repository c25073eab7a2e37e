"""A net that needs more memory than any machine has is refused before it allocates memory."""

from __future__ import annotations

import pytest
import torch

from caffe_proto import caffe_pb2 as pb
from caffe_proto.text.prototxt import from_text
from netdsl.errors import NetError, memory_shortage
from netdsl.model.model import Model
from netdsl.net.build import build, running
from netdsl.net.graph import Phase, resolve
from netdsl.planner.timing import time_net
from netdsl.training.net import Net

WEIGHTS = """
layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 1 dim: 1000000 } } }
layer { name: "small" type: "InnerProduct" bottom: "x" top: "a" inner_product_param { num_output: 2 } }
layer { name: "fc" type: "InnerProduct" bottom: "x" top: "b" inner_product_param { num_output: 100000000 } }
"""
BLOBS = """
layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 1000000 dim: 100000000 } } }
layer { name: "relu" type: "ReLU" bottom: "x" top: "y" }
"""


@pytest.fixture(autouse=True)
def blobs_may_be_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NETDSL_LIMITS", "values=1000T")


def test_weights_are_counted_first() -> None:
    with pytest.raises(
        NetError, match=r"layer 'fc': the weights need 400,000\.\d GB, and .*, but cpu has [0-9.,]+ GB of"
    ):
        Net(from_text(WEIGHTS, pb.NetParameter))


@pytest.mark.parametrize(("text", "what"), [(WEIGHTS, "layer 'fc': the weights"), (BLOBS, "layer 'relu': the bottoms")])
def test_a_timing_counts_bottoms_and_tops_too(text: str, what: str) -> None:
    with pytest.raises(NetError, match=what):
        time_net(Model(from_text(text, pb.NetParameter)), Phase.TEST, iterations=1)


def test_a_failed_allocation_is_reported_with_the_layer() -> None:
    text = 'layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 2 dim: 3 } } }'
    built = build(resolve(from_text(text, pb.NetParameter), Phase.TEST))

    def forward(self: object) -> None:
        torch.empty(1 << 50)

    with (
        pytest.raises(NetError, match=r"^layer 'in': there isn't enough memory for \d+ bytes more; use a smaller"),
        running(built),
    ):
        forward(built.layers[0])


def test_sizes_beyond_64_bits_are_reported_with_the_layer() -> None:
    text = """
layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 1 dim: 3 dim: 8 dim: 8 } } }
layer { name: "conv" type: "Convolution" bottom: "x" top: "y"
  convolution_param { num_output: 1 kernel_size: 3 pad: 4000000000 } }
"""
    with pytest.raises(NetError, match=r"^layer 'conv': there isn't enough memory; use a smaller batch$"):
        Net(from_text(text, pb.NetParameter))


def test_other_errors_do_not_mention_memory() -> None:
    assert memory_shortage(RuntimeError("the sizes don't match")) is None
    assert memory_shortage(ImportError("No module named 'torch'")) is None
    assert memory_shortage(MemoryError("Unable to allocate 3 GiB")) is not None


def test_a_library_that_does_not_fit_into_memory_is_reported() -> None:
    problem = ImportError("libtorch_cpu.so: failed to map segment from shared object")
    assert "isn't enough memory to load a library; allow" in str(memory_shortage(problem))
