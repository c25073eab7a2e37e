"""AnnotatedData: the shapes that follow from its settings, and the batches that it reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import lmdb
import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl import Net
from netdsl.data.batches.batches import Batches
from netdsl.data.batches.reading import Loading, Reading
from netdsl.data.sources.class_names import classes_of
from netdsl.errors import DataError, NetError, ShapeError
from netdsl.layer import BringsData
from netdsl.layers import LAYERS


def shapes(settings: str, tops: int = 2) -> list[tuple[int, ...]]:
    message = from_text(f'type: "AnnotatedData" {settings}', pb.LayerParameter)
    message.top.extend(f"top{index}" for index in range(tops))
    layer = LAYERS["AnnotatedData"](message, [])
    assert isinstance(layer, BringsData)
    return layer.known_shapes()


BATCH = "data_param { batch_size: 8 }"
RESIZE = "resize_param { height: 300 width: 416 }"


@pytest.mark.parametrize(
    ("transform", "size"),
    [
        ("", (-1, -1, -1)),
        (f"{RESIZE} resize_param {{ height: 20 width: 30 }}", (-1, 300, 416)),
        (f"{RESIZE} crop_size: 224", (-1, 224, 224)),
        (f"{RESIZE} crop_h: 100 crop_w: 90 force_gray: true", (1, 100, 90)),
    ],
)
def test_images(transform, size):
    assert shapes(f"{BATCH} transform_param {{ {transform} }}", 1) == [(8, *size)]


def test_boxes_and_places_have_the_stated_shapes():
    transform = f"transform_param {{ {RESIZE} }}"
    assert shapes(f"{BATCH} {transform}") == [(8, -1, 300, 416), (1, 1, 8, 8)]
    assert shapes(f"{BATCH} {transform} annotated_data_param {{ yolo_data_type: 1 }}")[1] == (8, 1, 300, 5)
    assert shapes(f"{BATCH} {transform}", 3)[2] == (8, 1, 37, 52)
    resized = "annotated_data_param { seg_resize_width: 10 seg_resize_height: 20 }"
    assert shapes(f"{BATCH} {transform} {resized}", 3)[2] == (8, 1, 20, 10)


def test_a_batch_size_is_needed():
    with pytest.raises(NetError, match="batch_size"):
        shapes("")


# Batches

COUNT = 11


def record(index: int) -> pb.AnnotatedDatum:
    """Return record i, with its number in its colors and i % 3 objects of class i, the second of which is
    difficult."""
    pixels = np.full((20 + index, 30, 3), index, np.uint8)
    made = pb.AnnotatedDatum(type=pb.AnnotatedDatum.BBOX)
    made.datum.data, made.datum.encoded = cv2.imencode(".png", pixels)[1].tobytes(), True
    made.datum.label = index
    made.datum.seg_label = cv2.imencode(".png", np.full((20 + index, 30), index % 4, np.uint8))[1].tobytes()
    for number in range(index % 3):
        box = made.annotation_group.add(group_label=index).annotation.add(instance_id=number).bbox
        box.xmin, box.ymin, box.xmax, box.ymax = 0.25, 0.25 * number, 0.75, 0.5 + 0.25 * number
        box.difficult = number == 1
    return made


def write_database(path: Path, *, typed: bool = True) -> None:
    values = [record(index) for index in range(COUNT)]
    for value in () if typed else values:
        value.ClearField("type")
    with lmdb.open(str(path), map_size=1 << 24) as database, database.begin(write=True) as transaction:
        for index, value in enumerate(values):
            transaction.put(b"%08d" % index, value.SerializeToString())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_database(tmp_path / "boxes")
    return tmp_path


TRAINED = """transform_param { mirror: true resize_param { height: 12 width: 16 interp_mode: LINEAR interp_mode: AREA }
    emit_constraint { emit_type: CENTER } expand_param { prob: 0.5 max_expand_ratio: 4 }
    distort_param { brightness_prob: 0.5 brightness_delta: 32 contrast_prob: 0.5 contrast_lower: 0.5 contrast_upper: 1.5
        hue_prob: 0.5 hue_delta: 18 saturation_prob: 0.5 saturation_lower: 0.5 saturation_upper: 1.5 } }
  annotated_data_param {
    batch_sampler { max_sample: 1 max_trials: 1 }
    batch_sampler { sampler { min_scale: 0.3 max_scale: 1 min_aspect_ratio: 0.5 max_aspect_ratio: 2 }
        sample_constraint { min_jaccard_overlap: 0.5 } max_sample: 1 max_trials: 50 } }"""
PLAIN = "transform_param { resize_param { height: 12 width: 16 } } annotated_data_param { batch_sampler {} }"


def reading(settings: str, tops: int = 2, *, batch: int = 4, dialect: str = "ssd") -> Reading:
    text = f'type: "AnnotatedData" data_param {{ source: "boxes" batch_size: {batch} backend: LMDB }} {settings}'
    message = from_text(text, pb.LayerParameter)
    message.top.extend(f"top{index}" for index in range(tops))
    message.phase = pb.TRAIN
    message.dialects.append(dialect)
    layer = LAYERS["AnnotatedData"](message, [])
    assert isinstance(layer, BringsData)
    return layer.reading(seed=5)


Tops = list[np.ndarray]


def batches(settings: str, count: int = 3, start: int = 0, loading: Loading | None = None, **layer: Any) -> list[Tops]:
    with Batches(reading(settings, **layer), loading or Loading(workers=2)) as read:
        read.seek(start)
        return [[top.numpy().copy() for top in next(read)] for _ in range(count)]


def same(some: list[Tops], others: list[Tops]) -> bool:
    pairs = [
        (one, other) for tops, more in zip(some, others, strict=True) for one, other in zip(tops, more, strict=True)
    ]
    return all(one.shape == other.shape and (one == other).all() for one, other in pairs)


def test_a_batch_has_images_and_a_row_for_each_object(folder: Path) -> None:
    (images, rows), (_, more) = batches(PLAIN, 2)
    assert images.shape == (4, 3, 12, 16) and images[:, 0, 1, 1].tolist() == [0, 1, 2, 3]
    assert rows.tolist() == [
        [[[1, 1, 0, 0.25, 0, 0.75, 0.5, 0], [2, 2, 0, 0.25, 0, 0.75, 0.5, 0], [2, 2, 1, 0.25, 0.25, 0.75, 0.75, 1]]]
    ]
    assert more.shape == (1, 1, 4, 8) and more[0, 0, :, :2].tolist() == [[0, 4], [1, 5], [1, 5], [3, 7]]


def test_a_batch_without_objects_has_a_row_of_minus_ones(folder: Path) -> None:
    assert batches(PLAIN, 1, batch=1)[0][1].tolist() == [[[[-1] * 8]]]


def test_two_runs_are_equal_and_a_run_continues_where_another_ended(folder: Path) -> None:
    run = batches(TRAINED, 8, loading=Loading(seed=1, workers=3))
    assert same(run, batches(TRAINED, 8, loading=Loading(seed=1, workers=1)))
    assert same(run[5:], batches(TRAINED, 3, start=5, loading=Loading(seed=1)))
    assert not same(run, batches(TRAINED, 8, loading=Loading(seed=2)))


def test_two_ranks_share_the_images(folder: Path) -> None:
    whole = batches(PLAIN, 4)
    ranks = [batches(PLAIN, 2, loading=Loading(rank=rank, size=2)) for rank in range(2)]
    numbers = [int(image[0, 1, 1]) for images, _ in whole for image in images]
    shared = [[int(image[0, 1, 1]) for images, _ in rank for image in images] for rank in ranks]
    assert shared == [numbers[0::2], numbers[1::2]]


def test_randomness_affects_images_and_boxes_alike(folder: Path) -> None:
    drawn = batches(TRAINED, 30)
    assert all(images.shape == (4, 3, 12, 16) for images, _ in drawn)
    boxes = np.concatenate([rows[0, 0] for _, rows in drawn])[:, 3:7]
    assert len(np.unique(boxes, axis=0)) > 60 and boxes.min() >= 0 and boxes.max() <= 1
    with_objects = boxes[(boxes >= 0).all(1)]
    assert (with_objects[:, 2:] > with_objects[:, :2]).all()


SIZES = "".join(f"resize_param {{ prob: 0.25 height: {side} width: {side} }} " for side in (4, 6, 8, 10))


def test_all_ranks_use_the_size_that_is_drawn_for_ten_batches(folder: Path) -> None:
    settings = f"transform_param {{ {SIZES} }} annotated_data_param {{ batch_sampler {{}} }}"
    one, other = (
        [images.shape[2] for images, _ in batches(settings, 40, loading=Loading(rank=rank, size=3))]
        for rank in range(2)
    )
    assert one == other and len(set(one)) > 1
    assert [len(set(one[start : start + 10])) for start in range(0, 40, 10)] == [1] * 4
    assert [images.shape[2] for images, _ in batches(settings, 3, start=27)] == one[27:30]


def test_rows_for_yolo_have_the_stated_shape(folder: Path) -> None:
    settings = PLAIN.replace("batch_sampler", "yolo_data_type: 1 train_diffcult: false batch_sampler")
    ((_, rows),) = batches(settings, 1)
    assert rows.shape == (4, 1, 300, 5)
    assert rows[2, 0, :2].tolist() == [[1, 0.5, 0.25, 0.5, 0.5], [0] * 5]
    assert not rows[0].any() and not rows[3].any()


def test_maps_of_classes_are_the_third_top(folder: Path) -> None:
    Path("map.prototxt").write_text(
        "".join(f'item {{ name: "c{n}" label: {n} label_id: {n // 2 + 1} }} ' for n in range(4))
    )
    settings = PLAIN.replace("batch_sampler", 'single_class: false label_map_file: "map.prototxt" batch_sampler')
    ((_, _, maps),) = batches(settings, 1, tops=3)
    assert maps.shape == (4, 2, 1, 2)
    assert maps[:, :, 0, 0].tolist() == [[1, 0], [1, 0], [0, 1], [0, 1]]
    assert shapes(f"{BATCH} {settings}", 3)[2] == (8, 2, 1, 2)
    Path("map.prototxt").write_text('item { name: "only" label: 0 }')
    with pytest.raises(DataError, match="the file has 1 classes and a label_id up to 0"):
        reading(settings, 3)
    with pytest.raises(NetError, match="label_map_file is missing"):
        reading(settings.replace('label_map_file: "map.prototxt"', ""), 3)


def test_images_without_boxes_and_labels_of_unannotated_records(folder: Path) -> None:
    ((images,),) = batches(PLAIN, 1, tops=1)
    assert images.shape == (4, 3, 12, 16)
    Path("boxes/data.mdb").unlink()
    write_database(folder / "boxes", typed=False)
    assert batches(PLAIN, 1)[0][1].tolist() == [[[[0]]], [[[1]]], [[[2]]], [[[3]]]]
    named = PLAIN.replace("batch_sampler", "anno_type: BBOX batch_sampler")
    assert batches(named, 1)[0][1].shape == (1, 1, 3, 8)


def test_only_mobilenet_yolo_jitters_by_default(folder: Path) -> None:
    def is_cut(settings: str, dialect: str = "ssd") -> bool:
        text = f"transform_param {{ resize_param {{ height: 12 width: 16 }} }} {settings}"
        rows = np.concatenate([rows[0, 0] for _, rows in batches(text, 6, dialect=dialect)])
        return set(rows[:, 3].tolist()) != {0.25}

    assert not is_cut("") and not is_cut("annotated_data_param { batch_sampler {} }", "mobilenet-yolo")
    assert is_cut("", "mobilenet-yolo") and is_cut("annotated_data_param { yolo_data_jitter: 0.5 }")
    assert not is_cut("annotated_data_param { yolo_data_jitter: 0 }", "mobilenet-yolo")


def test_classes_are_named_by_the_label_map_if_there_is_one(folder: Path) -> None:
    settings = PLAIN.replace("batch_sampler", 'label_map_file: "labelmap_voc.prototxt" batch_sampler')
    assert classes_of(reading(settings).source) == ()
    Path("labelmap_voc.prototxt").write_text('item { name: "none" label: 0 } item { name: "cat" label: 1 }')
    assert classes_of(reading(settings).source) == ("none", "cat")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("annotated_data_param { difficult_label_warmup: true }", "difficult_label_warmup"),
        ("annotated_data_param { anno_type: LANE }", "anno_type LANE"),
        ("transform_param { resize_param { height: 9 width: 9 resize_mode: FIT_SMALL_SIZE } }", "set batch_size to 1"),
        ("transform_param { noise_param { hist_eq: true } }", "noise_param: not supported"),
        ("transform_param { cvt_bgr2rgb: true }", "cvt_bgr2rgb: not supported"),
        (
            "transform_param { crop_size: 4 random_aspect_ratio_param {} }",
            "random_aspect_ratio_param doesn't work for images with",
        ),
        (
            "transform_param { resize_param { prob: 0.5 height: 9 width: 9 } "
            "resize_param { prob: 0.5 height: 9 width: 9 resize_mode: FIT_LARGE_SIZE_AND_PAD } } "
            "annotated_data_param { yolo_data_jitter: 0.3 }",
            "give a single resize_mode",
        ),
    ],
)
def test_impossible_settings_are_refused(folder: Path, settings: str, message: str) -> None:
    with pytest.raises((NetError, DataError), match=message):
        reading(settings)


def test_images_keep_their_sizes_with_a_batch_size_of_1(folder: Path) -> None:
    settings = "transform_param { resize_param { height: 10 width: 10 resize_mode: FIT_SMALL_SIZE } }"
    sizes = [images.shape for images, _ in batches(settings, 3, batch=1)]
    assert sizes == [(1, 3, 10, 15), (1, 3, 10, 14), (1, 3, 10, 13)]
    with pytest.raises(ShapeError, match="images in a batch have different sizes"):
        batches("")


NET = """
layer { name: "data" type: "AnnotatedData" top: "data" top: "label"
  data_param { source: "boxes" batch_size: 4 backend: LMDB } %s }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
  convolution_param { num_output: 8 kernel_size: 3 stride: 2 pad: 1 weight_filler { type: "xavier" } } }
layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" }
layer { name: "loc" type: "Convolution" bottom: "conv" top: "loc"
  convolution_param { num_output: 12 kernel_size: 1 weight_filler { type: "xavier" } } }
layer { name: "conf" type: "Convolution" bottom: "conv" top: "conf"
  convolution_param { num_output: 36 kernel_size: 1 weight_filler { type: "xavier" } } }
layer { name: "loc_perm" type: "Permute" bottom: "loc" top: "loc_perm" permute_param { order: [0, 2, 3, 1] } }
layer { name: "conf_perm" type: "Permute" bottom: "conf" top: "conf_perm" permute_param { order: [0, 2, 3, 1] } }
layer { name: "loc_flat" type: "Flatten" bottom: "loc_perm" top: "loc_flat" }
layer { name: "conf_flat" type: "Flatten" bottom: "conf_perm" top: "conf_flat" }
layer { name: "priors" type: "PriorBox" bottom: "conv" bottom: "data" top: "priors"
  prior_box_param { min_size: 6 aspect_ratio: 2 variance: [0.1, 0.1, 0.2, 0.2] } }
layer { name: "loss" type: "MultiBoxLoss" bottom: "loc_flat" bottom: "conf_flat" bottom: "priors" bottom: "label"
  top: "loss" propagate_down: [true, true, false, false] loss_param { normalization: VALID }
  multibox_loss_param { loc_loss_type: SMOOTH_L1 conf_loss_type: SOFTMAX num_classes: 12 share_location: true
    match_type: PER_PREDICTION overlap_threshold: 0.5 neg_pos_ratio: 3 } }
"""


@pytest.mark.parametrize(
    "settings", [TRAINED, f"transform_param {{ {SIZES} }} annotated_data_param {{ batch_sampler {{}} }}"]
)
def test_a_small_ssd_learns_from_a_database(folder: Path, settings: str) -> None:
    scaled = settings.replace("transform_param {", "transform_param { scale: 0.004 ", 1)
    net = Net(from_text(NET % scaled, pb.NetParameter), phase="TRAIN")
    losses = [net.train(11, base_lr=0.01) for _ in range(3)]
    assert np.isfinite(losses).all() and losses[-1] < losses[0]
