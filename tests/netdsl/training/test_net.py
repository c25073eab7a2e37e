"""A net that is ready to run: creating, running, filling, moving and saving it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from caffe_proto.errors import FileError
from netdsl.dsl import LinearLayer, NetParams, RDDLayer
from netdsl.errors import DataError, NetError, ShapeError, ShapeWarning, WeightsError, WeightsWarning
from netdsl.layer import Layer
from netdsl.model.collection import WeightCollection
from netdsl.net.graph import Phase
from netdsl.training.net import Net
from tests.registered import registered

TEXT = """name: "small"
layer { name: "in" type: "Input" top: "x" top: "label" input_param {
  shape { dim: 2 dim: 3 dim: 4 dim: 5 } shape { dim: 2 } } }
layer { name: "conv" type: "Convolution" bottom: "x" top: "conv"
  convolution_param { num_output: 7 kernel_size: 3 weight_filler { type: "gaussian" std: 1 } } }
layer { name: "bn" type: "BatchNorm" bottom: "conv" top: "conv" }
layer { name: "pool" type: "Pooling" bottom: "conv" top: "pool" pooling_param { pool: AVE global_pooling: true } }
layer { name: "ip" type: "InnerProduct" bottom: "pool" top: "ip"
  inner_product_param { num_output: 6 weight_filler { type: "gaussian" std: 1 } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" include { phase: TRAIN } }
layer { name: "prob" type: "Softmax" bottom: "ip" top: "prob" include { phase: TEST not_stage: "raw" } }
layer { name: "loud" type: "Power" bottom: "ip" top: "loud" include { min_level: 1 } }
"""


def net(text: str = TEXT, **settings) -> Net:
    return Net(from_text(text, pb.NetParameter), **settings)


def given(batch: int = 2, height: int = 4, width: int = 5, channels: int = 3) -> dict[str, np.ndarray]:
    return {"x": np.ones((batch, channels, height, width), np.float32), "label": np.zeros(batch, np.float32)}


def test_a_net_describes_its_inputs_and_outputs() -> None:
    assert repr(net()) == ("Net('small', TEST, 6 layers, 259 weights on cpu: x 2x3x4x5, label 2 -> label 2, prob 2x6)")
    assert repr(net('layer { name: "c" type: "DummyData" top: "c" dummy_data_param { shape { dim: 3 } } }')) == (
        "Net('', TEST, 1 layer, 0 weights on cpu: data of its own -> c 3)"
    )


def test_a_notebook_shows_a_table_of_the_layers() -> None:
    html = net(TEXT.replace('"conv"', '"<conv>"'))._repr_html_()
    assert "Net &#x27;small&#x27;, TEST, 6 layers, 259 weights on cpu" in html
    row = ("&lt;conv&gt;", "Convolution", "x", "&lt;conv&gt; 2x7x2x3", "196")
    assert "".join(f"<td>{cell}</td>" for cell in row) in html
    assert "<td>pool</td><td>Pooling</td><td>&lt;conv&gt;</td><td>pool 2x7x1x1</td><td></td>" in html


def test_a_net_is_made_from_a_file_a_message_or_a_description(tmp_path: Path) -> None:
    (tmp_path / "net.prototxt").write_text(TEXT)
    params = NetParams("small", RDDLayer("x", shape=[2, 3]), LinearLayer("ip", ["x"], num_outputs=6))
    assert Net(tmp_path / "net.prototxt").message == Net(str(tmp_path / "net.prototxt")).message == net().message
    assert Net(params).forward(x=np.ones((5, 3)))["ip"].shape == (5, 6)


def test_phase_level_and_stages_select_the_layers() -> None:
    assert [*net().module.outputs] == ["label", "prob"]
    assert [*net(phase="TRAIN").module.outputs] == [*net(phase=Phase.TRAIN).module.outputs] == ["loss"]
    assert net(phase="train").module.training and not net().module.training
    assert [*net(stages=["raw"]).module.outputs] == ["label", "ip"]
    assert [*net(level=1, stages=["raw"]).module.outputs] == ["label", "loud"]
    with pytest.raises(NetError, match="phase 'VALID' is unknown; use TRAIN or TEST"):
        net(phase="VALID")


def test_users_own_types_are_built() -> None:
    class Doubling(Layer):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return 2 * x

    with registered(Twice=Doubling):
        made = net(TEXT.replace('"Power"', '"Twice"'), level=1, stages=["raw"])
    assert made.forward(**given())["loud"].shape == (2, 6)


def test_a_net_may_have_no_inputs() -> None:
    made = net("""layer { name: "d" type: "DummyData" top: "y" dummy_data_param {
        shape { dim: 2 dim: 3 } data_filler { value: 4 } } }""")
    assert made.forward()["y"].tolist() == [[4.0] * 3] * 2
    assert made.device == torch.device("cpu") and len(made.get_weights()) == 0
    made.set_weights(made.get_weights())


@pytest.mark.parametrize(
    "x",
    [
        np.ones((2, 3, 4, 5), np.uint8),
        np.ones((2, 3, 4, 5), ">f8"),
        np.ones((2, 3, 4, 5), bool),
        np.ones((2, 3, 4, 10), np.float32)[..., ::-2],
        np.ones((2, 3, 4, 5), np.float16).tolist(),
        torch.ones(2, 3, 4, 5, dtype=torch.int64),
    ],
)
def test_arrays_of_any_type_are_accepted(x) -> None:
    made = net()
    torch.testing.assert_close(made.forward(x=x, label=[0, 0])["prob"], made.forward(**given())["prob"])


def test_read_only_arrays_are_accepted() -> None:
    arrays = given()
    arrays["x"].flags.writeable = False
    assert net().forward(**arrays)["prob"].shape == (2, 6)


def test_other_batches_and_other_sizes_are_accepted() -> None:
    made = net()
    assert made.forward(**given(9))["prob"].shape == (9, 6)
    assert made.forward(**given(2, 31, 17))["prob"].shape == (2, 6)
    assert not made.forward(**given())["prob"].requires_grad


def test_a_net_of_doubles_accepts_the_inputs_of_a_net_of_floats() -> None:
    made = net()
    made.module.double()
    assert made.forward(**given())["prob"].dtype is torch.float64


@pytest.mark.parametrize(
    ("inputs", "why"),
    [
        ({}, "^the inputs of this net are x, label, but none were given"),
        (given() | {"data": 1}, "but x, label, data were given"),
        (
            given() | {"x": np.ones((3, 4, 5))},
            r"input 'x' has shape \[3, 4, 5\]; give an array with 4 axes, as \[2, 3, 4, 5\]",
        ),
        (
            given() | {"label": np.ones((2, 1))},
            r"input 'label' has shape \[2, 1\]; give an array with 1 axes, as \[2\]",
        ),
        (given() | {"label": ["one", "two"]}, "input 'label' isn't an array of numbers: could not convert"),
        (given() | {"x": [[1], [2, 3]]}, "input 'x' isn't an array of numbers"),
        (
            given(channels=4),
            r"layer 'conv': the weights are for 3 channels, but the bottom \[2, 4, 4, 5\] has 4 on axis 1; use .*; "
            r"input 'x' has shape \[2, 4, 4, 5\], but was built for \[2, 3, 4, 5\]$",
        ),
        (given(height=2), r"layer 'conv' .*; input 'x' has shape \[2, 3, 2, 5\], but was built for"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(inputs, why) -> None:
    with pytest.raises(NetError, match=why):
        net().forward(**inputs)


def test_a_layer_that_cannot_process_the_data_is_named() -> None:
    made = net(TEXT.replace("pool: AVE global_pooling: true", "kernel_size: 1"))
    with pytest.raises(ShapeError, match=r"layer 'ip': the weights are for .*; input 'x' has shape \[2, 3, 9, 5\]"):
        made.forward(**given(height=9))
    with pytest.raises(NetError, match=r"layer 'loss': label 77 isn't among the 6 classes, which are 0 to 5; [^;]*$"):
        net(phase="TRAIN").forward(**given() | {"label": [0, 77]})


def test_weights_are_copied_in_and_out() -> None:
    made = net(phase="TRAIN")
    weights = made.get_weights()
    assert {name: len(arrays) for name, arrays in weights.items()} == {"conv": 2, "bn": 3, "ip": 2}
    before = weights.copy()
    made.forward(**given())
    assert weights == before and made.get_weights()["bn"][2] == 1
    report = made.set_weights(weights * 2)
    weights *= 0
    assert report.matched == ("conv", "bn", "ip") and made.get_weights() == before * 2


def test_weights_by_name_may_be_any_arrays() -> None:
    made = net()
    arrays = {"ip": [np.ones((6, 7)), np.ones(6, np.float16)], "other": [np.ones(2)]}
    report = made.set_weights(arrays)
    assert (report.matched, report.missing, report.unused) == (("ip",), ("conv", "bn"), ("other",))
    assert made.get_weights()["ip"][0].tolist() == np.ones((6, 7)).tolist()
    with pytest.raises(WeightsError, match=r"layer 'ip': blob 0 has shape \[6, 7\], but the weights have \[7, 6\]"):
        made.set_weights({"ip": [np.ones((7, 6)), np.ones(6)]})
    assert made.set_weights({"ip": [np.ones((7, 6)), np.ones(6)]}, partial=True).mismatched[0].layer == "ip"


def test_opening_a_net_reports_layers_without_weights() -> None:
    arrays = {"ip": [np.ones((6, 7)), np.ones(6)]}
    with pytest.warns(WeightsWarning, match="1 of 3 layers filled; 'conv', 'bn' begin from scratch"):
        Net(net().message, weights=arrays)


SIAMESE = """layer { name: "in" type: "Input" top: "x" top: "z"
  input_param { shape { dim: 2 dim: 6 } shape { dim: 2 dim: 4 } } }
layer { name: "one" type: "InnerProduct" bottom: "x" top: "a" param { name: "w" }
  inner_product_param { num_output: 4 bias_term: false weight_filler { type: "gaussian" } } }
layer { name: "two" type: "InnerProduct" bottom: "z" top: "b" param { name: "w" share_mode: PERMISSIVE }
  inner_product_param { num_output: 6 bias_term: false } }
layer { name: "bn" type: "BatchNorm" bottom: "x" top: "n" param { name: "m" } }
layer { name: "bn2" type: "BatchNorm" bottom: "x" top: "n2" param { name: "m" } }"""


def test_shared_parameters_appear_in_each_of_their_layers() -> None:
    made = net(SIAMESE)
    weights = made.get_weights()
    np.testing.assert_array_equal(weights["one"][0].ravel(), weights["two"][0].ravel())
    weights["one"][0] = weights["two"][0] = 0
    weights["two"][0] = np.arange(24).reshape(6, 4)
    weights["bn2"][0] = 5
    made.set_weights(weights)
    again = made.get_weights()
    assert again["one"][0].tolist() == np.arange(24).reshape(4, 6).tolist()
    assert again["bn"][0].tolist() == [5] * 6
    assert made.set_weights({"one": [np.ones((4, 6))]}).missing == ("bn", "bn2")


@pytest.mark.parametrize("name", ["x.caffemodel", "x.caffemodel.h5"])
def test_a_fresh_net_loads_saved_weights_unchanged(tmp_path: Path, name: str) -> None:
    if name.endswith(".h5"):
        pytest.importorskip("h5py")
    made, path = net(), tmp_path / name
    made.save(path)
    assert net().get_weights() != made.get_weights()
    for weights in (path, str(path), [path], made.get_weights(), WeightCollection.load(path)):
        assert net(weights=weights).get_weights() == made.get_weights()


def test_a_caffemodel_is_a_net_with_its_weights(tmp_path: Path) -> None:
    made = net()
    made.save(tmp_path / "x.caffemodel")
    again = Net(tmp_path / "x.caffemodel")
    assert again.get_weights() == made.get_weights()
    torch.testing.assert_close(again.forward(**given())["prob"], made.forward(**given())["prob"])


def test_the_last_of_several_files_counts(tmp_path: Path) -> None:
    one, other = net(), net()
    one.save(tmp_path / "one.caffemodel")
    other.get_weights().save(tmp_path / "other.caffemodel")
    WeightCollection.of({"ip": other.get_weights()["ip"], "new": [np.ones(3)]}).save(tmp_path / "part.caffemodel")
    names = f"{tmp_path}/one.caffemodel, {tmp_path}/part.caffemodel"
    made = net(weights=names)
    assert made.get_weights()["conv"][0].tolist() == one.get_weights()["conv"][0].tolist()
    assert made.get_weights()["ip"][0].tolist() == other.get_weights()["ip"][0].tolist()
    for paths in (names, [tmp_path / "one.caffemodel", f"{tmp_path}/part.caffemodel"]):
        report = net().load(paths)
        assert (report.matched, report.missing, report.unused) == (("conv", "bn", "ip"), (), ("new",))


def test_weights_that_cannot_be_loaded_are_refused(tmp_path: Path) -> None:
    made = net(TEXT.replace("num_output: 7", "num_output: 8"))
    net().save(tmp_path / "x.caffemodel")
    with pytest.raises(
        WeightsError, match=r"x.caffemodel: layer 'conv': .*; layer 'bn': .*; layer 'ip': .*use the weights of this net"
    ):
        made.load(tmp_path / "x.caffemodel")
    assert made.load(tmp_path / "x.caffemodel", partial=True).matched == ()
    with pytest.raises(FileError, match=r"missing\.caffemodel: can't be opened"):
        made.load(tmp_path / "missing.caffemodel")
    for nothing in ("", " , ", []):
        with pytest.raises(WeightsError, match="no weights file is named"):
            made.load(nothing)


def test_a_files_suffix_decides_how_a_net_is_saved(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="can't tell the format from the name"):
        net().save(tmp_path / "x.weights")
    assert not list(tmp_path.iterdir())


def test_a_net_can_be_moved() -> None:
    made = net()
    assert made.to("cpu") is made and made.to(torch.device("meta")).device.type == "meta"


DIGITS = """layer { name: "d" type: "Data" top: "x" top: "label" data_param { source: "digits:train" batch_size: 8 }
  transform_param { crop_size: 8 force_gray: true } }
layer { name: "ip" type: "InnerProduct" bottom: "x" top: "ip" inner_product_param { num_output: 10 } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }"""


ON_DATA = """
name: "digits"
layer { name: "data" type: "Data" top: "data" top: "label" data_param { source: "%s" batch_size: 8 } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
        inner_product_param { num_output: 10 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
"""


def test_a_net_has_the_shapes_of_its_named_data() -> None:
    net_text = ON_DATA % "digits:train"
    with Net(from_text(net_text, pb.NetParameter)) as net:
        assert net.get_weights()["ip"][0].shape == (10, 64)
        assert net.train(1, base_lr=0.001) > 0
        assert "input_param" not in str(net.message)


def test_missing_data_are_an_error_only_when_they_are_read() -> None:
    with pytest.warns(ShapeWarning, match="'data' is assumed to be 3x224x224"):
        net = Net(from_text(ON_DATA % "nowhere", pb.NetParameter))
    with net:
        assert net.get_weights()["ip"][0].shape == (10, 3 * 224 * 224)
        with pytest.raises(DataError, match="nowhere"):
            net.train(1)


def test_closing_a_net_ends_its_threads_and_leaves_its_weights(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    with net(DIGITS) as made:
        made.train(1)
        made.test(1)
        assert set(threading.enumerate()) > before
    assert set(threading.enumerate()) <= before
    made.close()
    made.save(tmp_path / "saved.caffemodel")
    assert WeightCollection.load(tmp_path / "saved.caffemodel").distance(made.get_weights()) == 0


def test_a_net_is_closed_after_an_error_too() -> None:
    before = set(threading.enumerate())
    with pytest.raises(ZeroDivisionError), net(DIGITS) as made:
        made.test(1)
        raise ZeroDivisionError
    assert set(threading.enumerate()) <= before


@pytest.mark.parametrize(
    "use",
    [
        lambda closed: closed.forward(**given()),
        lambda closed: closed.train(1),
        lambda closed: closed.test(1),
        lambda closed: closed.score(1),
        lambda closed: closed.set_training_data([given()]),
        lambda closed: closed.set_validation_data([given()]),
    ],
)
def test_using_a_closed_net_is_an_error(use: Callable[[Net], object]) -> None:
    closed = net()
    closed.close()
    with pytest.raises(NetError, match="net 'small' is closed, so only its weights can be used; create another net"):
        use(closed)
