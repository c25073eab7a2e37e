"""How netdsl reads boxes differently from Caffe-SSD and MobileNet-YOLO, line by line of docs/caffe_differences.md."""

from __future__ import annotations

import numpy as np

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl.data.transforms.annotated_transform import AnnotatedTransform, ClassMaps
from netdsl.data.transforms.boxes import BatchSamplers, centered_rows
from tests.differences.shown import shows

NOISE = np.random.default_rng(0).integers(1, 256, (3, 16, 24), dtype=np.uint8)  # a JPEG keeps little of this
ROWS = np.array([[3, 0, 0.25, 0.25, 0.5, 0.75, 0]], np.float32)


def transformed(
    text: str, image: np.ndarray, *maps: np.ndarray, class_maps: ClassMaps | None = None
) -> list[np.ndarray]:
    settings, samplers = from_text(text, pb.TransformationParameter), BatchSamplers([pb.BatchSampler()])
    made = AnnotatedTransform(settings, samplers, class_maps, train=True)
    return list(made((image, ROWS, *maps), np.random.default_rng(1), 0))


@shows("Images in the steps of `AnnotatedData`")
def test_each_step_changes_only_its_own_pixels() -> None:
    text = "distort_param { random_order_prob: 1 } expand_param { prob: 1 max_expand_ratio: 2 }"
    image = transformed(text, NOISE)[0]
    rows, columns = np.nonzero(image[0])
    inner = image[:, rows.min() : rows.max() + 1, columns.min() : columns.max() + 1]
    assert sorted(map(bytes, inner.astype(np.uint8))) == sorted(map(bytes, NOISE))


@shows("Images in the databases of `AnnotatedData` that aren't encoded")
def test_raw_images_are_transformed_like_encoded_ones() -> None:
    text = """distort_param { brightness_prob: 1 brightness_delta: 9 } expand_param { prob: 1 max_expand_ratio: 2 }
        mean_value: 77 resize_param { height: 30 width: 30 }"""
    encoded, raw = np.full((16, 24, 3), 99, np.uint8).transpose(2, 0, 1), np.full((3, 16, 24), 99, np.uint8)
    assert (transformed(text, encoded)[0] == transformed(text, raw)[0]).all()
    image = transformed(text, raw)[0]
    assert 0 in image and not (image == 32 - 77).any() and not (image == 99 - 77).any()


@shows(
    "`MIN_OVERLAP` of objects in images that were cropped or expanded, and are then padded by `FIT_LARGE_SIZE_AND_PAD`"
)
def test_padding_loses_no_objects() -> None:
    text = """emit_constraint { emit_type: MIN_OVERLAP emit_overlap: 0.9 }
        resize_param { height: 20 width: 20 resize_mode: FIT_LARGE_SIZE_AND_PAD }"""
    assert transformed(text, NOISE)[1].shape == (1, 7)  # two thirds of the area are left after padding


@shows("`yolo_data_type: 1` of an image with more than 300 objects, and of a batch with none")
def test_rows_for_yolo_are_300_and_those_without_an_object_are_zero() -> None:
    many = centered_rows(np.repeat(ROWS, 301, axis=0), difficult=True)
    assert many.shape == (1, 300, 5) and many.all()
    assert not centered_rows(ROWS[:0], difficult=True).any()


@shows("Class maps of MobileNet-YOLO")
def test_a_map_is_transformed_with_its_image() -> None:
    white = np.where(np.add.outer(range(16), range(24)) > 20, 255, 0).astype(np.uint8)[None]
    text = "expand_param { prob: 1 max_expand_ratio: 2 } mirror: true"
    image, _, shown = transformed(text, white.repeat(3, 0), white, class_maps=ClassMaps(None))
    assert image.shape[1] > 16 and shown.shape[1] != shown.shape[2]
    assert (shown[0] == image[0] / 255).all()
