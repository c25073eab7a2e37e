from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from caffe_proto import CaffeFile, write
from caffe_proto import caffe_pb2 as pb
from netdsl.data.sources.segmentation import (
    SegmentationSource,
    dense_image_source,
    image_labelmap_source,
    image_seg_source,
)
from netdsl.errors import DataError

PIXEL, IMAGE, NONE = pb.ImageDataParameter.PIXEL, pb.ImageDataParameter.IMAGE, pb.ImageDataParameter.NONE
HEIGHT, WIDTH = 5, 7
# Each label encodes its pixel's place (ten times the row plus the column), so a crop shows where it was cut.
LABELS = np.add.outer(10 * np.arange(HEIGHT), np.arange(WIDTH)).astype(np.uint8)
COLORS = np.stack([LABELS, LABELS + 100, 255 - LABELS], axis=2)
PLANES = COLORS.transpose(2, 0, 1).astype(np.float32)


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data").mkdir()
    cv2.imwrite("data/image.png", COLORS)
    cv2.imwrite("data/labels.png", LABELS)
    Path("list.txt").write_text("image.png labels.png\n")


def deeplab(transform: dict[str, object], train: bool = False, **settings: object) -> SegmentationSource:
    p = pb.ImageDataParameter(**{"source": "list.txt", "root_folder": "data/", "label_type": PIXEL} | settings)
    return image_seg_source(p, pb.TransformationParameter(**transform), train=train)


def segnet(transform: dict[str, object], seed: int = 0, **settings: object) -> SegmentationSource:
    p = pb.DenseImageDataParameter(**{"source": "list.txt", "root_folder": "data/"} | settings)
    return dense_image_source(p, pb.TransformationParameter(**transform), seed=seed)


def items(source: SegmentationSource, count: int = 1) -> list[tuple[np.ndarray, ...]]:
    return [source.item(source.fetch(index)) for index in range(count)]


def test_the_image_and_the_labels_are_cropped_alike_in_the_middle() -> None:
    ((image, labels, sizes),) = items(deeplab({"crop_size": 3, "mean_value": [1, 2, 3], "scale": 0.5}))
    mean = np.array([1, 2, 3], np.float32).reshape(3, 1, 1)
    assert (image == (PLANES[:, 1:4, 2:5] - mean) * np.float32(0.5)).all()
    assert (labels == LABELS[1:4, 2:5]).all() and labels.shape == (1, 3, 3)
    assert image.dtype == labels.dtype == sizes.dtype == np.float32
    assert sizes.tolist() == [[[3, 3]]]


def test_training_crops_and_mirrors_images_and_labels_together() -> None:
    drawn = items(deeplab({"crop_height": 4, "crop_width": 5, "mirror": True}, train=True), 300)
    for image, labels, _ in drawn:
        assert (image[0] == labels[0]).all() and (image[2] == 255 - labels[0]).all()
    corners = {(int(labels.min()), bool(labels[0, 0, 0] > labels[0, 0, 1])) for _, labels, _ in drawn}
    assert corners == {
        (10 * top + left, mirrored) for top in range(2) for left in range(3) for mirrored in (True, False)
    }


def test_a_small_image_is_padded_with_the_mean_and_the_ignored_label() -> None:
    ((image, labels, sizes),) = items(deeplab({"crop_h": 4, "crop_w": 9, "mean_value": [9]}, ignore_label=200))
    assert (image[:, :, :7] == PLANES[:, 0:4] - 9).all() and not image[:, :, 7:].any()
    assert (labels[0, :, :7] == LABELS[0:4]).all() and (labels[0, :, 7:] == 200).all()
    assert sizes.tolist() == [[[4, 7]]]
    mirrored = next(each for each in items(deeplab({"crop_h": 4, "crop_w": 9, "mirror": True}), 50) if each[1][0, 0, 0])
    assert (mirrored[1][0, :, :2] == 255).all() and (mirrored[1][0, :, 2:] == LABELS[0:4, ::-1]).all()
    assert not mirrored[0][:, :, :2].any()


def test_an_image_may_have_one_label_or_none() -> None:
    Path("list.txt").write_text("image.png 8\n")
    assert (items(deeplab({}, label_type=IMAGE))[0][1] == 8).all()
    Path("list.txt").write_text("image.png\n")
    assert (items(deeplab({}, label_type=NONE))[0][1] == 255).all()


def test_scale_factors_make_images_smaller_or_larger_and_keep_the_values_of_labels() -> None:
    shapes = set()
    for image, labels, sizes in items(deeplab({"scale_factors": [0.5, 1, 1.5]}, train=True), 40):
        assert image.shape[1:] == labels.shape[1:] and set(labels.ravel()) <= set(LABELS.ravel())
        assert sizes.ravel().tolist() == [min(HEIGHT, image.shape[1]), min(WIDTH, image.shape[2])]
        shapes.add(image.shape[1:])
    assert shapes == {(2, 3), (5, 7), (7, 10)}


def test_segnet_crops_at_random_in_any_phase_and_has_two_tops() -> None:
    drawn = items(segnet({"scale": 2}, crop_height=4, crop_width=6, mirror=True), 200)
    for image, labels in drawn:
        assert (image[0] == labels[0] * 2).all()
    assert {int(labels.min()) for _, labels in drawn} == {0, 1, 10, 11}
    assert {bool(labels[0, 0, 0] > labels[0, 0, 1]) for _, labels in drawn} == {True, False}


def test_the_mean_image_has_the_crops_size_and_is_not_mirrored() -> None:
    mean = np.random.default_rng(0).random((1, 3, HEIGHT, WIDTH), np.float32)
    file = CaffeFile(pb.BlobProto())
    file.blobs.put(file.message, mean)
    write(file, "mean.binaryproto")
    for image, labels in items(segnet({"mean_file": "mean.binaryproto"}, mirror=True), 20):
        plain = PLANES if labels[0, 0, 0] == 0 else PLANES[:, :, ::-1]
        assert (image == plain - mean[0]).all()


def test_resizing_applies_to_image_and_labels() -> None:
    ((image, labels),) = items(segnet({}, new_height=10, new_width=14, is_color=False))
    assert image.shape == (1, 10, 14)
    assert (labels[0] == LABELS.repeat(2, axis=0).repeat(2, axis=1)).all()


def test_every_image_comes_once_per_epoch_in_an_order_that_the_seed_decides() -> None:
    for name in "abcdefgh":
        cv2.imwrite(f"data/{name}.png", COLORS)
    Path("list.txt").write_text("".join(f"{name}.png labels.png\n" for name in "abcdefgh"))

    def names(seed: int, shuffle: bool = True) -> list[str]:
        source = segnet({}, seed, shuffle=shuffle)
        return [Path(source.fetch(index).path).stem for index in range(16)]

    assert names(0, shuffle=False) == [*"abcdefgh" * 2]
    assert sorted(names(1)[:8]) == sorted(names(1)[8:]) == [*"abcdefgh"]
    assert names(1) == names(1) != names(2)
    assert names(1)[:8] != names(1)[8:]


@pytest.mark.parametrize(
    ("text", "settings", "why"),
    [
        ("", {}, "the list is empty"),
        ("image.png labels.png\nimage.png\n", {}, r"list\.txt:2: 'image\.png' has no labels"),
        ("image.png cat\n", {"label_type": IMAGE}, "'cat' isn't a label; use a number from 0 to 255"),
        ("image.png 256\n", {"label_type": IMAGE}, "'256' isn't a label; use a number from 0 to 255"),
        ("image.png labels.png\n", {"new_height": 3}, "new_height and new_width"),
    ],
)
def test_an_invalid_list_is_refused(text: str, settings: dict[str, object], why: str) -> None:
    Path("list.txt").write_text(text)
    with pytest.raises(DataError, match=why):
        deeplab({}, **settings)


def test_impossible_settings_are_refused() -> None:
    for transform in ({"crop_size": 3, "crop_height": 3, "crop_width": 3}, {"crop_height": 3}):
        with pytest.raises(DataError, match="either crop_size, or both"):
            deeplab(transform)
    with pytest.raises(DataError, match="can't have a mean_file"):
        deeplab({"mean_file": "mean.binaryproto"})
    with pytest.raises(DataError, match="set mirror and the crop in dense_image_data_param"):
        segnet({"mirror": True})
    with pytest.raises(DataError, match="only one of crop_height and crop_width"):
        segnet({}, crop_height=3)


def test_mismatched_images_are_named() -> None:
    with pytest.raises(DataError, match=r"data/image\.png: a crop of 6 x 7 is larger than the image of 5 x 7"):
        items(segnet({}, crop_height=6, crop_width=7))
    cv2.imwrite("data/labels.png", LABELS[1:])
    with pytest.raises(DataError, match=r"data/image\.png: the image is \(5, 7\), but its labels are \(4, 7\)"):
        items(segnet({}))
    Path("data/labels.png").write_text("no image")
    with pytest.raises(DataError, match=r"the labels of data/image\.png: can't be decoded"):
        items(segnet({}))
    Path("data/labels.png").unlink()
    with pytest.raises(DataError, match=r"data/labels\.png: can't be opened"):
        items(segnet({}))


def hed(transform: dict[str, object], **settings: object) -> SegmentationSource:
    p = pb.ImageDataParameter(**{"source": "list.txt", "root_folder": "data/"} | settings)
    return image_labelmap_source(p, pb.TransformationParameter(**transform))


def test_edge_maps_are_1_from_half_white_on() -> None:
    levels = np.array([[0, 1, 127, 128, 129, 254, 255]] * HEIGHT, np.uint8)
    cv2.imwrite("data/labels.png", levels)
    ((image, edges),) = items(hed({"mean_value": [1, 2, 3]}))
    assert edges[0, 0].tolist() == [0, 0, 0, 1, 1, 1, 1] and edges.shape == (1, HEIGHT, WIDTH)
    assert (image == PLANES - np.array([1, 2, 3], np.float32).reshape(3, 1, 1)).all()


def test_edge_maps_are_resized_before_thresholding_and_cropped_in_tests_too() -> None:
    cv2.imwrite("data/labels.png", np.array([[0, 0, 255, 255, 255, 255, 255]] * HEIGHT, np.uint8))
    ((image, edges),) = items(hed({}, new_height=10, new_width=14))
    assert image.shape == (3, 10, 14)
    assert edges[0, 0].tolist() == [0] * 4 + [1] * 10  # the fourth pixel is a quarter white, the fifth three quarters
    crops = items(hed({"crop_size": 3, "mirror": True}), 60)
    assert len({tuple(edges[0, 0]) for _, edges in crops}) == 5  # three edges, two of which can be mirrored


def test_images_with_maps_are_not_resized_by_the_transform() -> None:
    with pytest.raises(DataError, match="resizes images but not their labels; set new_height and new_width"):
        hed({"resize_param": [{"height": 3, "width": 3}]})


def windows(lines: str, **settings: object) -> list[tuple[np.ndarray, ...]]:
    Path("list.txt").write_text(lines)
    p = pb.ImageDataParameter(**{"source": "list.txt", "root_folder": "data/", "label_type": PIXEL} | settings)
    source = image_seg_source(p, pb.TransformationParameter(mean_value=[9]), train=False, sizes=False, windows=True)
    return items(source, lines.count("\n"))


def test_a_window_shows_a_part_of_an_image_and_of_its_labels() -> None:
    inside, beyond = windows("image.png labels.png 2 1 4 3\nimage.png labels.png -1 3 1 6\n", ignore_label=77)
    assert (inside[0] == PLANES[:, 1:4, 2:5] - 9).all() and (inside[1] == LABELS[1:4, 2:5]).all()
    assert (beyond[1][0] == [[77, 30, 31], [77, 40, 41], [77] * 3, [77] * 3]).all()
    assert (beyond[0][:, :2, 1:] == PLANES[:, 3:, :2] - 9).all() and (beyond[0][:, 2:] == -9).all()


def test_a_window_is_resized_and_may_have_one_label_or_none() -> None:
    ((image, labels),) = windows("image.png labels.png 1 1 2 2\n", new_height=4, new_width=6)
    assert (
        image.shape == (3, 4, 6) and labels[0].tolist() == [[11.0] * 3 + [12.0] * 3] * 2 + [[21.0] * 3 + [22.0] * 3] * 2
    )
    ((_, labels),) = windows("image.png 5 6 0 7 1\n", label_type=IMAGE, ignore_label=8)
    assert labels[0].tolist() == [[5, 8], [5, 8]]
    ((_, labels),) = windows("image.png 0 0 1 1\n", label_type=NONE, ignore_label=8)
    assert labels[0].tolist() == [[8, 8], [8, 8]]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("image.png labels.png 1 2 3", "doesn't end with the corners x1 y1 x2 y2"),
        ("image.png labels.png 1 2 3 x", "doesn't end with the corners x1 y1 x2 y2"),
        ("image.png labels.png 3 2 2 4", "has no pixels, or too many"),
        ("image.png labels.png 0 0 99999 99999", "has no pixels, or too many"),
        ("image.png 1 2 3 4", "has no labels"),
    ],
)
def test_lines_without_a_window_are_named(line: str, why: str) -> None:
    with pytest.raises(DataError, match=f"list.txt:1: .*{why}"):
        windows(line + "\n")
