from __future__ import annotations

from collections.abc import Callable

import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl.layer import Layer
from netdsl.layers import LAYERS


@pytest.fixture
def made() -> Callable[..., Layer]:
    """Makes a layer on bottoms of some shapes, with memory."""

    def make(
        kind: str, settings: str, *shapes: tuple[int, ...], tops: int = 1, train: bool = False, dialect: str = ""
    ) -> Layer:
        message = from_text(f'type: "{kind}" {settings}', pb.LayerParameter)
        message.bottom.extend(f"bottom{index}" for index in range(len(shapes)))
        message.top.extend(f"top{index}" for index in range(tops))
        message.dialects.extend([dialect] if dialect else [])
        message.phase = pb.TRAIN if train else pb.TEST
        layer = LAYERS[kind](message, shapes).train(train)
        layer.top_shapes(shapes)
        layer.allocate("cpu", {})
        return layer

    return make
