"""Every error about a layer begins with its place in the file that the net was read from."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text, read_net, write
from caffe_proto.errors import CaffeError
from caffe_proto.files import CaffeFile
from netdsl import Net
from netdsl.model.opening import open_model
from netdsl.net.graph import GraphError, Phase
from netdsl.solver.settings import open_settings
from netdsl.solver.trainable_net import ModuleNet

INPUT = """# A net whose third line is about to be wrong.
layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 2 dim: 3 dim: 8 dim: 7 } } }
"""


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)

    def path(text: str, name: str = "net.prototxt") -> Path:
        Path(name).write_text(text)
        return Path(name)

    return path


def layer(kind: str, more: str = "", bottom: str = "x") -> str:
    return f"layer {{ name: 'one' type: '{kind}' bottom: '{bottom}' top: 'y' {more} }}\n"


SCORES = "layer { name: 's' type: 'Input' top: 's' input_param { shape { dim: 2 } } } "
SIZE = "layer { name: 'one' type: 'Input' top: 'y' input_param { shape { dim: [2, -1] } } }"


def convolution(settings: str) -> str:
    return layer("Convolution", f"convolution_param {{ {settings} }}")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (layer("ReLU", bottom="xx"), "layer 'one': bottom 'xx' isn't a top of any layer before it; did you mean 'x'?"),
        (
            layer("ReLU").replace("top: 'y'", "top: 'x' top: 'x'"),
            "layer 'one': top 'x' is also a top of the same layer",
        ),
        (layer("ReLU", "include { } exclude { }"), "layer 'one': there are include and exclude rules"),
        (layer("ReLU", "propagate_down: [true, true]"), "layer 'one': there are 2 propagate_down values for 1 bottoms"),
        (layer("Convolutoin"), "unknown layer type 'Convolutoin' (layers one, did you mean Convolution?)"),
        (layer("ReLU").replace("type: 'ReLU'", ""), "layer 'one': the type is missing"),
        (layer("Convolution"), "layer 'one': num_output is missing; set it to 1 or more"),
        (layer("InnerProduct"), "layer 'one': num_output is missing; set it to 1 or more"),
        (convolution("num_output: 0 kernel_size: 3"), "layer 'one': num_output is 0; set it to 1 or more"),
        (
            layer("ReLU", "loss_weight: [1, 2]"),
            "layer 'one': there are 2 loss_weight for 1 tops; give one for each or none",
        ),
        (
            layer("Pooling", "pooling_param { kernel_size: 30 }"),
            "layer 'one': kernel 30 is larger than the bottom, 8 x 7",
        ),
        (
            layer("Deconvolution", "convolution_param { num_output: 1 kernel_size: 3 pad: 5 }"),
            "layer 'one': pad [5, 5] removes the whole top, which has the size [10, 9] without it",
        ),
        (
            SCORES + layer("HingeLoss", "bottom: 's'", bottom="s"),
            "layer 'one': the first bottom must have a score for",
        ),
        (SIZE, "layer 'one': top 'y' has shape [2, -1], but no length can be negative"),
        (
            convolution("num_output: 4 kernel_size: 20 pad: 1"),
            "layer 'one': the kernel covers [20, 20], but the padded bottom has only [10, 9]",
        ),
        (
            convolution("num_output: 4 kernel_size: 3 weight_filler { type: 'xaver' }"),
            "layer 'one': there is no filler",
        ),
        (convolution("num_output: 4 kernel_size: 3").replace("'y'", "'x'"), "layer 'one': a layer of type Convolution"),
        (layer("Slice", "slice_param { axis: 7 }"), "layer 'one': axis 7 doesn't exist"),
    ],
)
def test_an_error_while_building_has_its_place(path, text: str, what: str) -> None:
    with pytest.raises(CaffeError, match=rf"^net\.prototxt:3: {re.escape(what)}"):
        Net(path(INPUT + text))


def test_the_second_layer_of_a_name_has_its_own_line(path) -> None:
    """A net may have two layers with the same name, for two phases."""
    phases = "".join(layer("ReLU", f"include {{ phase: {name} }}", bottom=name) for name in ("TRAIN", "TEST"))
    for phase, line in (("TRAIN", 3), ("TEST", 4)):
        with pytest.raises(GraphError, match=rf"^net\.prototxt:{line}: layer 'one': bottom '{phase}'"):
            Net(path(INPUT + phases), phase=phase)


def test_an_error_at_run_time_has_its_place(path) -> None:
    net = Net(path(INPUT + layer("InnerProduct", "inner_product_param { num_output: 4 }")))
    with pytest.raises(CaffeError, match=r"^net\.prototxt:3: layer 'one': the weights are for 168 values per item"):
        net.forward(x=np.ones((2, 3, 9, 9)))


def test_rows_of_the_wrong_width_are_reported_with_a_place(path) -> None:
    text = INPUT + layer("InnerProduct", "inner_product_param { num_output: 4 } loss_weight: 1")
    net = Net(path(text), phase="TRAIN")
    net.set_training_data([{"x": np.ones((3, 8, 6))}] * 2)
    what = r"layer 'one': the weights are for 168 values .* has 144; .*; input 'x' .* but was built for \[2, 3, 8, 7\]$"
    with pytest.raises(CaffeError, match=rf"^net\.prototxt:3: {what}"):
        net.train(1)


def test_missing_data_are_reported_with_a_place(path) -> None:
    net = Net(path(INPUT + layer("InnerProduct", "inner_product_param { num_output: 4 }")))
    with pytest.raises(CaffeError, match="the data are empty; pass a list with at least one"):
        net.set_training_data([])


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ("source: 'gone' batch_size: 2 backend: LMDB", "gone"),
        ("source: 'gone' batch_size: 0", "batch_size is 0; set it to 1 or more"),
        ("batch_size: 2", "source is missing"),
    ],
)
def test_unreadable_data_are_reported_with_a_place(path, settings: str, what: str) -> None:
    data = f"\n\nlayer {{ name: 'data' type: 'Data' top: 'd' top: 'l' data_param {{ {settings} }} }}"
    path(data)
    with pytest.raises(CaffeError, match=rf"^net\.prototxt:3: layer 'data': .*{what}"):
        ModuleNet.open(open_settings(pb.SolverParameter(net="net.prototxt")).trained)


def test_errors_about_a_binary_net_name_its_file(path) -> None:
    write(read_net(path(INPUT + layer("ReLU", bottom="xx"))), "net.caffemodel")
    with pytest.raises(GraphError, match=r"^net\.caffemodel: layer 'one': bottom 'xx'"):
        Net("net.caffemodel")


def test_errors_about_an_already_read_file_have_a_place(path) -> None:
    with pytest.raises(GraphError, match=r"^net\.prototxt:3: layer 'one'"):
        Net(read_net(path(INPUT + layer("ReLU", bottom="xx"))))


def test_errors_about_a_net_without_a_file_have_no_place() -> None:
    with pytest.raises(GraphError, match=r"^layer 'one': bottom 'xx'"):
        Net(from_text(INPUT + layer("ReLU", bottom="xx"), pb.NetParameter))


def test_public_messages_have_no_places(path) -> None:
    net = Net(path(INPUT + layer("ReLU")))
    assert net.message == from_text(INPUT + layer("ReLU"), pb.NetParameter)
    net.save("saved.caffemodel")
    assert b"net.prototxt" not in Path("saved.caffemodel").read_bytes()
    assert net.phase is Phase.TEST


def test_a_written_model_has_no_places(path) -> None:
    model = open_model(path(INPUT + layer("ReLU")))
    write(CaffeFile(model.net), "written.prototxt")
    assert read_net("written.prototxt").message == read_net("net.prototxt").message


def test_weights_for_other_layers_only_are_reported_with_a_place(path) -> None:
    net = path(INPUT + layer("InnerProduct", "inner_product_param { num_output: 4 }"))
    with pytest.raises(
        CaffeError,
        match=r"^there are weights for 'two', but not for a layer of net '', which has 'one'; name the weights",
    ):
        Net(net, weights={"two": [np.zeros((4, 168))]})


@pytest.mark.parametrize("net", [5, None, ["net.prototxt"]])
def test_a_file_that_is_not_a_net_is_reported_with_its_place(net: object) -> None:
    with pytest.raises(CaffeError, match="a net must be a path, a message, or a description such as NetParams, not a"):
        Net(net)
