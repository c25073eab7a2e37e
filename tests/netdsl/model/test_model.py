"""The facts that a model knows about itself."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl.errors import WeightsError
from netdsl.model.model import Model
from netdsl.net.graph import Phase
from tests.pretend_gpu import GPU, pretend_gpu

NET = from_text(
    """
    name: "net"
    layer { name: "x" type: "Input" top: "x" input_param { shape { dim: 1 dim: 6 } } }
    layer { name: "one" type: "InnerProduct" bottom: "x" top: "one" param { name: "w" }
      inner_product_param { num_output: 4 bias_term: false } }
    layer { name: "two" type: "InnerProduct" bottom: "one" top: "two" param { name: "w" share_mode: PERMISSIVE }
      inner_product_param { num_output: 6 bias_term: false } }
    layer { name: "bn" type: "BatchNorm" bottom: "two" top: "bn" }
    """,
    pb.NetParameter,
)
SHARED = np.arange(24, dtype=np.float32).reshape(4, 6)
WEIGHTS = {
    "one": [SHARED],
    "two": [SHARED.reshape(6, 4)],
    "bn": [np.zeros(6, np.float32), np.ones(6, np.float32), np.ones(1, np.float32)],
}


def test_a_module_computes_with_the_models_weights() -> None:
    x = np.arange(6, dtype=np.float32)
    made = Model(NET, WEIGHTS).module(Phase.TEST)(torch.from_numpy(x[None]))["bn"]
    wanted = SHARED.reshape(6, 4) @ (SHARED @ x) / np.sqrt(1 + 1e-5)  # BatchNorm adds 1e-5 to the variance
    assert np.allclose(made.detach().numpy(), wanted, rtol=1e-6)  # single precision


def test_a_module_is_on_its_device() -> None:
    with pretend_gpu():
        module = Model(NET, WEIGHTS).module(Phase.TEST, GPU)
        assert {tensor.device for tensor in (*module.parameters(), *module.buffers())} == {GPU}
        assert module(torch.ones(1, 6, device=GPU))["bn"].any()


def test_only_modules_have_memory_and_each_its_own() -> None:
    model = Model(NET, WEIGHTS)
    first, second = model.module(Phase.TEST), model.module(Phase.TEST)
    first.double()
    with torch.no_grad():
        for blob in first.parameters():
            blob.zero_()
    one, two, bn = second.built.layers[1:]
    assert one.weight.dtype is torch.float32 and one.weight.any()
    assert two.weight.data_ptr() == one.weight.data_ptr()  # the layers share it too
    assert bn.variance.all()
    kept = model.layers(Phase.TEST)
    assert all(blob.is_meta for layer in kept.layers for blob in layer.blob_tensors())
    assert kept is model.layers(Phase.TEST)


def test_modules_do_not_share_state_between_batches() -> None:
    text = """
    layer { name: "x" type: "Input" top: "x" top: "cont"
      input_param { shape { dim: 2 dim: 1 dim: 1 } shape { dim: 2 dim: 1 } } }
    layer { name: "rnn" type: "RNN" bottom: "x" bottom: "cont" top: "y" recurrent_param { num_output: 1 } }
    """
    one = np.ones((1, 1), np.float32)
    model = Model(from_text(text, pb.NetParameter), {"rnn": [one, one[0], one, one, one[0]]})
    first = model.module(Phase.TEST)
    inputs = torch.ones(2, 1, 1), torch.ones(2, 1)
    before, after = first(*inputs)["y"], first(*inputs)["y"]
    assert not torch.equal(before, after)
    assert torch.equal(model.module(Phase.TEST)(*inputs)["y"], before)


def test_a_layer_without_weights_is_reported() -> None:
    with pytest.raises(WeightsError, match="there are no weights for layer 'bn'; name the file that contains them"):
        Model(NET, {"one": [SHARED]}).module(Phase.TEST)
    with pytest.raises(WeightsError, match="net 'net' has no weights here; name their files"):
        Model(NET).module(Phase.TEST)


def test_a_notebook_shows_the_error_of_a_net_that_can_not_be_built() -> None:
    net = pb.NetParameter(name="<net>")
    net.layer.add(name="<odd>", type="<Nothing>", top=["x"])
    html = Model(net)._repr_html_()
    assert "&lt;net&gt;" in html and "&lt;odd&gt;" in html and "<odd>" not in html
