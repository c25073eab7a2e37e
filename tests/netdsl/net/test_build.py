"""Building layers from a graph: types, shapes, shared parameters, and errors that name the layer."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl.allowed_modules import PYTHON_LAYERS
from netdsl.errors import NetError, ShapeError, UnknownLayerError, user_code_problem
from netdsl.layer import Layer
from netdsl.net.build import Built, build, reshape, running, set_batch
from netdsl.net.graph import Phase, resolve
from netdsl.net.module import NetModule
from tests.registered import registered

INPUT = """layer { name: "in" type: "Input" top: "x" top: "z"
    input_param { shape { dim: 2 dim: 6 } shape { dim: 2 dim: 4 } } }\n"""


def built(text: str, phase: Phase = Phase.TEST) -> Built:
    return build(resolve(from_text(INPUT + text, pb.NetParameter), phase))


def layer(kind: str, more: str, *, name: str = "one", bottom: str = "x", top: str = "y") -> str:
    return f"layer {{ name: '{name}' type: '{kind}' bottom: '{bottom}' top: '{top}' {more} }}\n"


IP = "inner_product_param { num_output: 4 weight_filler { type: 'gaussian' std: 1 } }"


def test_shapes_can_be_inferred_repeatedly():
    net = built(layer("InnerProduct", IP))
    assert net.shapes == [(2, 6), (2, 4), (2, 4)]
    assert all(parameter.is_meta for parameter in net.layers[1].parameters())
    reshape(net, {0: (5, 6)})
    assert net.shapes == [(5, 6), (2, 4), (5, 4)]
    with pytest.raises(ShapeError, match="layer 'one'"):
        reshape(net, {0: (5, 7)})


def test_all_unknown_types_are_reported_at_once_with_suggestions():
    text = layer("Pooling2", "") + "".join(layer("Foo", "", name=f"foo{n}", top=f"f{n}") for n in range(5))
    with pytest.raises(UnknownLayerError) as raised:
        built(text)
    assert str(raised.value).startswith(
        "unknown layer type 'Pooling2' (layers one, did you mean Pooling?); 'Foo' (layers foo0, foo1, foo2 and 2 more"
    )


def test_users_own_types_are_built():
    class TwiceAsWide(Layer):
        def forward(self, x):
            return torch.cat([x, x], 1)

    with registered(Twice=TwiceAsWide):
        assert built(layer("Twice", "")).shapes[-1] == (2, 12)


@pytest.mark.parametrize(
    ("text", "error", "why"),
    [
        (
            layer("InnerProduct", IP + " param { } param { } param { }"),
            NetError,
            "layer 'one': there are 3 param messages for 2 blobs",
        ),
        (layer("Flatten", "", top="x"), NetError, "layer 'one': a layer of type Flatten can't work in place"),
        (layer("Eltwise", "bottom: 'z'"), ShapeError, "layer 'one'"),
        (layer("Concat", "top: 'w'"), NetError, "layer 'one': a layer of type Concat must have 1 top, not 2"),
        (layer("Slice", "top: 'v' slice_param { slice_point: 99 }"), NetError, "layer 'one'"),
    ],
)
def test_mismatched_shapes_are_reported_with_their_layer(text, error, why):
    with pytest.raises(error, match=why):
        built(text)


def test_an_empty_top_is_refused_at_build_time_but_not_an_empty_batch():
    with pytest.raises(
        ShapeError, match=r"layer 'none': top 'none' has shape \[0, 3\], which has no values; make every"
    ):
        built("layer { name: 'none' type: 'Input' top: 'none' input_param { shape { dim: 0 dim: 3 } } }")
    net = built(layer("InnerProduct", IP))
    set_batch(net, 0)
    assert net.shapes[-1] == (0, 4)


def test_a_gpus_error_about_an_index_becomes_a_readable_message():
    net = built(layer("InnerProduct", IP))

    def forward(self: object) -> None:
        raise RuntimeError("CUDA error: device-side assert triggered\nCUDA kernel errors might be ...")

    why = "^layer 'one', or a layer before it: a label or an index is out of range; run the net on a CPU, where"
    with pytest.raises(NetError, match=why), running(net):
        forward(net.layers[1])


def test_a_loss_without_a_top_gets_one():
    net = built("layer { name: 'loss' type: 'EuclideanLoss' bottom: 'x' bottom: 'x' }")
    assert net.shapes[-1] == () and net.graph.outputs == [1]


def second(settings: str, param: str) -> str:
    return layer("InnerProduct", f"inner_product_param {{ {settings} }} {param}", name="two", bottom="z", top="w")


W = "param { name: 'w' }"


def test_parameters_with_the_same_name_are_shared():
    text = layer("InnerProduct", IP + "param { name: 'w' } param { lr_mult: 0 }")
    text += layer("InnerProduct", IP + W, name="two", top="w")
    net = NetModule(built(text)).allocate()
    one, two = net.built.layers[1:]
    assert one.weight is two.weight and one.bias is not two.bias
    assert len(list(net.parameters())) == 3
    assert one.weight.requires_grad and two.bias.requires_grad and not one.bias.requires_grad
    tops = net(torch.ones(2, 6), torch.ones(2, 4))
    assert tops["y"].any() and torch.equal(tops["y"], tops["w"])


@pytest.mark.parametrize(("name", "mine"), [("lr_mult", 2), ("decay_mult", 0)])
def test_layers_that_share_a_parameter_must_agree_on_its_multipliers(name, mine):
    def shared(first: str, last: str) -> Built:
        text = "".join(
            layer("InnerProduct", f"{IP} param {{ name: 'w' {each} }}", name=f"ip{index}", top=f"ip{index}")
            for index, each in enumerate((first, "", last))
        )
        return built(text)

    shared(f"{name}: 3", f"{name}: 3")
    shared("", f"{name}: 3")
    why = f"layer 'ip2': {name} of the parameter 'w', which it shares with layer 'ip0', is 3 there and {mine} here"
    with pytest.raises(NetError, match=why):
        shared(f"{name}: 3", f"{name}: {mine}")


def test_a_permissive_layer_uses_a_parameter_in_its_own_shape():
    permissive = "param { name: 'w' share_mode: PERMISSIVE }"
    text = layer("InnerProduct", IP + W) + second("num_output: 6 bias_term: false", permissive)
    net = NetModule(built(text)).allocate()
    one, two = net.built.layers[1:]
    assert two.weight.shape == (6, 4) and torch.equal(two.weight.flatten(), one.weight.flatten())
    net.double()
    with torch.no_grad():
        one.weight.fill_(3)
    assert (two.weight == 3).all() and two.weight.dtype is torch.double


@pytest.mark.parametrize(("mode", "outputs"), [("STRICT", 6), ("PERMISSIVE", 5)])
def test_mismatched_parameters_with_the_same_name_are_refused(mode, outputs):
    text = layer("InnerProduct", IP + W) + second(f"num_output: {outputs}", f"param {{ name: 'w' share_mode: {mode} }}")
    why = rf"layer 'two': the parameter .* layer 'one' has shape \[4, 6\] there and \[{outputs}, 4\] here"
    with pytest.raises(ShapeError, match=why):
        built(text)


CODE = """
from netdsl.pycaffe.python_layer import Layer


def scale(settings):
    return settings["scale"]


class Faulty(Layer):
    def setup(self, bottom, top):
        if self.param_str == "setup":
            self.scale = scale({})

    def reshape(self, bottom, top):
        top[0].reshape(*bottom[0].shape)
        assert self.param_str != "reshape", "no\\nshape"

    def forward(self, bottom, top):
        bottom[0].data.reshape(5, 7)
"""


@pytest.fixture
def own_layers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "faulty_layers.py").write_text(CODE)
    monkeypatch.syspath_prepend(tmp_path)
    with PYTHON_LAYERS.allowing({"faulty_layers": ""}):
        yield
    sys.modules.pop("faulty_layers", None)


def faulty(where: str) -> str:
    return layer("Python", f"python_param {{ module: 'faulty_layers' layer: 'Faulty' param_str: '{where}' }}")


@pytest.mark.usefixtures("own_layers")
@pytest.mark.parametrize(
    ("where", "cause", "why"),
    [
        ("setup", KeyError, "layer 'one' (faulty_layers.Faulty), faulty_layers.py:6: KeyError: 'scale'"),
        ("reshape", AssertionError, "layer 'one' (faulty_layers.Faulty), faulty_layers.py:16: AssertionError: no"),
    ],
)
def test_an_exception_in_a_users_layer_passes_with_the_layers_line(where, cause, why):
    with pytest.raises(cause) as raised:
        built(faulty(where))
    assert user_code_problem(raised.value) == why


@pytest.mark.usefixtures("own_layers")
def test_an_exception_in_a_users_layer_at_run_time_passes():
    net = NetModule(built(faulty("forward"))).allocate()
    with pytest.raises(ValueError, match=r"^cannot reshape") as raised, running(net.built):
        net(torch.ones(2, 6), torch.ones(2, 4))
    assert raised.value.__notes__ == ["layer 'one' (faulty_layers.Faulty), faulty_layers.py:19"]


def test_errors_at_run_time_are_reported_with_their_layer():
    net = NetModule(built(layer("InnerProduct", IP))).allocate()
    with (
        pytest.raises(
            ShapeError,
            match=r"layer 'one': the weights are for 6 values per item, but .* has 7; use weights of this net",
        ),
        running(net.built),
    ):
        net(torch.ones(2, 7), torch.ones(2, 4))
    with pytest.raises(NetError, match=r"^the inputs of this net are"), running(net.built):
        net(torch.ones(2, 7))


def test_bugs_in_netdsl_keep_their_exception_type():
    class Wrong(Layer):
        def forward(self, x):
            return x.not_there

    with registered(Wrong=Wrong), pytest.raises(AttributeError):
        built(layer("Wrong", ""))
    net = NetModule(built(layer("ReLU", "")))
    with pytest.raises(KeyError), running(net.built):
        raise KeyError
