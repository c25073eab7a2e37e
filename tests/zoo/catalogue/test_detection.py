"""Nets for segmentation, edges, detection, keypoints and sequences have their published sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from caffe_proto import caffe_pb2 as pb
from netdsl import Net
from netdsl.model.model import Model, todays_form
from netdsl.net.graph import Phase, resolve
from zoo import catalogue

PASCAL_CLASSES = 21


def deployed(name: str) -> pb.NetParameter:
    return catalogue.entry_of(name).deploy()


def shapes_of(net: pb.NetParameter, phase: Phase = Phase.TEST) -> dict[str, tuple[int, ...]]:
    built = Model(todays_form(net)).settled(phase).built
    return dict(zip(built.graph.blobs, built.shapes, strict=True))


def outputs_of(net: pb.NetParameter) -> set[str]:
    graph = resolve(todays_form(net))
    return {graph.blobs[edge] for edge in graph.outputs}


def small(net: pb.NetParameter, **shapes: list[int]) -> Net:
    """Return a net with small inputs, filled with small numbers."""
    for layer in net.layer:
        for top, shape in zip(layer.top, layer.input_param.shape, strict=False):
            shape.dim[:] = shapes.get(top, shape.dim)
    smaller = Net(net)
    random = torch.Generator().manual_seed(1)
    for parameter in smaller.module.parameters():
        parameter.data.normal_(0, 0.02, generator=random)
    return smaller


def image(*shape: int) -> Any:
    return np.random.default_rng(2).standard_normal(shape, np.float32)


@pytest.mark.parametrize("name", ["fcn-32s", "fcn-16s", "fcn-8s"])
def test_fcn_has_a_score_for_every_pixel_of_an_image_of_any_size(name: str) -> None:
    net = deployed(name)
    assert outputs_of(net) == {"score"}
    for height, width in ((500, 500), (375, 467), (64, 101)):
        net.layer[0].input_param.shape[0].dim[2:] = [height, width]
        assert shapes_of(net)["score"] == (1, PASCAL_CLASSES, height, width)


@pytest.mark.slow
def test_hed_has_five_side_outputs_of_the_images_size_and_their_mean() -> None:
    net = deployed("hed")
    found = small(net, data=[1, 3, 45, 62]).forward(data=image(1, 3, 45, 62))
    assert all(maps.shape == (1, 1, 45, 62) and ((maps > 0) & (maps < 1)).all() for maps in found.values())


def test_the_side_outputs_of_hed_are_aligned_with_the_pixels() -> None:
    """A net whose weights only pass on their input shows a square in all side outputs at its place in the image."""
    message = deployed("hed")
    assert outputs_of(message) == {"sigmoid-fuse", *(f"sigmoid-dsn{number}" for number in range(1, 6))}
    message.layer[0].input_param.shape[0].dim[2:] = [110, 110]
    net = Net(message)
    for name, parameter in net.module.named_parameters():
        parameter.data.zero_()
        if name.endswith("weight"):
            parameter.data[0, 0] = interpolation(parameter.shape[-1]) if "upsample" in name else 0
            parameter.data[0, 0, parameter.shape[2] // 2, parameter.shape[3] // 2] += "upsample" not in name
    square = np.zeros((1, 3, 110, 110), np.float32)
    square[0, 0, 62:78, 46:62] = 4  # one place of the coarsest output, after its 34 pixels of padding
    found = net.forward(data=square)
    for number in range(1, 6):
        edges = torch.logit(found[f"sigmoid-dsn{number}"][0, 0].double())
        center = [float((edges.sum(axis) * torch.arange(110)).sum() / edges.sum()) for axis in (1, 0)]
        assert center == pytest.approx([69.5, 53.5], abs=0.1), f"side output {number}"


def interpolation(size: int) -> torch.Tensor:
    ramp = 1 - (torch.arange(size) - (size - 1) / 2).abs() / (size / 2)
    return ramp[:, None] * ramp


@pytest.mark.parametrize(("name", "boxes"), [("ssd-300-vgg", 8732), ("ssd-300-mobilenet", 1917)])
def test_ssd_has_the_published_number_of_default_boxes(name: str, boxes: int) -> None:
    net = deployed(name)
    assert outputs_of(net) == {"detection_out"}
    shapes = shapes_of(net)
    assert shapes["mbox_priorbox"] == (1, 2, 4 * boxes)
    assert shapes["mbox_loc"] == (1, 4 * boxes) and shapes["mbox_conf"] == (1, PASCAL_CLASSES * boxes)


@pytest.mark.slow
def test_ssd_detects_boxes_in_parts_of_the_image() -> None:
    found = small(deployed("ssd-300-mobilenet")).forward(data=image(1, 3, 300, 300))["detection_out"]
    assert found.shape[:2] == (1, 1) and found.shape[3] == 7 and 0 < found.shape[2] <= 200
    assert set(found[0, 0, :, 1].tolist()) <= set(map(float, range(1, PASCAL_CLASSES)))


@pytest.mark.slow
def test_faster_rcnn_predicts_classes_and_box_corrections_for_regions() -> None:
    net = small(deployed("faster-rcnn-vgg16"), data=[1, 3, 160, 224])
    assert set(net.module.inputs) == {"data", "im_info"}
    found = net.forward(data=image(1, 3, 160, 224), im_info=[[160, 224, 1.5]])
    assert set(found) == {"cls_prob", "bbox_pred"}
    regions = len(found["cls_prob"])
    assert 0 < regions <= 300 and found["bbox_pred"].shape == (regions, 4 * PASCAL_CLASSES)
    assert torch.allclose(found["cls_prob"].sum(1), torch.ones(regions))


def test_faster_rcnn_learns_from_regions_that_it_proposes() -> None:
    train_val = catalogue.entry_of("faster-rcnn-vgg16").train_val.message
    training, testing = shapes_of(train_val, Phase.TRAIN), shapes_of(train_val)
    assert training["rpn_rois"] == (2000, 5) and training["rois"] == (128, 5)
    assert testing["rois"] == (300, 5) and "rpn_rois" not in testing


def test_openpose_has_maps_of_limbs_and_keypoints_from_every_stage() -> None:
    shapes = shapes_of(catalogue.entry_of("openpose-body").train_val.message, Phase.TRAIN)
    assert [shapes[f"weight_stage{stage}_L1"][1] for stage in range(1, 7)] == [38] * 6
    assert [shapes[f"weight_stage{stage}_L2"][1] for stage in range(1, 7)] == [19] * 6
    net = deployed("openpose-body")
    assert outputs_of(net) == {"net_output"} and shapes_of(net)["net_output"] == (1, 19 + 38, 46, 46)


def test_lrcn_classifies_every_frame_of_every_clip() -> None:
    train_val = catalogue.entry_of("lrcn").train_val.message
    assert shapes_of(train_val, Phase.TRAIN)["lstm1"] == (16, 24, 256)
    assert shapes_of(train_val)["fc8-final"] == (16, 3, 101)
    net = deployed("lrcn")
    assert outputs_of(net) == {"probs"} and shapes_of(net)["probs"] == (16, 1, 101)


def test_the_text_net_remembers_earlier_characters() -> None:
    net = small(deployed("char-rnn"))
    assert net.forward(data=[[7]], clip=[[0]])["prob"].shape == (1, 62)
    after_three, after_five = (after(net, first) for first in (3, 5))
    assert torch.equal(after_three, after(net, 3)) and not torch.equal(after_three, after_five)


def after(net: Net, first: int) -> torch.Tensor:
    """Return the output after two letters, the second of which is the same."""
    net.forward(data=[[first]], clip=[[0]])
    return net.forward(data=[[1]], clip=[[1]])["prob"]


def test_text_is_learned_in_25_parallel_streams() -> None:
    shapes = shapes_of(catalogue.entry_of("char-rnn").train_val.message, Phase.TRAIN)
    assert shapes["lstm2"] == (75, 25, 512) and shapes["ip1"] == (1875, 62)
