"""Keyword arguments put into messages."""

from __future__ import annotations

import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from netdsl.dsl.assign import assign
from netdsl.errors import NetError


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
        ({"pool": "max"}, "p: pool takes MAX or AVE or .*, not 'max'; did you mean MAX?"),
        ({"pool": 99}, "p: pool takes MAX or AVE or .*, not 99"),
        ({"pad": "2"}, "p: pad takes a whole number of 0 or more, not '2'"),
        ({"pad": -1}, "p: pad takes a whole number of 0 or more, not -1"),
        ({"pad": [1, 2]}, "p: pad takes one value, not 2"),
        ({"pad": None}, "p: pad takes a whole number of 0 or more, not None"),
        ({"pad_3d": [1, 0.5]}, "p: pad_3d takes a whole number of 0 or more, not 0.5"),
        ({"global_pooling": "yes"}, "p: global_pooling takes True or False, not 'yes'"),
        ({"blobs_lr": "x"}, "p: blobs_lr takes a number, not 'x'"),
    ],
)
def test_what_does_not_fit_is_told(settings: dict[str, object], message: str) -> None:
    with pytest.raises(NetError, match=f"^{message.replace('?', '[?]')}$"):
        assign(pb.PoolingParameter(), settings, "p")


def test_what_does_not_fit_inside_a_dict_is_told_with_its_way() -> None:
    for filler, message in {
        "xavier": "c: weight_filler takes a dict of settings, not 'xavier'",
        "{'typ': 1}": "c: weight_filler: there is no setting 'typ'; did you mean type[?]",
        "{'type': 1}": "c: weight_filler: type takes text, not 1",
    }.items():
        value = {"typ": 1} if "typ'" in filler else {"type": 1} if "type'" in filler else filler
        with pytest.raises(NetError, match=f"^{message}$"):
            assign(pb.ConvolutionParameter(), {"weight_filler": value}, "c")


def test_a_message_of_another_kind_is_no_settings() -> None:
    with pytest.raises(NetError, match="takes a dict of settings"):
        assign(pb.ConvolutionParameter(), {"weight_filler": pb.BlobShape()}, "c")
