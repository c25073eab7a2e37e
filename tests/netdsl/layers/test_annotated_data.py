"""The shapes that AnnotatedData's settings say."""

from __future__ import annotations

import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl.errors import NetError
from netdsl.layer import BringsData
from netdsl.layers import LAYERS


def shapes(settings: str, tops: int = 2) -> list[tuple[int, ...]]:
    message = from_text(f'type: "AnnotatedData" {settings}', pb.LayerParameter)
    message.top.extend(f"top{index}" for index in range(tops))
    layer = LAYERS["AnnotatedData"](message, [])
    assert isinstance(layer, BringsData)
    return layer.top_shapes([])


BATCH = "data_param { batch_size: 8 }"
RESIZE = "resize_param { height: 300 width: 416 }"


@pytest.mark.parametrize(
    ("transform", "size"),
    [
        ("", (3, 224, 224)),
        (f"{RESIZE} resize_param {{ height: 20 width: 30 }}", (3, 300, 416)),
        (f"{RESIZE} crop_size: 224", (3, 224, 224)),
        (f"{RESIZE} crop_h: 100 crop_w: 90 force_gray: true", (1, 100, 90)),
    ],
)
def test_images(transform, size):
    assert shapes(f"{BATCH} transform_param {{ {transform} }}", 1) == [(8, *size)]


def test_boxes_and_places():
    transform = f"transform_param {{ {RESIZE} }}"
    assert shapes(f"{BATCH} {transform}") == [(8, 3, 300, 416), (1, 1, 8, 8)]
    assert shapes(f"{BATCH} {transform} annotated_data_param {{ yolo_data_type: 1 }}")[1] == (8, 1, 300, 5)
    assert shapes(f"{BATCH} {transform}", 3)[2] == (8, 1, 37, 52)
    resized = "annotated_data_param { seg_resize_width: 10 seg_resize_height: 20 }"
    assert shapes(f"{BATCH} {transform} {resized}", 3)[2] == (8, 1, 20, 10)


def test_a_batch_size_is_needed():
    with pytest.raises(NetError, match="batch_size"):
        shapes("")
