"""DetectNet's transformation: maps compared with a naive count of cells, images with OpenCV's, and a net that
learns."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from caffe_proto.text.prototxt import from_text
from netdsl.checking.data_trial import TrialSettings, try_data
from netdsl.data.writing.mean_image import write_mean
from netdsl.errors import NetError
from netdsl.layers import LAYERS
from netdsl.layers._detect_net_transformation import Augmentation, Turn
from netdsl.training.net import Net
from tests.nets import layer_of

GRID = "stride: 8 image_size_x: 64 image_size_y: 40"
NO_CHANCE = "crop_prob: 0 scale_prob: 0 flip_prob: 0 rotation_prob: 0 hue_rotation_prob: 0 desaturation_prob: 0"


def transformation(grid: str, augmentation: str = NO_CHANCE, transform: str = "", size=(40, 64), boxes: int = 4):
    text = f"""bottom: 'x' bottom: 'label' top: 'images' top: 'maps'
      detectnet_groundtruth_param {{ {grid} }} detectnet_augmentation_param {{ {augmentation} }} {transform}"""
    layer = layer_of("DetectNetTransformation", text, (2, 3, *size), (2, 1, boxes + 1, 16))
    layer.allocate("cpu", {})
    return layer


def label_of(*images: list[tuple[float, ...]], boxes: int = 4) -> Tensor:
    """Return rows of left, top, width, height and class, as DIGITS writes them."""
    label = torch.zeros(len(images), 1, boxes + 1, 16)
    for rows, objects in zip(label[:, 0], images, strict=True):
        rows[0, 0], rows[0, 1] = len(objects), 16
        for row, (*box, kind) in zip(rows[1:], objects, strict=False):
            row[:4], row[5] = torch.tensor(box), kind
    return label


def counted_maps(p: pb.DetectNetGroundTruthParameter, objects: list[tuple[float, ...]]) -> np.ndarray:
    """Return the maps of an image, counted cell by cell."""
    classes = {each.src: each.dst for each in p.object_class} or {1: 0}
    rows, columns = p.image_size_y // p.stride, p.image_size_x // p.stride
    maps = np.zeros((9 + max(classes.values()), rows, columns))
    for left, top, width, height, kind in objects:
        right, bottom = left + width, top + height
        if p.crop_bboxes:
            left, right = max(left, 0), min(right, p.image_size_x)
            top, bottom = max(top, 0), min(bottom, p.image_size_y)
        if kind not in classes or right - left <= 0 or bottom - top <= 0:
            continue
        sides = []
        for side in (right - left, bottom - top):
            if p.gridbox_type == p.GRIDBOX_MIN:
                sides.append(min(side, max(p.min_cvg_len, side * p.scale_cvg)))
            else:
                sides.append(min(p.max_cvg_len, side * p.scale_cvg))
        x, y = (left + right) / 2 - sides[0] / 2, (top + bottom) / 2 - sides[1] / 2
        for row, column in itertools.product(range(rows), range(columns)):
            cell_x, cell_y = column * p.stride, row * p.stride
            wide = min(x + sides[0], cell_x + p.stride) - max(x, cell_x)
            high = min(y + sides[1], cell_y + p.stride) - max(y, cell_y)
            if wide > 0 and high > 0 and wide * high / p.stride**2 > 1e-6:
                norm = max(0 if p.obj_norm else 1, p.stride**2 / (sides[0] * sides[1]))
                corners = left - cell_x, top - cell_y, right - cell_x, bottom - cell_y
                maps[:, row, column] = 0
                maps[:8, row, column] = 1, *corners, 1 / (right - left), 1 / (bottom - top), norm
                maps[8 + classes[kind], row, column] = 1
    return maps


@pytest.mark.parametrize(
    "settings",
    [
        "",
        "gridbox_type: GRIDBOX_MIN min_cvg_len: 11 scale_cvg: 0.4 obj_norm: true",
        "gridbox_type: GRIDBOX_MAX max_cvg_len: 9 scale_cvg: 0.7 crop_bboxes: false",
        "scale_cvg: 1 object_class { src: 3 dst: 1 } object_class { src: 1 dst: 0 } object_class { src: 2 dst: 1 }",
    ],
)
def test_maps_equal_a_count_of_cells(settings: str) -> None:
    random = np.random.default_rng(3)
    images = [
        [(*random.uniform(-20, 50, 2), *random.uniform(2, 45, 2), random.choice([0, 1, 1, 2, 3])) for _ in range(count)]
        for count in (9, 5)
    ]
    layer = transformation(f"{GRID} {settings}", boxes=9).eval()
    images_top, maps = layer(torch.zeros(2, 3, 40, 64), label_of(*images, boxes=9))
    expected = [counted_maps(layer.layer.detectnet_groundtruth_param, objects) for objects in images]
    assert layer.top_shapes([(2, 3, 40, 64), (2, 1, 10, 16)]) == [tuple(images_top.shape), tuple(maps.shape)]
    assert maps[:, 0].any()
    np.testing.assert_allclose(maps, np.stack(expected), rtol=1e-5, atol=1e-5)


def test_the_last_object_that_covers_a_cell_counts() -> None:
    layer = transformation(f"{GRID} object_class {{ src: 1 dst: 0 }} object_class {{ src: 2 dst: 1 }}").eval()
    _, maps = layer(torch.zeros(2, 3, 40, 64), label_of([(8, 8, 16, 16, 1), (9, 8, 14, 16, 2)], []))
    assert maps[0, :5, 1, 1].tolist() == [1, 1, 0, 15, 16] and maps[0, 8:, 1, 1].tolist() == [0, 1]
    assert not maps[1].any()


def test_test_images_are_scaled_after_subtracting_the_mean() -> None:
    cv2 = pytest.importorskip("cv2")
    image = torch.rand(2, 3, 50, 30) * 255
    layer = transformation(
        GRID, "", "transform_param { mean_value: 90 mean_value: 100 mean_value: 110 }", (50, 30)
    ).eval()
    images, maps = layer(image, label_of([(15, 10, 7.5, 25, 1)], []))
    without_mean = (image[0] - torch.tensor([90.0, 100, 110])[:, None, None]).permute(1, 2, 0).numpy()
    expected = cv2.resize(without_mean, (64, 40), interpolation=cv2.INTER_CUBIC)
    np.testing.assert_allclose(images[0].permute(1, 2, 0), expected, atol=2e-3)
    assert maps[0, 0].nonzero()[0].tolist() == [1, 4]
    assert maps[0, 1:5, 1, 4].tolist() == [0, 0, 16, 20]  # 15 x 64 / 30 is 32, where the cell begins


def test_a_mean_image_is_scaled_to_the_images(tmp_path: Path) -> None:
    write_mean(np.full((3, 5, 7), 50, np.float32), str(tmp_path / "mean.binaryproto"))
    layer = transformation(GRID, "", f"transform_param {{ mean_file: '{tmp_path}/mean.binaryproto' }}").eval()
    images, _ = layer(torch.full((2, 3, 40, 64), 80.0), label_of([], []))
    torch.testing.assert_close(images, torch.full((2, 3, 40, 64), 30.0))


@pytest.mark.parametrize(("degrees", "saturation"), [(0, 0.4), (100, 1), (-130, 0.7), (180, 0)])
def test_colors_are_rotated_as_in_opencv(degrees: float, saturation: float) -> None:
    cv2 = pytest.importorskip("cv2")
    image = torch.rand(3, 6, 9)
    image[:, 0, 0] = 0.5
    hsv = cv2.cvtColor(image.permute(1, 2, 0).numpy(), cv2.COLOR_BGR2HSV)
    hsv[..., 0] = (hsv[..., 0] + degrees) % 360  # OpenCV 5 takes no other hue
    hsv[..., 1] *= saturation
    expected = cv2.cvtColor(hsv, cv2.COLOR_HSV2BGR)
    colored = Augmentation((6, 9), hue=degrees, saturation=saturation).colored(image)
    np.testing.assert_allclose(colored.permute(1, 2, 0), expected, atol=2e-6)


@pytest.mark.parametrize("degrees", [7.3, -35, 1])
def test_images_are_rotated_as_in_opencv(degrees: float) -> None:
    cv2 = pytest.importorskip("cv2")
    image, size = torch.rand(3, 41, 60), (60, 41)
    left, top, _, _ = cv2.RotatedRect((30, 20.5), size, degrees).boundingRect()
    corners = [
        np.array(cv2.RotatedRect(middle, size, turn).points()[:3], np.float32)
        for middle, turn in (((30, 20.5), 0), ((30 - left, 20.5 - top), degrees))
    ]
    matrix = cv2.getAffineTransform(*corners)
    width, height = cv2.RotatedRect((30, 20), size, degrees).boundingRect()[2:]
    turn = Turn.of((41, 60), degrees)
    assert turn.size == (height, width)
    np.testing.assert_allclose(turn.place(torch.tensor(5.0), torch.tensor(9.0)), matrix @ [5, 9, 1], rtol=1e-4)
    expected = cv2.warpAffine(image.permute(1, 2, 0).numpy(), matrix, (width, height), flags=cv2.INTER_LINEAR)
    turned = turn.image(image).permute(1, 2, 0).numpy()
    seen = turned.any(-1)
    assert 0.85 < seen.sum() / (41 * 60) < 1
    # OpenCV 5 doesn't round places to 32nds of a pixel, as Caffe's does.
    tolerance = 1e-5 if cv2.__version__.startswith("4") else 1 / 16
    near = np.isclose(turned[seen], expected[seen], atol=tolerance).all(-1)
    assert near.mean() > 0.95  # Caffe rounds the matrix to float32, so some places differ by a 32nd of a pixel


def test_a_box_moves_with_its_pixels() -> None:
    boxes = torch.tensor([[20.0, 10, 12, 8]])
    image = torch.zeros(3, 40, 64)
    image[:, 10:18, 20:32] = 1
    for how in (
        Augmentation((40, 64), flipped=True),
        Augmentation((60, 128)),
        Augmentation((40, 64), top=7, left=-9),
        Augmentation((20, 32), flipped=True, top=-3, left=4),
        Augmentation((40, 64), degrees=90),
    ):
        out = torch.zeros(3, 60, 128)
        how.moved(image, out)
        left, top, width, height = how.moved_boxes(boxes, (40, 64))[0].tolist()
        rows, columns = (out[0] > 0.5).nonzero().T.tolist()
        middle = (max(columns) + 1 + min(columns)) / 2, (max(rows) + 1 + min(rows)) / 2
        assert middle == pytest.approx((left + width / 2, top + height / 2), abs=1.01)  # Caffe's flip is a pixel off
        sides = [max(columns) + 1 - min(columns), max(rows) + 1 - min(rows)]
        assert (sides[::-1] if how.degrees else sides) == pytest.approx([width, height], abs=0.01)


def test_drawn_values_are_within_the_settings() -> None:
    p = pb.DetectNetAugmentationParameter(
        shift_x=10, shift_y=6, scale_min=0.5, scale_max=2, max_rotate_degree=3, hue_rotation=200, desaturation_max=0.8
    )
    p.crop_prob = p.scale_prob = p.flip_prob = p.rotation_prob = p.hue_rotation_prob = p.desaturation_prob = 1
    torch.manual_seed(1)
    drawn = [Augmentation.draw(p, (40, 64), (30, 50)) for _ in range(300)]
    assert {how.flipped for how in drawn} == {True}
    assert min(how.size[1] for how in drawn) < 35 and max(how.size[1] for how in drawn) > 120
    assert all(abs(how.size[0] / 40 - how.size[1] / 64) < 0.02 for how in drawn)
    assert min(how.hue for how in drawn) == -180 and max(how.hue for how in drawn) == 180
    assert 0.2 <= min(how.saturation for how in drawn) < 0.22 and 0.98 < max(how.saturation for how in drawn) <= 1
    assert 2.9 < max(abs(how.degrees) for how in drawn) <= 3
    same = pb.DetectNetAugmentationParameter(shift_x=10, shift_y=6)
    same.scale_prob = same.flip_prob = same.rotation_prob = 0
    drawn = [Augmentation.draw(same, (40, 64), (30, 50)) for _ in range(300)]
    assert {(how.size, how.flipped, how.degrees) for how in drawn} == {((40, 64), False, 0)}
    assert (min(how.left for how in drawn), max(how.left for how in drawn)) == (-5, 19)  # of the 14 surplus pixels
    assert (min(how.top for how in drawn), max(how.top for how in drawn)) == (-3, 13)


def test_without_randomness_the_middle_is_used_and_the_rest_is_zero() -> None:
    layer = transformation("stride: 8 image_size_x: 80 image_size_y: 24").train()
    image = torch.rand(2, 3, 40, 64) + 1
    images, maps = layer(image, label_of([(0, 8, 16, 16, 1)], []))
    torch.testing.assert_close(images[..., 8:72], image[:, :, 8:32])
    assert not images[..., :8].any() and not images[..., 72:].any()
    assert maps[0, 1:5, 0, 1].tolist() == [0, 0, 16, 16]


def test_the_same_random_numbers_give_the_same_batch() -> None:
    layer = transformation(GRID, "scale_prob: 1 rotation_prob: 1 flip_prob: 0.5 shift_x: 9").train()
    image, label, tops = torch.rand(2, 3, 40, 64), label_of([(8, 8, 16, 16, 1)], [(8, 8, 9, 9, 1)]), []
    for seed in (3, 3, 4):
        torch.manual_seed(seed)
        tops.append(layer(image, label))
    torch.testing.assert_close(tops[0], tops[1], rtol=0, atol=0)
    assert not torch.equal(tops[0][0], tops[2][0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "transform_param { scale: 0.5 mirror: true }",
            "scale, mirror in transform_param has no effect in this type; remove it",
        ),
        ("detectnet_augmentation_param { noise_param { prob: 1 } }", "'noise_param' is a setting of a fork"),
        ("detectnet_groundtruth_param { stride: 0 }", "stride is 0; set it to 1 or more"),
        (
            "detectnet_groundtruth_param { stride: 99 image_size_x: 40 }",
            "smaller than a cell of 99",
        ),
        ("", "the second bottom must have shape"),
    ],
)
def test_wrong_layers_are_refused(text: str, message: str) -> None:
    shapes = [(2, 3, 8, 8), (2, 1, 5, 16 if text else 4)]
    message_ = from_text(f"bottom: 'x' bottom: 'y' top: 'z' top: 'm' {text}", pb.LayerParameter)
    with pytest.raises(NetError, match=message):
        LAYERS["DetectNetTransformation"](message_, shapes)


@pytest.mark.parametrize(("first", "said"), [((9, 16), "9 boxes of 16"), ((1, 5), "1 boxes of 5")])
def test_a_label_that_digits_did_not_write_is_refused(first: tuple[int, int], said: str) -> None:
    label = label_of([], [])
    label[1, 0, 0, :2] = torch.tensor(first)
    with pytest.raises(
        NetError, match=f"the label's first row announces {said} numbers, but there is room for 4 boxes of 16"
    ):
        transformation(GRID)(torch.zeros(2, 3, 40, 64), label)


# DetectNet as in DIGITS, with fewer layers in the middle.
DETECTNET = """
layer { name: "train_data" type: "Data" top: "data" include { phase: TRAIN } data_param { batch_size: 5 source: "i" } }
layer { name: "train_label" type: "Data" top: "label" include { phase: TRAIN }
  data_param { batch_size: 5 source: "l" } }
layer { name: "train_transform" type: "DetectNetTransformation" bottom: "data" bottom: "label"
  top: "transformed_data" top: "transformed_label" include { phase: TRAIN }
  detectnet_groundtruth_param { stride: 16 scale_cvg: 0.4 gridbox_type: GRIDBOX_MIN coverage_type: RECTANGULAR
    min_cvg_len: 20 obj_norm: true image_size_x: 208 image_size_y: 112 crop_bboxes: true
    object_class { src: 1 dst: 0 } }
  detectnet_augmentation_param { crop_prob: 1 shift_x: 32 shift_y: 32 flip_prob: 0.5 rotation_prob: 0.5
    max_rotate_degree: 5 scale_prob: 0.4 scale_min: 0.8 scale_max: 1.2 hue_rotation_prob: 0.8 hue_rotation: 30
    desaturation_prob: 0.8 desaturation_max: 0.8 }
  transform_param { mean_value: 127 } }
layer { name: "slice-label" type: "Slice" bottom: "transformed_label" top: "foreground-label" top: "bbox-label"
  top: "size-label" top: "obj-label" top: "coverage-label"
  slice_param { slice_dim: 1 slice_point: 1 slice_point: 5 slice_point: 7 slice_point: 8 } }
layer { name: "coverage-block" type: "Concat" bottom: "foreground-label" bottom: "foreground-label"
  bottom: "foreground-label" bottom: "foreground-label" top: "coverage-block" }
layer { name: "size-block" type: "Concat" bottom: "size-label" bottom: "size-label" top: "size-block" }
layer { name: "bb-label-norm" type: "Eltwise" bottom: "bbox-label" bottom: "size-block" top: "bbox-label-norm"
  eltwise_param { operation: PROD } }
layer { name: "conv" type: "Convolution" bottom: "transformed_data" top: "conv"
  convolution_param { num_output: 6 kernel_size: 16 stride: 16 weight_filler { type: "xavier" } } }
layer { name: "cvg" type: "Convolution" bottom: "conv" top: "cvg"
  convolution_param { num_output: 1 kernel_size: 1 weight_filler { type: "xavier" } } }
layer { name: "coverage" type: "Sigmoid" bottom: "cvg" top: "coverage" }
layer { name: "bbox" type: "Convolution" bottom: "conv" top: "bboxes"
  convolution_param { num_output: 4 kernel_size: 1 weight_filler { type: "xavier" } } }
layer { name: "mask" type: "Eltwise" bottom: "bboxes" bottom: "coverage-block" top: "bboxes-masked"
  eltwise_param { operation: PROD } }
layer { name: "bbox_loss" type: "L1Loss" bottom: "bboxes-masked" bottom: "bbox-label-norm" top: "loss_bbox"
  loss_weight: 2 }
layer { name: "coverage_loss" type: "EuclideanLoss" bottom: "coverage" bottom: "coverage-label" top: "loss_coverage" }
"""


@pytest.mark.parametrize("mean", ["mean_value: 127", "mean_file: 'gone.binaryproto'"])
def test_detectnet_is_tried_with_generated_data(mean: str, tmp_path: Path) -> None:
    pytest.importorskip("lmdb")
    (tmp_path / "net.prototxt").write_text(DETECTNET.replace("mean_value: 127", mean))
    trial = try_data(tmp_path / "net.prototxt", TrialSettings())
    assert (trial.reads, trial.backward, trial.reason) == (True, True, "")
    assert trial.shapes == {"data": (2, 3, 224, 224), "label": (2, 1, 4, 16)}
    assert trial.loss is not None and trial.loss > 0


def test_detectnet_learns_where_a_box_is() -> None:
    inputs = """layer { name: "in" type: "Input" top: "data" top: "label"
      input_param { shape { dim: 2 dim: 3 dim: 112 dim: 208 } shape { dim: 2 dim: 1 dim: 5 dim: 16 } } }"""
    layers = DETECTNET[DETECTNET.index('layer { name: "train_transform"') :]
    net = Net(from_text(inputs + layers, pb.NetParameter), phase="TRAIN")
    image = torch.full((2, 3, 112, 208), 127.0)
    image[:, :, 32:80, 48:128] = 255
    net.set_training_data([{"data": image, "label": label_of(*[[(48, 32, 80, 48, 1)]] * 2)}])
    torch.manual_seed(0)
    first = net.train(1, base_lr=1e-7)
    assert math.isfinite(first) and net.train(30, base_lr=1e-7) < first
