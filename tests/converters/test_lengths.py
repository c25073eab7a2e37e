"""Exports whose heights and widths stay open: which lengths change, the sizes that are tried, and refusals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from converters.lengths import FreeLengths, length_sources, trial_shapes
from converters.onnx import export_onnx, newest_opset, to_onnx
from converters.onnx.library import OLDEST_OPSET, inference_session
from converters.running import input_shapes, with_made_up_weights
from netdsl import Net
from netdsl.errors import ConversionError
from netdsl.model.deploy.deploy_net import deploy_model
from netdsl.model.model import Model
from netdsl.model.opening import open_model
from netdsl.net.graph import Phase
from tests.converters.nets import net_of

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

# As in nets that label pixels: the padding makes room for small images, and the crop removes it.
LABELS_PIXELS = """
    layer { name: "data" type: "Input" top: "data" input_param { shape { dim: [1, 3, 30, 34] } } }
    layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
            convolution_param { num_output: 4 kernel_size: 3 pad: 8 weight_filler { type: "xavier" } } }
    layer { name: "pool" type: "Pooling" bottom: "conv" top: "pool" pooling_param { kernel_size: 2 stride: 2 } }
    layer { name: "avg" type: "Pooling" bottom: "pool" top: "avg"
            pooling_param { pool: AVE kernel_size: 3 stride: 2 pad: 1 } }
    layer { name: "up" type: "Deconvolution" bottom: "avg" top: "up"
            convolution_param { num_output: 2 kernel_size: 8 stride: 4 weight_filler { type: "xavier" } } }
    layer { name: "score" type: "Crop" bottom: "up" bottom: "data" top: "score" crop_param { axis: 2 offset: 5 } }
    layer { name: "twice" type: "Interp" bottom: "score" top: "twice" interp_param { full_zoom_factor: 2 } }
"""
INPUT = 'layer { name: "x" type: "Input" top: "x" input_param { shape { dim: [1, 2, 11, 13] } } }'
FREE: FreeLengths = {"x": ("N", 2, "H", "W")}


@pytest.mark.parametrize("opset", [OLDEST_OPSET, 13, newest_opset()])
def test_a_net_that_labels_pixels_is_proved_at_three_sizes(tmp_path: Path, opset: int) -> None:
    model = with_made_up_weights(Model(from_text(LABELS_PIXELS, pb.NetParameter)))
    report = export_onnx(model, tmp_path / "n.onnx", opset=opset, free={"data": ("N", 3, "H", "W")})
    assert report is not None and report.passed
    assert report.sizes == ((1, 3, 30, 34), (2, 3, 23, 25), (2, 3, 41, 45))


@pytest.mark.parametrize("name", ["squeezenet-1.1", "mobilenet-v2", "shufflenet", "nin", "cifar-resnet-20"])
def test_nets_of_the_catalogue_are_proved_at_three_sizes(name: str, tmp_path: Path) -> None:
    deployed = deploy_model(open_model(name, deployed=True), batch=1)
    ((blob, shape),) = input_shapes(deployed.layers(Phase.TEST)).items()
    report = export_onnx(with_made_up_weights(deployed), tmp_path / "n.onnx", free={blob: (1, shape[1], "H", "W")})
    assert report is not None and report.passed and len(set(report.sizes)) == 3
    model = inference_session((tmp_path / "n.onnx").read_bytes())
    assert model.get_inputs()[0].shape == [1, shape[1], "H", "W"]


@pytest.mark.parametrize("settings", [
    "kernel_size: 3 stride: 2", "kernel_size: 2 stride: 2", "kernel_size: 3 stride: 1 pad: 1", "kernel_size: 5 pad: 2",
    "kernel_size: 3 stride: 2 round_mode: FLOOR", "kernel_h: 3 kernel_w: 2", "kernel_size: 4 stride: 2 pad: 1",
    "global_pooling: true", "kernel_size: 3 stride: 2 pad: 1",
])  # fmt: skip
@pytest.mark.parametrize("method", ["MAX", "AVE"])
def test_pooling_computes_the_same_at_every_size(method: str, settings: str) -> None:
    pool = f'layer {{ name: "p" type: "Pooling" bottom: "x" top: "p" pooling_param {{ pool: {method} {settings} }} }}'
    net = net_of(INPUT + pool)
    session = inference_session(model_with(net, FREE))
    for height in range(7, 15):
        x = np.random.default_rng(height).standard_normal((2, 2, height, 21 - height)).astype(np.float32)
        expected = net.module.built.layers[-1](torch.from_numpy(x)).numpy()
        np.testing.assert_allclose(session.run(None, {"x": x})[0], expected, atol=1e-6)


@pytest.mark.parametrize(
    ("layers", "problem"),
    [
        (
            'type: "InnerProduct" inner_product_param { num_output: 2 }',
            r"layer 'y' of type InnerProduct: .* so H can't",
        ),
        (
            'type: "PriorBox" bottom: "x" prior_box_param { min_size: 2 }',
            r"layer 'y' needs a fixed H in ONNX; state it",
        ),
        ('type: "Pooling" pooling_param { kernel_size: 2 stride: 3 }', r"layer 'y' needs a fixed H in ONNX"),
        ('type: "Pooling" pooling_param { kernel_size: 2 stride: 2 pad: 1 }', r"layer 'y' needs a fixed H in ONNX"),
        ('type: "Interp" interp_param { zoom_factor: 2 }', r"layer 'y' needs a fixed H in ONNX"),
    ],
)
def test_a_layer_that_needs_a_fixed_size_is_named(layers: str, problem: str) -> None:
    net = net_of(f'{INPUT} layer {{ name: "y" bottom: "x" top: "y" {layers} }}')
    with pytest.raises(ConversionError, match=problem):
        model_with(net, FREE)


@pytest.mark.parametrize(
    ("free", "problem"),
    [
        ({"z": ("N",)}, "the net has no input 'z' to leave free"),
        ({"x": ("N", 2)}, r"input 'x' has the shape \[1, 2, 11, 13\]; write a number or a name"),
        ({"x": (1, 2, "H", "H")}, "a name of its own for each length"),
    ],
)
def test_lengths_that_do_not_fit_an_input_are_refused(free: FreeLengths, problem: str) -> None:
    with pytest.raises(ConversionError, match=problem):
        model_with(net_of(INPUT + 'layer { name: "r" type: "ReLU" bottom: "x" top: "y" }'), free)


def test_other_inputs_keep_an_open_batch() -> None:
    second = INPUT.replace('"x"', '"more"')
    net = net_of(f'{INPUT} {second} layer {{ name: "e" type: "Eltwise" bottom: "x" bottom: "more" top: "e" }}')
    names = [source.name for source in length_sources(net.module.built, {"x": (1, 2, 11, 13)})]
    assert names == ["batch"]
    assert trial_shapes(net.module.built, {"x": ("batch", 2, 11, 13)}) == []


def test_a_net_that_accepts_only_some_sizes_is_tried_with_those() -> None:
    halves = """layer { name: "h" type: "Reorg" bottom: "x" top: "h" reorg_param { stride: 2 } }"""
    net = net_of(INPUT.replace("2, 11, 13", "4, 12, 16") + halves)
    sizes = [shapes["x"] for shapes in trial_shapes(net.module.built, {"x": (1, 4, "H", "W")})]
    assert len(sizes) == 3 and all(height % 2 == width % 2 == 0 for _, _, height, width in sizes)


def model_with(net: Net, free: FreeLengths) -> bytes:
    return bytes(to_onnx(net, free=free).SerializeToString())
