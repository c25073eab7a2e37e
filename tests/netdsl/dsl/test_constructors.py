"""The constructor of every layer type, and the fields of messages as its keyword arguments."""

from __future__ import annotations

import numpy as np
import pytest
from torch import Tensor

import netdsl
from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl import Constructor, NetParams
from netdsl.dsl import layer_types
from netdsl.dsl.constructors import assign
from netdsl.errors import NetError
from netdsl.layer import Layer
from netdsl.layers import LAYERS
from tests.registered import registered


def layer(text: str) -> pb.LayerParameter:
    return from_text(text, pb.LayerParameter)


def test_constructors_accept_the_types_own_settings_and_common_ones() -> None:
    made = netdsl.Convolution("c", ["d"], num_output=3, kernel_size=[5, 7], param={"lr_mult": 0}, phase="TRAIN")
    assert made == layer(
        'name: "c" type: "Convolution" bottom: "d" top: "c" param { lr_mult: 0 } phase: TRAIN '
        "convolution_param { num_output: 3 kernel_size: 5 kernel_size: 7 }"
    )


def test_the_top_has_the_layers_name_by_default() -> None:
    assert netdsl.Split("s", "x", tops=["a", "b"]) == layer('name: "s" type: "Split" bottom: "x" top: "a" top: "b"')
    assert netdsl.ReLU("r", ["x"], in_place=True) == layer('name: "r" type: "ReLU" bottom: "x" top: "x"')
    assert netdsl.Silence("s", ["x", "y"]) == layer('name: "s" type: "Silence" bottom: "x" bottom: "y"')
    assert netdsl.ReLU("r", "x", tops="y") == layer('name: "r" type: "ReLU" bottom: "x" top: "y"')
    assert netdsl.ReLU(None, "x") == layer('type: "ReLU" bottom: "x"')


def test_bvlcs_setting_wins_over_a_layers_setting_of_the_same_name() -> None:
    assert netdsl.Convolution("c", engine="CAFFE").convolution_param.engine == pb.ConvolutionParameter.CAFFE
    both = netdsl.Convolution("c", engine="CAFFE", layer={"engine": "MKL2017"})
    assert (both.engine, both.convolution_param.engine) == ("MKL2017", pb.ConvolutionParameter.CAFFE)
    assert netdsl.Split("s", engine="MKL2017").engine == "MKL2017"
    assert netdsl.Data("d", transform_param={"crop_size": 4}).transform_param.crop_size == 4
    assert netdsl.ELU("e", elu_param={"lambda": 3}).elu_param == pb.ELUParameter(**{"lambda": 3})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"num_outputs": 3},
            "layer 'c' of type Convolution: there is no setting 'num_outputs'; did you mean num_output[?]",
        ),
        ({"num_output": "3"}, "layer 'c' of type Convolution: num_output must be a whole number of 0 or more, not '3'"),
        ({"top": "x"}, "layer 'c' of type Convolution: 'top' isn't a setting; set it with tops="),
        ({"type": "ReLU"}, "layer 'c' of type Convolution: 'type' isn't a setting; set it with the function"),
        ({"tops": ["a"], "in_place": True}, "layer 'c' of type Convolution: tops and in_place can't be combined"),
        ({"in_place": True}, "layer 'c' of type Convolution: in_place needs a bottom"),
        ({"bottoms": [pb.LayerParameter()]}, "bottoms must be names of blobs, not a LayerParameter"),
    ],
)
def test_a_wrong_call_is_reported_with_its_layer(settings: dict[str, object], message: str) -> None:
    with pytest.raises(NetError, match=message):
        netdsl.Convolution("c", **settings)  # type: ignore[arg-type]


def test_every_layer_type_accepts_every_field_of_its_message() -> None:
    assert set(layer_types.__all__) == set(LAYERS)
    for name, kind in LAYERS.items():
        made = getattr(netdsl, name)("x", ["a", "b"])
        assert (made.type, list(made.bottom)) == (name, ["a", "b"])
        if kind.config is not None:
            field = getattr(netdsl, name).field
            assert type(getattr(made, field)) is kind.config


def test_a_users_own_type_has_the_settings_of_the_message_that_it_names() -> None:
    class Twice(Layer):
        """Doubles everything."""

        config = pb.PowerParameter

        def forward(self, x: Tensor) -> Tensor:
            return 2 * x

    twice = Constructor("Twice", Twice)
    made = twice("t", ["x"], scale=3)
    assert made == layer('name: "t" type: "Twice" bottom: "x" top: "t" power_param { scale: 3 }')
    with registered(Twice=Twice):
        NetParams(netdsl.RDDLayer("x", [2, 3]), made)
        assert netdsl.Twice("t", ["x"], scale=3) == made
    assert twice.__doc__ == Twice.__doc__


def test_a_misspelled_type_is_reported_with_a_suggestion() -> None:
    with pytest.raises(AttributeError, match=r"there is no layer type 'Convolutoin'; did you mean Convolution[?]"):
        netdsl.Convolutoin  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(AttributeError, match=r"did you mean ReLU[?]"):
        netdsl.Relu  # type: ignore[attr-defined]  # noqa: B018
    assert {"Convolution", "Net", "ConvLayer"} <= set(dir(netdsl))


def test_values_of_every_kind_are_set() -> None:
    layer = pb.LayerParameter()
    shape = pb.BlobShape(dim=[2, 3])
    settings = {
        "name": "c",
        "loss_weight": [1, 0.5],
        "param": [{"lr_mult": 2}, {"name": "w", "share_mode": "PERMISSIVE"}],
        "include": {"phase": "TRAIN"},
        "phase": pb.TEST,
        "debug": True,
        "pooling_param": {},
        "convolution_param": {"num_output": np.int64(7), "kernel_size": 5, "weight_filler": pb.FillerParameter(std=3)},
        "input_param": {"shape": [shape, {"dim": (4,)}]},
    }
    assign(layer, settings, "a layer")
    assert layer == pb.LayerParameter(
        name="c",
        loss_weight=[1, 0.5],
        param=[pb.ParamSpec(lr_mult=2), pb.ParamSpec(name="w", share_mode=pb.ParamSpec.PERMISSIVE)],
        include=[pb.NetStateRule(phase=pb.TRAIN)],
        phase=pb.TEST,
        debug=True,
        pooling_param=pb.PoolingParameter(),
        convolution_param=pb.ConvolutionParameter(
            num_output=7, kernel_size=[5], weight_filler=pb.FillerParameter(std=3)
        ),
        input_param=pb.InputParameter(shape=[shape, pb.BlobShape(dim=[4])]),
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"pol": "MAX"}, "p: there is no setting 'pol'; did you mean pool?"),
        ({"zzz": 1}, "p: there is no setting 'zzz'"),
        ({"pool": "max"}, "p: pool must be MAX or AVE or .*, not 'max'; did you mean MAX?"),
        ({"pool": 99}, "p: pool must be MAX or AVE or .*, not 99"),
        ({"pad": "2"}, "p: pad must be a whole number of 0 or more, not '2'"),
        ({"pad": -1}, "p: pad must be a whole number of 0 or more, not -1"),
        ({"pad": [1, 2]}, "p: pad must be a single value, not 2 values"),
        ({"padding": 1}, "p: there is no setting 'padding'; did you mean pad?"),
        ({"pad_3d": [1, 0.5]}, "p: pad_3d must be a whole number of 0 or more, not 0.5"),
        ({"global_pooling": "yes"}, "p: global_pooling must be True or False, not 'yes'"),
        ({"blobs_lr": "x"}, "p: blobs_lr must be a number, not 'x'"),
    ],
)
def test_data_that_do_not_fit_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(NetError, match=f"^{message.replace('?', '[?]')}(; .*)?$"):
        assign(pb.PoolingParameter(), settings, "p")


def test_wrong_values_inside_a_dict_are_reported_with_their_path() -> None:
    for filler, message in {
        "xavier": "c: weight_filler must be a dict of settings, not 'xavier'",
        "{'typ': 1}": "c: weight_filler: there is no setting 'typ'; did you mean type[?]",
        "{'type': 1}": "c: weight_filler: type must be text, not 1",
    }.items():
        value = {"typ": 1} if "typ'" in filler else {"type": 1} if "type'" in filler else filler
        with pytest.raises(NetError, match=f"^{message}(; .*)?$"):
            assign(pb.ConvolutionParameter(), {"weight_filler": value}, "c")


def test_a_message_of_another_kind_is_refused_as_settings() -> None:
    with pytest.raises(NetError, match="must be a dict of settings"):
        assign(pb.ConvolutionParameter(), {"weight_filler": pb.BlobShape()}, "c")
