"""Images that are sent to a GPU as bytes and transformed there equal images that a CPU transforms one by one, to the
bit."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from caffe_proto.text.prototxt import from_text
from netdsl.data.batches.batch import finished
from netdsl.data.batches.batches import Batches
from netdsl.data.batches.reading import Loading, Reading
from netdsl.data.sources.arrays import ArraySource
from netdsl.data.transforms.transform import Transform
from netdsl.errors import DataError
from tests.pretend_gpu import GPU, pretend_gpu

IMAGES = np.random.default_rng(5).integers(0, 256, (9, 3, 7, 6), np.uint8)
LABELS = np.arange(9)
TRANSFORMS = [
    "",
    "mirror: true crop_size: 5",
    "mirror: true crop_size: 4 scale: 0.00392 mean_value: 104.3 mean_value: 117.1 mean_value: 123.7",
    "crop_h: 3 crop_w: 5 mean_value: 127.5 scale: 0.0078125",
]


class ArraysOneByOne(ArraySource):
    """Images that threads transform one by one."""

    take = None  # type: ignore[assignment]


def batches(images: np.ndarray, settings: str, train: bool, pinned: bool, kind: type[ArraySource]) -> list[Tensor]:
    transform = Transform(from_text(settings, pb.TransformationParameter), train=train)
    reading = Reading(kind([(images, LABELS)]), 4, (transform,), shuffle=True)
    with Batches(reading, Loading(seed=3, pinned=pinned)) as found:
        tops = [next(found) for _ in range(5)]
    if pinned:
        assert all(top.is_pinned() and top.dtype is torch.uint8 for top, _ in tops)
        tops = [tuple(top.to(GPU, non_blocking=True) for top in each) for each in tops]
    return [torch.cat([top.flatten() for top in finished(reading.transforms, each)]) for each in tops]


@pytest.mark.parametrize("kind", [ArraySource, ArraysOneByOne])
@pytest.mark.parametrize("train", [True, False])
@pytest.mark.parametrize("settings", TRANSFORMS)
def test_images_on_a_gpu_have_the_bits_of_images_that_a_cpu_transforms(settings: str, train: bool, kind) -> None:
    expected = batches(IMAGES, settings, train, False, kind)
    with pretend_gpu() as gpu:
        found = batches(IMAGES, settings, train, True, kind)
        assert gpu.stops == []
        assert all(torch.equal(one.to("cpu"), other) for one, other in zip(found, expected, strict=True))


def test_images_that_are_not_bytes_are_transformed_on_the_cpu() -> None:
    images = IMAGES.astype(np.float32) / 7
    expected = batches(images, TRANSFORMS[2], True, False, ArraySource)
    reading = Reading(
        ArraySource([(images, LABELS)]), 4,
        (Transform(from_text(TRANSFORMS[2], pb.TransformationParameter), train=True),), shuffle=True,
    )  # fmt: skip
    with pretend_gpu(), Batches(reading, Loading(seed=3, pinned=True)) as found:
        top, label = next(found)
        assert top.dtype is torch.float32
        assert torch.equal(torch.cat([top.flatten(), label]), expected[0])


def test_an_image_of_floats_among_images_of_bytes_is_an_error() -> None:
    transform = Transform(pb.TransformationParameter(), train=False)
    with pytest.raises(DataError, match="the first image of a batch has bytes, but this one has other numbers"):
        transform(IMAGES[0].astype(np.float32), np.random.default_rng(0), out=np.empty((3, 7, 6), np.uint8))
