"""Python layers: a user's own code, which runs only if it is allowed."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import torch

from caffe_proto import caffe_pb2 as pb
from caffe_proto.text.prototxt import from_text
from netdsl.allowed_modules import PYTHON_LAYERS
from netdsl.errors import NetError
from netdsl.layers import python
from netdsl.model import Model
from netdsl.net.graph import Phase
from netdsl.net.module import NetModule
from tests.nets import net_module

CODE = """
import numpy as np
from netdsl.pycaffe.python_layer import Layer


class Scaled(Layer):
    '''Multiplies by its own blob, one number for a channel.'''

    def setup(self, bottom, top):
        self.power = int(self.param_str)
        self.blobs.add_blob(bottom[0].channels)
        self.blobs[0].data[...] = np.arange(1, bottom[0].channels + 1)

    def reshape(self, bottom, top):
        top[0].reshape(*bottom[0].shape)

    def forward(self, bottom, top):
        assert bottom[0].num == bottom[0].data.shape[0] and bottom[0].width == 1
        top[0].data[...] = bottom[0].data ** self.power * self.blobs[0].data[:, None]

    def backward(self, top, propagate_down, bottom):
        self.blobs[0].diff[...] += (top[0].diff * bottom[0].data ** self.power).sum((0, 2))
        if propagate_down[0]:
            slope = self.power * bottom[0].data ** (self.power - 1)
            bottom[0].diff[...] = top[0].diff * slope * self.blobs[0].data[:, None]


class Counter(Layer):
    '''Has no bottom, and counts in its own blob.'''

    def setup(self, bottom, top):
        self.blobs.add_blob(1)

    def reshape(self, bottom, top):
        top[0].reshape(2, 3)
        top[1].reshape(1)

    def forward(self, bottom, top):
        self.blobs[0].data[...] += 1
        top[0].data[...] = self.blobs[0].data
        top[1].data[...] = self.phase


class Half(Layer):
    pass
"""
ONE = """layer {{ name: 'data' type: 'Input' top: 'x' input_param {{ shape {{ dim: 2 dim: 3 dim: 4 }} }} }}
    layer {{ name: 'own' type: 'Python' bottom: 'x' top: 'y' python_param {{
        module: 'own_layers' layer: '{}' param_str: '2' }} }}"""


@pytest.fixture(autouse=True)
def own_layers(tmp_path, monkeypatch):
    (tmp_path / "own_layers.py").write_text(CODE)
    (tmp_path / "old_layers.py").write_text("import caffe\n" + CODE.replace("(Layer)", "(caffe.Layer)"))
    monkeypatch.syspath_prepend(tmp_path)
    with PYTHON_LAYERS.allowing(dict.fromkeys(("own_layers", "old_layers", "no_layers"), "")):
        yield
    for name in ("own_layers", "old_layers"):
        sys.modules.pop(name, None)


def test_values_shapes_and_gradients_come_from_the_python_layer():
    module = net_module(ONE.format("Scaled"))
    assert module.built.shapes == [(2, 3, 4), (2, 3, 4)]
    module.double()
    layer = module.layers["own"]
    assert layer.blob_names() == ["blob0"]
    assert layer.blob0.tolist() == [1, 2, 3]
    x = torch.rand(2, 3, 4, dtype=torch.double, requires_grad=True)
    np.testing.assert_allclose(module(x)["y"].detach(), x.detach() ** 2 * torch.tensor([1, 2, 3])[:, None])
    assert torch.autograd.gradcheck(lambda x, _: module(x)["y"], (x, layer.blob0))
    assert module(torch.rand(5, 3, 4).double())["y"].shape == (5, 3, 4)


def test_gradients_belong_to_their_forward_pass():
    module = net_module(ONE.format("Scaled"))
    one, other = torch.full((2, 3, 4), 3.0, requires_grad=True), torch.full((2, 3, 4), 5.0)
    first = module(one)["y"]
    module(other)
    first.sum().backward()
    assert one.grad[0, :, 0].tolist() == [6, 12, 18]


def test_own_blobs_keep_values_that_a_layer_writes():
    text = (
        "layer { name: 'own' type: 'Python' top: 'y' top: 'z' python_param { module: 'own_layers' layer: 'Counter' } }"
    )
    module = net_module(text, Phase.TRAIN)
    assert module()["y"].tolist() == [[1.0] * 3] * 2
    assert module()["y"].tolist() == [[2.0] * 3] * 2
    assert module()["z"].tolist() == [pb.TRAIN]
    assert module.layers["own"].blob0.tolist() == [3]


def test_each_module_of_a_model_has_its_own_objects():
    built = Model(from_text(ONE.format("Scaled"), pb.NetParameter)).layers(Phase.TEST)
    first, second = (NetModule(built.with_own_blobs()).allocate() for _ in range(2))
    assert first.layers["own"].user is not second.layers["own"].user
    x = torch.rand(2, 3, 4)
    for module in (first, second):
        np.testing.assert_allclose(module(x)["y"].detach(), x**2 * torch.tensor([1, 2, 3])[:, None], rtol=1e-6)


def test_a_module_must_be_allowed():
    text = ONE.format("Scaled").replace("own_layers", "strange_layers")
    why = r"layer 'own': the layer runs Python code from module 'strange_layers'; .* `--allow-python strange_layers`"
    with pytest.raises(NetError, match=why):
        net_module(text)
    assert "strange_layers" not in sys.modules


def test_a_module_can_be_allowed_by_name(tmp_path):
    (tmp_path / "named_layers.py").write_text(CODE)
    python.allowed.add("named_layers")
    try:
        assert net_module(ONE.format("Scaled").replace("own_layers", "named_layers"))(torch.ones(2, 3, 4))
    finally:
        python.allowed.remove("named_layers")
        del sys.modules["named_layers"]


def test_only_a_class_is_a_layer():
    with pytest.raises(NetError, match="module 'own_layers' has no class 'np'"):
        net_module(ONE.format("np"))


def test_an_exception_of_the_user_passes_as_it_is():
    broken = ONE.format("Scaled").replace("param_str: '2'", "param_str: 'two'")
    with pytest.raises(ValueError, match="invalid literal for int") as raised:
        net_module(broken)
    assert raised.value.__notes__ == ["layer 'own' (own_layers.Scaled), own_layers.py:10"]


def test_a_missing_class_module_or_method_is_reported():
    with pytest.raises(NetError, match="has no class 'Scale'"):
        net_module(ONE.format("Scale"))
    with pytest.raises(NetError, match=r"layer 'own': module 'no_layers' can't be imported: .*PYTHONPATH"):
        net_module(ONE.format("Scaled").replace("own_layers", "no_layers"))
    with pytest.raises(NetError, match="must name a module and, as layer, a class"):
        net_module(ONE.format(""))
    with pytest.raises(NotImplementedError, match="Half doesn't define reshape"):
        net_module(ONE.format("Half"))


def test_a_module_with_a_missing_import_is_reported(tmp_path):
    (tmp_path / "old_layers.py").write_text("import missing_helper")
    why = r"No module named 'missing_helper'; install missing_helper, or .* `--allow-python missing_helper`"
    with pytest.raises(NetError, match=why):
        net_module(ONE.format("Scaled").replace("own_layers", "old_layers"))


def test_importing_caffe_loads_netdsl_if_caffe_is_missing():
    module = net_module(ONE.format("Scaled").replace("own_layers", "old_layers"))
    assert module(torch.ones(2, 3, 4))["y"][0, :, 0].tolist() == [1, 2, 3]
    import netdsl.pycaffe

    assert sys.modules["caffe"] is netdsl.pycaffe
    assert sys.modules["caffe.proto.caffe_pb2"] is netdsl.pycaffe.proto.caffe_pb2
