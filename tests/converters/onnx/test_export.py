"""ONNX models: names, dynamic lengths, weights, metadata, files, and nets that can't be exported."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from caffe_proto.errors import FileError
from converters.onnx import Metadata, export_onnx, newest_opset, save_onnx, to_onnx, verify
from converters.onnx.library import inference_session
from converters.onnx.verification import Report
from netdsl.errors import ConversionError
from tests.converters.nets import INVERSE_OF_SUMS, net_of

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

FILLER = 'weight_filler { type: "xavier" } bias_filler { type: "uniform" min: -1 max: 1 }'
CLASSIC = f"""
    name: "classic"
    layer {{ name: "data" type: "Input" top: "data" input_param {{ shape {{ dim: [10, 3, 13, 11] }} }} }}
    layer {{ name: "conv1" type: "Convolution" bottom: "data" top: "conv1"
             convolution_param {{ num_output: 4 kernel_size: 3 {FILLER} }} }}
    layer {{ name: "relu1" type: "ReLU" bottom: "conv1" top: "conv1" }}
    layer {{ name: "pool1" type: "Pooling" bottom: "conv1" top: "pool1"
             pooling_param {{ pool: AVE kernel_size: 3 stride: 2 pad: 1 }} }}
    layer {{ name: "norm1" type: "LRN" bottom: "pool1" top: "norm1" lrn_param {{ local_size: 3 alpha: 0.5 }} }}
    layer {{ name: "fc2" type: "InnerProduct" bottom: "norm1" top: "fc2"
             inner_product_param {{ num_output: 7 {FILLER} }} }}
    layer {{ name: "drop2" type: "Dropout" bottom: "fc2" top: "fc2" }}
    layer {{ name: "prob" type: "Softmax" bottom: "fc2" top: "prob" }}
"""


def run(model: Any, **inputs: np.ndarray) -> list[np.ndarray]:
    return inference_session(model.SerializeToString()).run(None, inputs)


def test_values_have_the_names_of_blobs_and_nodes_those_of_layers() -> None:
    graph = to_onnx(net_of(CLASSIC)).graph
    assert graph.name == "classic"
    assert [each.name for each in graph.input] == ["data"]
    assert [each.name for each in graph.output] == ["prob"]
    named = {node.name: node.output[0] for node in graph.node}
    assert named["relu1"] == "conv1" and named["drop2"] == "fc2"
    assert named["conv1"] == "conv1/conv1"  # the in-place layer takes the blob's name
    assert {"pool1", "norm1", "prob"} <= set(named.values())
    assert {"conv1/weight", "conv1/bias", "fc2/weight"} <= {each.name for each in graph.initializer}


def test_the_batch_size_stays_dynamic() -> None:
    net = net_of(CLASSIC)
    model = to_onnx(net)
    dims = model.graph.input[0].type.tensor_type.shape.dim
    assert [dim.dim_param or dim.dim_value for dim in dims] == ["batch", 3, 13, 11]
    dims = model.graph.output[0].type.tensor_type.shape.dim
    assert [dim.dim_param or dim.dim_value for dim in dims] == ["batch", 7]
    data = np.random.default_rng(0).standard_normal((5, 3, 13, 11)).astype(np.float32)
    wanted = net.forward(data=data)["prob"].numpy()
    assert np.abs(run(model, data=data)[0] - wanted).max() < 1e-6  # of the probabilities


def test_a_batch_size_that_a_layer_depends_on_is_fixed() -> None:
    net = net_of(
        """layer { name: "x" type: "Input" top: "x" input_param { shape { dim: [4, 6] } } }
        layer { name: "y" type: "Slice" bottom: "x" top: "a" top: "b" slice_param { axis: 0 } }"""
    )
    model = to_onnx(net)
    assert [dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim] == [4, 6]
    report = verify(model, net)
    assert report.passed and report.batches == (4,)


def test_a_batch_whose_items_a_layer_mixes_is_fixed() -> None:
    net = net_of(
        """layer { name: "x" type: "Input" top: "x" input_param { shape { dim: [1, 2, 3, 4] } } }
        layer { name: "y" type: "Reshape" bottom: "x" top: "y" reshape_param { shape { dim: [1, 2, -1, 4] } } }"""
    )
    assert [dim.dim_value for dim in to_onnx(net).graph.input[0].type.tensor_type.shape.dim] == [1, 2, 3, 4]


def test_a_shared_blob_is_stored_once() -> None:
    layer = """layer {{ name: "{0}" type: "InnerProduct" bottom: "x" top: "{0}" param {{ name: "w" }}
        inner_product_param {{ num_output: 3 bias_term: false weight_filler {{ type: "xavier" }} }} }}"""
    text = 'layer { name: "x" type: "Input" top: "x" input_param { shape { dim: [2, 5] } } }'
    net = net_of(text + layer.format("a") + layer.format("b"))
    model = to_onnx(net)
    assert [each.name for each in model.graph.initializer] == ["a/weight"]
    assert verify(model, net).passed


def test_metadata_is_kept() -> None:
    metadata = Metadata("BGR minus mean", ("cat", "dog"), "BSD-2-Clause", "ab12")
    model = to_onnx(net_of(CLASSIC), metadata=metadata)
    assert {each.key: each.value for each in model.metadata_props} == {
        "producer": "netdsl",
        "preprocessing": "BGR minus mean",
        "labels": "cat\ndog",
        "licence": "BSD-2-Clause",
        "source_sha256": "ab12",
    }


@pytest.mark.parametrize("opset", [11, 18, 21])
def test_an_older_opset_computes_the_same(opset: int) -> None:
    net = net_of(CLASSIC)
    model = to_onnx(net, opset=opset)
    assert model.opset_import[0].version == opset < newest_opset()
    assert verify(model, net).passed


@pytest.mark.parametrize("opset", [10, 999])
def test_an_opset_that_does_not_exist_is_refused(opset: int) -> None:
    with pytest.raises(ConversionError, match="choose one from 11 to"):
        to_onnx(net_of(CLASSIC), opset=opset)


def test_an_operator_is_exported_in_an_opset_that_onnxruntime_supports() -> None:
    net = net_of(
        """layer { name: "x" type: "Input" top: "x" input_param { shape { dim: [1, 2, 9, 7] } } }
        layer { name: "r" type: "Input" top: "r" input_param { shape { dim: [6, 5] } } }
        layer { name: "p" type: "ROIPooling" bottom: "x" bottom: "r" top: "p"
                roi_pooling_param { pooled_h: 2 pooled_w: 2 } }"""
    )
    model = to_onnx(net)
    assert [each.type.tensor_type.shape.dim[0].dim_param for each in model.graph.input] == ["batch", "r_count"]
    assert verify(model, net).passed
    with pytest.raises(ConversionError, match="only up to opset 21"):
        to_onnx(net, opset=22)


def test_all_layers_that_cannot_be_exported_are_reported_at_once() -> None:
    net = net_of(
        """layer { name: "x" type: "Input" top: "x" input_param { shape { dim: [3, 7] } } }
        layer { name: "t" type: "Input" top: "t" input_param { shape { dim: [3] } } }
        layer { name: "r" type: "Input" top: "r" input_param { shape { dim: [3, 5] } } }
        layer { name: "one" type: "MarginInnerProduct" bottom: "x" bottom: "t" top: "a"
                margin_inner_product_param { num_output: 4 } }
        layer { name: "two" type: "BoxAnnotatorOHEM" bottom: "r" bottom: "t" bottom: "t" bottom: "x" top: "b" top: "c"
                box_annotator_ohem_param { roi_per_img: 2 } }"""
    )
    with pytest.raises(ConversionError, match="'one' of type MarginInnerProduct has no ONNX form; layer 'two' of type"):
        to_onnx(net)


def test_a_net_for_training_cannot_be_exported() -> None:
    with pytest.raises(ConversionError, match="pass the net of its TEST phase"):
        to_onnx(net_of(CLASSIC, phase="TRAIN"))


def test_a_difference_is_reported_with_the_first_node_that_shows_it() -> None:
    net = net_of(CLASSIC)
    model = to_onnx(net)
    bias = next(each for each in model.graph.initializer if each.name == "conv1/bias")
    bias.raw_data = (np.frombuffer(bias.raw_data, np.float32) + 1).tobytes()
    report = verify(model, net)
    assert not report.passed and report.outputs["prob"] > 1e-3
    assert "'conv1' (Convolution): blob 'conv1/conv1'" in str(report)


def test_inputs_for_which_a_net_amplifies_rounding_are_replaced() -> None:
    net = net_of(INVERSE_OF_SUMS)
    model = to_onnx(net)
    report = verify(model, net)
    assert report.passed and report.rounding > 0
    weights = next(each for each in model.graph.initializer if each.name == "sums/weight")
    weights.raw_data = (np.frombuffer(weights.raw_data, np.float32) * np.float32(1.001)).tobytes()
    assert not verify(model, net).passed


def test_a_difference_that_rounding_alone_makes_is_accepted() -> None:
    net = net_of(
        """layer { name: "x" type: "Input" top: "x" input_param { shape { dim: [2, 3, 8, 8] } } }
        layer { name: "far" type: "Power" bottom: "x" top: "far" power_param { shift: 1000 } }
        layer { name: "near" type: "Power" bottom: "far" top: "near" power_param { shift: -1000 } }"""
    )
    model = to_onnx(net)

    def changed_by(units: int) -> Report:
        changed = onnx.ModelProto()
        changed.CopyFrom(model)
        constant = next(each for each in changed.graph.initializer if each.name == "near/constant")
        constant.CopyFrom(
            onnx.numpy_helper.from_array(np.float32(-1000) + units * np.spacing(np.float32(1000)), constant.name)
        )
        return verify(changed, net)

    report = changed_by(1)
    assert report.passed and report.tolerance < report.difference <= report.unavoidable
    assert not changed_by(20).passed


def test_only_a_model_that_computes_the_same_is_written(tmp_path: Path) -> None:
    net, path = net_of(CLASSIC), tmp_path / "net.onnx"
    with pytest.raises(ConversionError, match="the model wasn't written because blob 'prob' differs"):
        export_onnx(net, path, tolerance=0)
    assert not list(tmp_path.iterdir())
    report = export_onnx(net, path)
    assert report is not None and report.passed and report.batches == (1, 2)
    assert verify(path, net).passed
    assert path.read_bytes() == to_onnx(net).SerializeToString()
    report = export_onnx(net, tmp_path / "other.onnx", external=True)
    assert report is not None and report.passed
    assert sorted(file.name for file in tmp_path.iterdir()) == ["net.onnx", "other.onnx", "other.onnx.data"]


def test_a_model_that_onnxruntime_refuses_is_reported_as_one_error(tmp_path: Path) -> None:
    net, path = net_of(CLASSIC), tmp_path / "net.onnx"
    model = to_onnx(net)
    model.graph.node[0].op_type = "Nothing"
    with pytest.raises(ConversionError, match=r"^onnxruntime can't run model 'classic': .*Nothing"):
        verify(model, net)
    with pytest.raises(ConversionError, match=r"can't run model 'classic': .* dimensions for input: data"):
        verify(to_onnx(net), net, inputs={"data": np.ones((2, 3, 13, 11))[:, [0, 0, 0, 1, 2]]})
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(FileError, match=r"net\.onnx: not a readable ONNX model"):
        verify(path, net)


def test_a_path_that_onnxruntime_cannot_open_is_reported(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9.onnx")
    with pytest.raises(ConversionError, match="onnxruntime opens only paths in UTF-8; write the model to another path"):
        export_onnx(net_of(CLASSIC), path)
    assert not list(tmp_path.iterdir())


def test_a_model_of_another_net_is_reported_as_one_error() -> None:
    net, other = net_of(CLASSIC), net_of(CLASSIC.replace('"data"', '"image"'))
    with pytest.raises(ConversionError, match="model 'classic' has an input 'image' without a value"):
        verify(to_onnx(other), net)
    with pytest.raises(ConversionError, match="no output of model 'classic' is a blob of the net"):
        verify(to_onnx(net_of(CLASSIC.replace('"prob"', '"other"'))), net)
    model = to_onnx(net)
    model.graph.input[0].type.tensor_type.elem_type = onnx.TensorProto.INT64
    del model.graph.node[1:], model.graph.output[:]
    model.graph.node[0].CopyFrom(onnx.helper.make_node("Identity", ["data"], ["prob"]))
    model.graph.output.append(onnx.helper.make_tensor_value_info("prob", onnx.TensorProto.INT64, None))
    with pytest.raises(
        ConversionError, match=r"the input 'data' of .* has type tensor\(int64\), but only floating-point types"
    ):
        verify(model, net)


def test_a_proof_can_use_the_callers_inputs() -> None:
    net = net_of(CLASSIC)
    report = verify(to_onnx(net), net, inputs={"data": np.ones((3, 3, 13, 11))})
    assert report.passed and report.batches == (3,)


def test_weights_can_be_stored_in_a_separate_file(tmp_path: Path) -> None:
    net, path = net_of(CLASSIC), tmp_path / "net.onnx"
    model = to_onnx(net)
    save_onnx(model, path, external=True)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["net.onnx", "net.onnx.data"]
    assert path.stat().st_size < (tmp_path / "net.onnx.data").stat().st_size
    assert verify(path, net).passed
    assert verify(model, net).passed  # the net still has its weights


@pytest.mark.parametrize("external", [False, True])
def test_a_missing_folder_is_reported(tmp_path: Path, external: bool) -> None:
    with pytest.raises(FileError, match=r"net\.onnx: can't be written"):
        save_onnx(to_onnx(net_of(CLASSIC)), tmp_path / "no" / "net.onnx", external=external)


def test_onnxs_own_checker_accepts_the_model() -> None:
    onnx.checker.check_model(to_onnx(net_of(CLASSIC)), full_check=True)
