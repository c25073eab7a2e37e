"""Nets described in Python, also with the names of the SparkNet paper. Errors name the line of the program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl import (
    ActivationLayer,
    Average,
    Constructor,
    ConvLayer,
    Convolution,
    InnerProduct,
    LinearLayer,
    Max,
    Net,
    NetParams,
    Pooling,
    PoolLayer,
    RDDLayer,
    ReLU,
    SoftmaxWithLoss,
    Stochastic,
    TanH,
)
from netdsl.errors import GraphError, NetError, ShapeError, UnknownLayerError

DATA = RDDLayer("data", shape=[2, 3, 8, 9])


def test_a_net_is_its_name_layers_and_settings() -> None:
    params = NetParams("n", DATA, ReLU("r", ["data"]), force_backward=True, state={"stage": "a"})
    assert params.message == from_text(
        'name: "n" force_backward: true state { stage: "a" } '
        'layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 2 dim: 3 dim: 8 dim: 9 } } } '
        'layer { name: "r" type: "ReLU" bottom: "data" top: "r" }',
        pb.NetParameter,
    )
    assert from_text(params.prototxt(), pb.NetParameter) == params.message
    assert params == NetParams("n", DATA, ReLU("r", ["data"]), force_backward=True, state={"stage": "a"})
    assert params != NetParams("m", DATA, ReLU("r", ["data"]), force_backward=True, state={"stage": "a"})


def test_a_net_without_a_name_has_none() -> None:
    assert not NetParams(DATA).message.HasField("name")
    assert NetParams("", DATA).message.HasField("name")


@pytest.mark.parametrize(
    ("layers", "kind", "message"),
    [
        ([Convolution("c", ["data"], num_output=4, kernel_size=11)], ShapeError, "layer 'c'"),
        ([Pooling("p", ["data"], kernel_size=2, pad=3)], NetError, "layer 'p': pad 3 isn't smaller than kernel 2"),
        ([InnerProduct("i", ["data"], num_output=2, axis=7)], ShapeError, "layer 'i': axis 7 doesn't exist"),
        ([ReLU("r", ["dato"])], GraphError, "layer 'r': bottom 'dato' isn't a top .*; did you mean 'data'[?]"),
        (
            [ReLU("r", ["data"]), ReLU("q", ["data"], tops=["r"])],
            GraphError,
            "layer 'q': top 'r' is also a top of layer 'r'",
        ),
        ([Constructor("Convolutoin")("c", ["data"])], UnknownLayerError, "'Convolutoin' .*mean Convolution[?]"),
    ],
)
def test_layers_that_do_not_fit_are_an_error_at_once(
    layers: list[pb.LayerParameter], kind: type[NetError], message: str
) -> None:
    with pytest.raises(kind, match=message):
        NetParams("n", DATA, *layers)


@pytest.mark.parametrize(
    ("layers", "settings", "message"),
    [
        ([DATA, [DATA]], {}, r"net 'n': layer number 2 is a list, not a layer; write \* before it"),
        ([ReLU], {}, "net 'n': layer number 1 is a Constructor, not a layer"),
        (
            [DATA],
            {"force_backwards": True},
            "net 'n': there is no setting 'force_backwards'; did you mean force_backward",
        ),
    ],
)
def test_arguments_that_are_not_layers_or_settings_are_refused(
    layers: list[Any], settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(NetError, match=message):
        NetParams("n", *layers, **settings)


def test_the_network_of_the_sparknet_paper_is_built() -> None:
    """The paper's Listing 2, line for line."""
    batchsize = 64
    params = NetParams(
        RDDLayer("data", shape=[batchsize, 1, 28, 28]),
        RDDLayer("label", shape=[batchsize, 1]),
        ConvLayer("conv1", ["data"], kernel=(5, 5), num_filters=20),
        PoolLayer("pool1", ["conv1"], pool=Max, kernel=(2, 2), stride=(2, 2)),
        ConvLayer("conv2", ["pool1"], kernel=(5, 5), num_filters=50),
        PoolLayer("pool2", ["conv2"], pool=Max, kernel=(2, 2), stride=(2, 2)),
        LinearLayer("ip1", ["pool2"], num_outputs=500),
        ActivationLayer("relu1", ["ip1"], activation=ReLU),
        LinearLayer("ip2", ["relu1"], num_outputs=10),
        SoftmaxWithLoss("loss", ["ip2", "label"]),
    )
    blobs = {name: [array.shape for array in arrays] for name, arrays in Net(params).get_weights().items()}
    assert blobs == {
        "conv1": [(20, 1, 5, 5), (20,)],
        "conv2": [(50, 20, 5, 5), (50,)],
        "ip1": [(500, 800), (500,)],
        "ip2": [(10, 500), (10,)],
    }
    assert "loss" in Net(params, phase="TRAIN").module.outputs


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (
            ConvLayer("c", ["d"], kernel=5, num_filters=3, stride=2, pad=1, bias_term=False),
            'name: "c" type: "Convolution" bottom: "d" top: "c" '
            "convolution_param { num_output: 3 bias_term: false pad: 1 kernel_size: 5 stride: 2 }",
        ),
        (
            ConvLayer("c", "d", kernel=(5, 7), num_filters=3, stride=(2, 1), pad=[0, 3]),
            'name: "c" type: "Convolution" bottom: "d" top: "c" convolution_param '
            "{ num_output: 3 kernel_h: 5 kernel_w: 7 stride_h: 2 stride_w: 1 pad_h: 0 pad_w: 3 }",
        ),
        (
            PoolLayer("p", ["d"], pool=Average, kernel=(3, 2)),
            'name: "p" type: "Pooling" bottom: "d" top: "p" pooling_param { pool: AVE kernel_h: 3 kernel_w: 2 }',
        ),
        (
            PoolLayer("p", ["d"], pool="STOCHASTIC", kernel=[3]),
            'name: "p" type: "Pooling" bottom: "d" top: "p" pooling_param { pool: STOCHASTIC kernel_size: 3 }',
        ),
        (
            ActivationLayer("t", ["d"], activation=TanH, in_place=True),
            'name: "t" type: "TanH" bottom: "d" top: "d"',
        ),
    ],
)
def test_friendly_names_make_caffes_layers(made: pb.LayerParameter, text: str) -> None:
    assert made == from_text(text, pb.LayerParameter)
    assert Stochastic == pb.PoolingParameter.STOCHASTIC


@pytest.mark.parametrize("kernel", [(), (1, 2, 3)])
def test_a_window_has_one_size_or_two(kernel: tuple[int, ...]) -> None:
    with pytest.raises(NetError, match=r"layer 'c': kernel must be one number or \(height, width\)"):
        ConvLayer("c", ["d"], kernel=kernel, num_filters=3)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (
            lambda: ConvLayer("c", ["d"], kernel=5, num_filter=3),
            "ConvLayer needs num_filters; write num_filters for 'num_filter'",
        ),
        (
            lambda: ConvLayer("c", ["d"], kernel=5, num_output=3),
            "ConvLayer needs num_filters; write num_filters for 'num_output'",
        ),
        (
            lambda: ConvLayer("c", ["d"], num_filters=3, kernel_size=5),
            "ConvLayer needs kernel; write kernel for 'kernel_size'",
        ),
        (lambda: ConvLayer("c", ["d"], kernel=5), "ConvLayer needs num_filters$"),
        (lambda: PoolLayer("c", ["d"], stride=5), "PoolLayer needs kernel$"),
        (
            lambda: LinearLayer("c", ["d"], num_ouputs=5),
            "LinearLayer needs num_outputs; write num_outputs for 'num_ouputs'",
        ),
        (lambda: RDDLayer("c"), "RDDLayer needs shape$"),
        (
            lambda: ActivationLayer("c", ["d"], activation="relu"),
            "activation must be a layer type, such as ReLU, not 'relu'",
        ),
    ],
)
def test_a_missing_or_misspelt_setting_is_reported_with_the_layer(make: Callable[[], object], why: str) -> None:
    with pytest.raises(NetError, match=f"^layer 'c': {why}"):
        make()


@pytest.mark.parametrize("name", ["num_filters", "num_filter", "num_outputs", "num_ouput"])
def test_caffes_name_is_suggested_for_the_papers_name(name: str) -> None:
    with pytest.raises(
        NetError, match=f"layer 'c' of type Convolution: there is no setting '{name}'; did you mean num_output"
    ):
        Convolution("c", ["d"], **{name: 3})


def test_a_notebook_shows_a_table_of_the_layers_with_escaped_names() -> None:
    params = NetParams("<net>", RDDLayer("data", shape=[2, 4]), LinearLayer("<ip>", ["data"], num_outputs=3))
    html = params._repr_html_()
    assert "&#x27;&lt;net&gt;&#x27;, TEST, 2 layers, 15 weights" in html
    cells = ("&lt;ip&gt;", "InnerProduct", "data", "&lt;ip&gt; 2x3", "15")
    assert "".join(f"<td>{cell}</td>" for cell in cells) in html
