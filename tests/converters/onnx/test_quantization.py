"""Quantized ONNX models: what becomes integers, what stays, and how data for the calibration are refused."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from converters.integer_form import IntegerForm
from converters.onnx import export_onnx
from converters.onnx.files import load_onnx
from converters.onnx.quantization import Quantization, compared_values
from converters.onnx.reader import OnnxReader
from converters.onnx.session import open_onnx_session
from netdsl.errors import ConversionError
from netdsl.training.net import Net
from tests.converters.nets import DETECTOR, net_of

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

FILLER, BIAS = 'weight_filler { type: "xavier" }', 'bias_filler { type: "constant" value: 1 }'
TWO_BRANCHES = f"""
    name: "branches"
    layer {{ name: "data" type: "Input" top: "data" input_param {{ shape {{ dim: [4, 3, 12, 12] }} }} }}
    layer {{ name: "scaled" type: "Power" bottom: "data" top: "scaled" power_param {{ scale: 0.5 }} }}
    layer {{ name: "one" type: "Convolution" bottom: "scaled" top: "one"
             convolution_param {{ num_output: 4 kernel_size: 1 {FILLER} {BIAS} }} }}
    layer {{ name: "relu" type: "ReLU" bottom: "one" top: "one" }}
    layer {{ name: "two" type: "Convolution" bottom: "scaled" top: "two"
             convolution_param {{ num_output: 4 kernel_size: 3 pad: 1 {FILLER} }} }}
    layer {{ name: "both" type: "Concat" bottom: ["one", "two"] top: "both" }}
    layer {{ name: "pool" type: "Pooling" bottom: "both" top: "pool" pooling_param {{ kernel_size: 2 stride: 2 }} }}
    layer {{ name: "end" type: "InnerProduct" bottom: "pool" top: "end"
             inner_product_param {{ num_output: 5 {FILLER} }} }}
    layer {{ name: "prob" type: "Softmax" bottom: "end" top: "prob" }}
"""


@pytest.fixture
def branches() -> Net:
    return net_of(TWO_BRANCHES)


def batches_of(*shapes: Sequence[int], name: str = "data") -> Callable[[], list[dict[str, np.ndarray]]]:
    """Return a function that returns random batches of these shapes."""
    random = np.random.default_rng(0)
    batches = [{name: random.standard_normal(shape).astype(np.float32)} for shape in shapes]
    return lambda: batches


def quantized(net: Net, path: Path, *shapes: Sequence[int], form: IntegerForm | None = None, **settings: Any) -> Any:
    """Quantize a net with random batches. Returns the effect and the model."""
    quantization = Quantization(batches_of(*shapes), form or IntegerForm())
    report = export_onnx(net, path, quantization=quantization, **settings)
    return report and report.quantized, onnx.load(path)


def types_of(model: Any) -> dict[str, int]:
    return {tensor.name: tensor.data_type for tensor in model.graph.initializer}


def test_products_become_integers_and_the_ends_of_the_net_stay(branches: Net, tmp_path: Path) -> None:
    effect, model = quantized(branches, tmp_path / "m.onnx", (4, 3, 12, 12), (2, 3, 12, 12))
    assert effect.items == 6 and list(effect.outputs) == ["prob"]
    assert 0 < effect.difference < 0.1  # some of 255 steps
    kinds = types_of(model)
    assert kinds["one/weight_quantized"] == kinds["end/weight_quantized"] == onnx.TensorProto.INT8
    assert kinds["one/bias_quantized"] == onnx.TensorProto.INT32
    readers = {name: node.op_type for node in model.graph.node for name in node.input}
    made = {name: node.op_type for node in model.graph.node for name in node.output}
    assert readers["data"] != "QuantizeLinear" and made["prob"] == "Softmax"
    assert readers["both"] == readers["pool"] == readers["end"] == "QuantizeLinear"
    assert [path.name for path in tmp_path.iterdir()] == ["m.onnx"]
    assert model.producer_name == "netdsl" and not model.graph.value_info


def test_each_channel_of_weights_has_a_scale(branches: Net, tmp_path: Path) -> None:
    def scales(per_channel: bool) -> list[int]:
        form = IntegerForm(per_channel=per_channel)
        model = quantized(branches, tmp_path / "m.onnx", (4, 3, 12, 12), form=form)[1]
        return next(list(tensor.dims) for tensor in model.graph.initializer if tensor.name == "one/weight_scale")

    assert (scales(True), scales(False)) == ([4], [])


def test_the_form_of_integers_can_be_another(branches: Net, tmp_path: Path) -> None:
    form = IntegerForm(activations="int8", symmetric=True, float_biases=True)
    effect, model = quantized(branches, tmp_path / "m.onnx", (4, 3, 12, 12), form=form)
    points = {name: kind for name, kind in types_of(model).items() if name.endswith("zero_point")}
    assert set(points.values()) == {onnx.TensorProto.INT8}
    zeros = [onnx.numpy_helper.to_array(each) for each in model.graph.initializer if each.name in points]
    assert all(not zero.any() for zero in zeros)
    assert types_of(model)["one/bias"] == onnx.TensorProto.FLOAT
    assert effect.difference < 0.1


def test_a_model_of_a_fixed_batch_is_calibrated_in_such_batches(branches: Net, tmp_path: Path) -> None:
    text = TWO_BRANCHES.replace("dim: [4, ", "dim: [3, ").replace(
        'layer { name: "prob"', 'layer { name: "flat" type: "Reshape" bottom: "end" top: "flat" reshape_param '
        '{ shape { dim: [3, 5] } } } layer { name: "prob"'
    ).replace('bottom: "end" top: "prob"', 'bottom: "flat" top: "prob"')  # fmt: skip
    effect, model = quantized(net_of(text), tmp_path / "m.onnx", (7, 3, 12, 12))
    assert model.graph.input[0].type.tensor_type.shape.dim[0].dim_value == 3
    assert effect.items == 6


def test_external_weights_stay_external(branches: Net, tmp_path: Path) -> None:
    wide = net_of(TWO_BRANCHES.replace("num_output: 5", "num_output: 50"))
    quantized(wide, tmp_path / "m.onnx", (4, 3, 12, 12), external=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.onnx", "m.onnx.data"]
    with open_onnx_session(load_onnx(tmp_path / "m.onnx")) as session:
        assert session({"data": np.zeros((1, 3, 12, 12), np.float32)})["prob"].shape == (1, 50)


def test_python_logs_and_the_folder_for_temporary_files_stay_as_they_are(branches: Net, tmp_path: Path, capfd) -> None:
    before = list(logging.getLogger().handlers), tempfile.tempdir
    quantized(branches, tmp_path / "m.onnx", (4, 3, 12, 12))
    assert (list(logging.getLogger().handlers), tempfile.tempdir) == before
    assert capfd.readouterr() == ("", "")


def test_without_verification_nothing_is_compared(branches: Net, tmp_path: Path) -> None:
    effect, model = quantized(branches, tmp_path / "m.onnx", (4, 3, 12, 12), verify=False)
    assert effect is None and "one/weight_quantized" in types_of(model)


@pytest.mark.parametrize(
    ("batches", "says"),
    [
        (batches_of((2, 3, 12, 12), name="image"), "the data for the calibration have no values of input 'data'"),
        (batches_of((2, 3, 8, 8)), r"input 'data' has shape \[None, 3, 12, 12\], but the data for the calibration"),
        (batches_of((2, 3)), r"but the data for the calibration have \[2, 3\]"),
        (list, "the data for the calibration have no items"),
    ],
)
def test_data_that_do_not_fit_are_refused(branches: Net, tmp_path: Path, batches: Any, says: str) -> None:
    with pytest.raises(ConversionError, match=says):
        export_onnx(branches, tmp_path / "m.onnx", quantization=Quantization(batches))
    assert not list(tmp_path.iterdir())


def test_a_net_without_weights_has_nothing_to_quantize(tmp_path: Path) -> None:
    text = TWO_BRANCHES[: TWO_BRANCHES.index('layer { name: "one"')]
    with pytest.raises(ConversionError, match="no layer multiplies by weights, so there is nothing to quantize"):
        quantized(net_of(text), tmp_path / "m.onnx", (4, 3, 12, 12))


def test_an_operator_that_only_a_target_has_cannot_be_calibrated(tmp_path: Path) -> None:
    with pytest.raises(ConversionError, match="layer 'd' becomes an operator that only the target has"):
        quantized(net_of(DETECTOR), tmp_path / "m.onnx", (1, 1, 2, 4), reader=OnnxReader(("DetectionOutput",)))


def test_in_place_of_selected_items_the_values_before_the_selection_are_compared(tmp_path: Path) -> None:
    net = net_of(DETECTOR)
    assert compared_values(net.module.built) == ["l", "s"]
    report = export_onnx(net, tmp_path / "m.onnx", quantization=Quantization(batches_of((3, 1, 2, 4), name="x")))
    assert report is not None and report.quantized is not None
    assert report.quantized.outputs.keys() == {"l", "s"} and report.quantized.difference < 0.1
