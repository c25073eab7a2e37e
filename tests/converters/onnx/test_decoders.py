"""Exported decoders compute in onnxruntime what they compute in numpy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from converters.onnx import export_onnx
from converters.onnx.decoders import OutputDecoding
from converters.onnx.files import load_onnx
from converters.onnx.session import open_onnx_session
from converters.running import edge_values
from netdsl import Net
from netdsl.errors import ConversionError
from netdsl.prediction.decoders import decoder_of

pytest.importorskip("onnxruntime")

SIZE = 16, 24
PRIORS = [
    {"size": [2, 3], "min_size": [6], "max_size": [9], "aspect_ratio": [2]},
    {"size": [1, 1], "min_size": [12]},
]
MAP = {"grid": (18, 4, 6)}  # two anchors with four classes
FLAT = {"locations": (4 * 25,), "scores": (3 * 25,)}
SSD_BLOBS = {"locations": "locations", "scores": "scores"}
HEADS = {"sure": (4, 2, 3), "boxes": (8, 2, 3), "marks": (20, 2, 3)}
RETINA: dict[str, Any] = {"decoder": "retinaface", "strides": [8], "scales": [[1, 0.5]]}
CENTERS = {"heat": (1, 4, 6), "scale": (2, 4, 6), "offset": (2, 4, 6), "marks": (10, 4, 6)}
CENTER_BLOBS = {"heatmap": "heat", "scale": "scale", "offset": "offset", "landmarks": "marks"}
MASKS: dict[str, Any] = {
    "decoder": "facemask",
    "feature_maps": [[3, 4], [2, 2]],
    "anchor_sizes": [[0.2, 0.3], [0.5]],
    "anchor_ratios": [[1, 0.62], [1]],
    "blobs": {"boxes": "boxes", "scores": "scores"},
}
MASK_BLOBS = {"boxes": (40, 4), "scores": (40, 3)}
YOLO: dict[str, Any] = {"decoder": "yolo", "anchors": [[5, 6, 9, 8]], "blobs": {"grids": "grid"}, "threshold": 0.3}
SSD: dict[str, Any] = {"decoder": "ssd", "priors": PRIORS, "blobs": SSD_BLOBS}

Case = tuple[dict[str, Any], dict[str, tuple[int, ...]]]
CASES: dict[str, Case] = {
    "ssd": (SSD, FLAT),
    "ssd with raw scores": ({**SSD, "activation": "softmax"}, FLAT),
    "ssd without a background": ({**SSD, "background": -1, "activation": "sigmoid", "most": 5}, FLAT),
    "ssd with corners": ({**SSD, "code": "CORNER", "variances": [1, 1, 2, 2], "candidates": 4}, FLAT),
    "ssd with corners by size": ({**SSD, "code": "CORNER_SIZE"}, FLAT),
    "ssd with one label": ({**SSD, "one_label": True}, FLAT),
    "ssd across labels": ({**SSD, "across_labels": True, "candidates": 9}, FLAT),
    "ssd on maps": (
        {
            "decoder": "ssd",
            "priors": [PRIORS[0]],
            "feature_maps": True,
            "blobs": {"locations": "codes", "scores": "sure"},
        },
        {"codes": (16, 2, 3), "sure": (12, 2, 3)},
    ),
    "ultraface": (
        {
            "decoder": "ultraface",
            "strides": [8, 16],
            "min_boxes": [[4, 6], [9]],
            "overlap": 0.1,
            "activation": "softmax",
        },
        {"boxes": (14, 4), "scores": (14, 2)},
    ),
    "ultraface with landmarks": (
        {
            "decoder": "ultraface",
            "strides": [8, 16],
            "min_boxes": [[4, 6], [9]],
            "activation": "softmax",
            "clip": False,
            "threshold": 0.5,
            "blobs": {"boxes": "boxes", "scores": "scores", "landmarks": "marks"},
        },
        {"boxes": (14, 4), "scores": (14, 2), "marks": (14, 10)},
    ),
    "facemask": (MASKS, MASK_BLOBS),
    "facemask within labels": ({**MASKS, "across_labels": False, "one_label": False}, MASK_BLOBS),
    "retinaface": ({**RETINA, "blobs": {"scores": "sure", "boxes": "boxes", "landmarks": "marks"}}, HEADS),
    "retinaface without landmarks": (
        {**RETINA, "box_scale": 0.5, "blobs": {"scores": "sure", "boxes": "boxes", "landmarks": []}},
        HEADS,
    ),
    "yolo": (YOLO, MAP),
    "yolo with softmax": ({**YOLO, "activation": "softmax", "unit": "cells", "threshold": 0.1}, MAP),
    "yolo with a scale": ({**YOLO, "xy_scale": [1.2]}, MAP),
    "centerface": ({"decoder": "centerface", "blobs": CENTER_BLOBS}, CENTERS),
    "centerface without landmarks": ({"decoder": "centerface", "blobs": {**CENTER_BLOBS, "landmarks": []}}, CENTERS),
    "landmarks": ({"decoder": "landmarks", "blobs": {"points": "places"}}, {"places": (10,)}),
    "landmarks by axis": (
        {
            "decoder": "landmarks",
            "order": "xxyy",
            "unit": "pixels",
            "scale": 0.5,
            "offset": 3,
            "blobs": {"points": "places"},
        },
        {"places": (10,)},
    ),
    "landmarks and attributes in a blob": (
        {
            "decoder": "landmarks",
            "first": 3,
            "count": 6,
            "blobs": {"points": "face"},
            "groups": {"yaw": {"blob": "face", "first": 1, "count": 1, "scale": 90}},
        },
        {"face": (10,)},
    ),
    "embedding": (
        {"decoder": "embedding", "normalize": True, "blobs": {"embedding": "embedding"}},
        {"embedding": (7,)},
    ),
    "picture": (
        {"decoder": "picture", "scale": 2, "mean": [1, 2, 3], "blobs": {"picture": "pixels"}},
        {"pixels": (3, 5, 6)},
    ),
    "colorization": ({"decoder": "colorization", "blobs": {"colors": "colors"}}, {"colors": (2, 5, 6)}),
    "attributes": (
        {
            "decoder": "attributes",
            "groups": {
                "gender": {"blob": "face", "count": 2, "softmax": True, "names": ["female", "male"]},
                "age": {"blob": "face", "first": 2, "count": 5, "softmax": True, "expected": True},
                "size": {"blob": "face", "first": 7, "scale": 10},
            },
        },
        {"face": (8,)},
    ),
}


def net_of(shapes: dict[str, tuple[int, ...]]) -> Net:
    """Return a net with blobs of these shapes, which depend on its input."""
    dims = f"1, 3, {SIZE[0]}, {SIZE[1]}"
    text = f"layer {{ name: 'in' type: 'Input' top: 'data' input_param {{ shape {{ dim: [{dims}] }} }} }}"
    for name, shape in shapes.items():
        dims = ", ".join(map(str, (-1, *shape)))
        text += f"""
            layer {{ name: "{name}_values" type: "InnerProduct" bottom: "data" top: "{name}_values"
                inner_product_param {{ num_output: {int(np.prod(shape))} weight_filler {{ type: "xavier" }} }} }}
            layer {{ name: "{name}" type: "Reshape" bottom: "{name}_values" top: "{name}"
                reshape_param {{ shape {{ dim: [{dims}] }} }} }}"""
    net, random = Net(from_text(text, pb.NetParameter)), torch.Generator().manual_seed(1)
    for blob in net.module.parameters():
        blob.data.copy_(torch.randn(blob.shape, generator=random) * (0.05 if blob.dim() > 1 else 0))
    return net


def blobs_and_answer(
    path: Path, net: Net, shapes: dict[str, Any], scale: float
) -> tuple[dict[str, Any], dict[str, Any]]:
    data = np.random.default_rng(3).standard_normal((1, 3, *SIZE)).astype(np.float32) * np.float32(scale)
    built = net.module.built
    outputs = {built.graph.blobs[edge]: value for edge, value in edge_values(built, {"data": data}).items()}
    with open_onnx_session(load_onnx(path)) as session:
        return {name: outputs[name] for name in shapes}, session({"data": data})


@pytest.mark.parametrize("case", CASES)
def test_onnxruntime_gives_the_decoded_answer(case: str, tmp_path: Path) -> None:
    output, shapes = CASES[case]
    net, decoding = net_of(shapes), OutputDecoding(decoder_of(output), SIZE)
    report = export_onnx(net, tmp_path / "net.onnx", decoder=decoding.decoder)
    assert report is not None and report.decoded is not None
    assert report.decoded < 1e-5
    blobs, answer = blobs_and_answer(tmp_path / "net.onnx", net, shapes, 1.0)
    expected = decoding.decoded(blobs)
    assert answer.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_allclose(answer[name], values, rtol=1e-3, atol=1e-3)
    if "boxes" in expected:
        assert len(expected["boxes"]) > 1
        assert answer["labels"].dtype == np.int64


def test_an_image_without_objects_gives_empty_outputs(tmp_path: Path) -> None:
    output, shapes = CASES["yolo"]
    net = net_of(shapes)
    export_onnx(net, tmp_path / "net.onnx", decoder=decoder_of({**output, "threshold": 1}))
    _, answer = blobs_and_answer(tmp_path / "net.onnx", net, shapes, 0.0)
    assert {name: values.shape for name, values in answer.items()} == {"boxes": (0, 4), "scores": (0,), "labels": (0,)}


def test_a_score_that_equals_the_threshold_is_enough(tmp_path: Path) -> None:
    output, shapes = CASES["ultraface"]
    net = net_of(shapes)
    decoding = OutputDecoding(decoder_of({**output, "threshold": 0, "overlap": 1}), SIZE)
    export_onnx(net, tmp_path / "net.onnx", decoder=decoding.decoder)
    _, answer = blobs_and_answer(tmp_path / "net.onnx", net, shapes, 0.0)
    assert len(answer["boxes"]) == 14


def test_a_decoder_without_an_onnx_form_is_refused(tmp_path: Path) -> None:
    decoding = OutputDecoding(decoder_of({"decoder": "text", "names": ["a", "b"]}), SIZE)
    with pytest.raises(ConversionError, match=r"decoder 'text' has no ONNX form, .* leave --decode out"):
        export_onnx(net_of({"scores": (4, 2)}), tmp_path / "net.onnx", decoder=decoding.decoder)
    assert not (tmp_path / "net.onnx").exists()


def test_a_batch_of_two_is_refused(tmp_path: Path) -> None:
    text = """layer { name: "in" type: "Input" top: "data" input_param { shape { dim: [2, 3, 4, 4] } } }
        layer { name: "out" type: "Power" bottom: "data" top: "out" power_param { scale: 2 } }"""
    net = Net(from_text(text, pb.NetParameter))
    decoding = OutputDecoding(decoder_of({"decoder": "embedding", "blobs": {"embedding": "out"}}), SIZE)
    with pytest.raises(ConversionError, match="export the net with --batch 1"):
        export_onnx(net, tmp_path / "net.onnx", decoder=decoding.decoder)


def test_an_output_with_the_name_of_an_input_is_refused(tmp_path: Path) -> None:
    decoding = OutputDecoding(decoder_of({"decoder": "attributes", "groups": {"data": {"blob": "face"}}}), SIZE)
    with pytest.raises(ConversionError, match="has the name of an input of the net; rename"):
        export_onnx(net_of({"face": (8,)}), tmp_path / "net.onnx", decoder=decoding.decoder)


def test_a_net_without_images_is_refused(tmp_path: Path) -> None:
    text = """layer { name: "in" type: "Input" top: "data" input_param { shape { dim: [1, 8] } } }
        layer { name: "out" type: "Power" bottom: "data" top: "out" power_param { scale: 2 } }"""
    decoder = decoder_of({"decoder": "embedding", "blobs": {"embedding": "out"}})
    with pytest.raises(ConversionError, match=r"0 inputs for images, .* export the net without a decoder"):
        export_onnx(Net(from_text(text, pb.NetParameter)), tmp_path / "net.onnx", decoder=decoder)
