"""Other results that differ from Caffe's or a fork's, line by line of docs/caffe_differences.md."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

import netdsl.pycaffe as caffe
from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from caffe_proto.dialects import marks_of
from caffe_proto.files import read_net, write
from netdsl import Net
from netdsl.allowed_modules import PYTHON_LAYERS, in_folder
from netdsl.data.sources.pixel_sets import PixelSetSource, voc
from netdsl.data.sources.segmentation import image_seg_source
from netdsl.data.transforms.lane_transform import LaneTransform
from netdsl.data.transforms.pose_skeleton import COCO
from netdsl.data.transforms.pose_transform import LimbPoseTransform
from netdsl.data.writing.pixel_sets import write_pixel_set
from netdsl.data.writing.sample_files import write_images, write_list
from netdsl.errors import NetError, SolverError, WeightsError
from netdsl.layer import Layer
from netdsl.layers import type_of
from netdsl.layers._detect_net_transformation import Augmentation
from netdsl.model.model import open_net
from netdsl.solver.open_solver import open_solver
from netdsl.solver.settings import open_settings
from netdsl.solver.state import restore
from tests.differences.shown import shows
from tests.nets import allocated_layer
from tests.pretend_gpu import GPU, pretend_gpu

Array = NDArray[Any]

# Different results: gradients and values, layer by layer


def gradient(layer: Layer, x: Array, *others: Array, top: Array) -> Array:
    """Return the gradient of the first bottom for a given gradient of the top."""
    bottom = torch.from_numpy(x).requires_grad_()
    tops = layer(bottom, *map(torch.from_numpy, others))
    (tops if isinstance(tops, torch.Tensor) else tops[0]).backward(torch.from_numpy(top))
    found: Array = np.zeros_like(x) if bottom.grad is None else bottom.grad.numpy()
    return found


def softmax(x: Array) -> Array:
    exponents: Array = np.exp(x)
    return exponents / exponents.sum(1, keepdims=True)


@shows("`BN` of PSPNet, TSN and happynear, in TEST and not `frozen`")
def test_the_gradient_of_bn_in_testing_is_the_derivative() -> None:
    draw = np.random.default_rng(0)
    x, back = draw.normal(size=(4, 1, 2, 2)), draw.normal(size=(4, 1, 2, 2))
    layer = allocated_layer("BN", "bn_param { slope_filler { value: 3 } eps: 0.5 }", x.shape, dialect="pspnet").double()
    layer.mean.fill_(0.25)
    layer.variance.fill_(2)
    averaged = (back * 3) / np.sqrt(2.5)  # the forward pass used the averages as numbers
    np.testing.assert_allclose(gradient(layer, x, top=back), averaged)

    deviation = np.sqrt(x.var() + 0.5)
    normal = (x - x.mean()) / deviation
    of_batch = 3 / deviation * (back - back.mean() - normal * (back * normal).mean())
    np.testing.assert_allclose(gradient(layer.train(), x, top=back), of_batch)
    assert not np.allclose(averaged, of_batch)


@shows("`Reorg` of MobileNet-YOLO and Intel")
def test_the_gradient_of_reorg_starts_from_zero() -> None:
    layer = allocated_layer("Reorg", "reorg_param { stride: 2 }", (1, 4, 2, 2))
    places = np.arange(16, dtype=np.float32).reshape(1, 4, 2, 2)
    top = layer(torch.from_numpy(places)).numpy()  # the place that each value came from
    back = np.random.default_rng(0).normal(size=top.shape).astype(np.float32)
    # the fork adds to the buffer's old values, here zeros
    found, buffer = gradient(layer, places, top=back), np.zeros(16)
    np.testing.assert_array_equal(found.flatten()[top.flatten().astype(int)], back.flatten())
    assert not np.array_equal(found.flatten(), buffer)

    text = """layer {{ name: "x" type: "Input" top: "x" input_param {{ shape {{ dim: [1, 1, 2, 2] }} }} }}
        layer {{ name: "c" type: "Convolution" bottom: "x" top: "c"
            convolution_param {{ num_output: 4 kernel_size: 1 weight_filler {{ value: 1 }} }} }}
        layer {{ name: "r" type: "Reorg" bottom: "c" top: "r" reorg_param {{ stride: 2 }} {0} }}
        layer {{ name: "s" type: "Reduction" bottom: "r" top: "s" loss_weight: 1 }}"""
    assert before_reorg(text.format("")) == [4.0] * 4  # each of four pixels contributes 1
    assert before_reorg(text.format("propagate_down: false")) == [0.0] * 4


def before_reorg(text: str) -> list[float]:
    """Return the gradient of the convolution's bias before the layer."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "net.prototxt")
        path.write_text(text)
        net = caffe.Net(str(path), caffe.TRAIN)
        net.forward()
        net.backward()
        slopes: list[float] = net.params["c"][1].diff.tolist()
    return slopes


SCORES = np.array([[1.0, 2.0], [3.0, 1.0], [0.5, 0.0]])
LABELS = np.array([-1.0, 1.0, 0.0])
LOSSES = np.array([0.0, -np.log(softmax(SCORES)[1, 1]), -np.log(softmax(SCORES)[2, 0])])  # the first row is ignored


@shows("`SoftmaxWithLossOHEM` of Intel with ignored labels")
def test_ignored_labels_of_softmax_with_loss_ohem() -> None:
    layer = allocated_layer("SoftmaxWithLossOHEM", "loss_param { ignore_label: -1 }", (3, 2), (3,), dialect="intel")
    loss = layer(torch.from_numpy(SCORES), torch.from_numpy(LABELS)).item()
    assert loss == pytest.approx(LOSSES.sum() / 2)
    assert loss != pytest.approx(LOSSES[:2].sum() / 2)  # the sum of the first two rows over two, since two count
    # the gradients are the same for both
    slopes = (softmax(SCORES) - np.array([[0, 0], [0, 1], [1, 0]])) / 2 * [[0], [1], [1]]
    np.testing.assert_allclose(gradient(layer, SCORES, LABELS, top=np.array(1.0)), slopes)


@shows("`SoftmaxWithLossOHEM` of Intel with three tops")
def test_three_tops_of_softmax_with_loss_ohem() -> None:
    bottoms = torch.from_numpy(SCORES), torch.from_numpy(np.maximum(LABELS, 0))
    for tops in (2, 3):
        layer = allocated_layer("SoftmaxWithLossOHEM", "", (3, 2), (3,), tops=tops, dialect="intel")
        # the fork doesn't write the second of its three
        np.testing.assert_allclose(layer(*bottoms)[1], softmax(SCORES))


@shows("`YoloDetectionOutput` and `Yolov3DetectionOutput` of a batch")
def test_yolo_treats_each_image_of_a_batch_separately() -> None:
    grid = torch.zeros(2, 6, 1, 1)
    grid[:, 4] = torch.tensor([2.0, 1.0]).view(2, 1, 1)  # both images show the same box, the second with a lower score
    settings = "num_classes: 1 num_box: 1 biases: [1, 1] confidence_threshold: 0.5 nms_threshold: 0.5"
    of_v3 = "num_classes: 1 num_box: 1 biases: [1, 1] mask: 0 confidence_threshold: 0.2 nms_threshold: 0.5"
    for kind, text in (
        ("YoloDetectionOutput", f"yolo_detection_output_param {{ {settings} }}"),
        ("Yolov3DetectionOutput", f"yolov3_detection_output_param {{ {of_v3} anchors_scale: 1 mask_group_num: 1 }}"),
    ):
        layer = allocated_layer(kind, text, (2, 6, 1, 1))
        both = layer(grid)[0, 0]
        assert both[:, 0].tolist() == [0, 1]  # the fork returns one row, for image 0, whose box suppresses the other
        alone = [layer(grid[image : image + 1])[0, 0] for image in (0, 1)]
        assert [len(rows) for rows in alone] == [1, 1]
        assert torch.equal(torch.cat(alone)[:, 1:], both[:, 1:])


@shows("`Nms` of rtpose on maps that are not square")
def test_peaks_of_maps_that_are_not_square() -> None:
    settings = "nms_param { threshold: 0.9 max_peaks: 2 num_parts: 2 }"
    tall = np.zeros((1, 2, 12, 5), np.float32)
    tall[0, 0, 7, 2], tall[0, 0, 4, 2] = 1, 0.5
    x, y, _ = allocated_layer("Nms", settings, tall.shape)(torch.from_numpy(tall))[0, 0, 1].tolist()
    assert (x, y) == (2, 4)  # both leave out the rows from 5 on, because the width is 5

    wide = np.zeros((1, 2, 5, 12), np.float32)
    wide[0, 0, 3, 4], wide[0, 0, 1, 4], wide[0, 1, 1, 4] = 1, 0.5, 0.5
    top = allocated_layer("Nms", settings, wide.shape)(torch.from_numpy(wide))[0, 0, 1]
    assert top[1].item() == pytest.approx((3 * 1 + 1 * 0.5) / 1.5)
    memory = wide.reshape(-1, 12)[1:7, 4]  # three rows each way, some of them from the next map
    behind = (memory * np.arange(1, 7)).sum() / memory.sum()
    assert behind == pytest.approx((3 * 1 + 1 * 0.5 + 6 * 0.5) / 2)
    square = np.pad(wide, ((0, 0), (0, 0), (0, 7), (0, 0)))  # the values if nothing followed the map
    assert torch.equal(allocated_layer("Nms", settings, square.shape)(torch.from_numpy(square))[0, 0, 1], top)


@shows("`ROIPooling` on a GPU, of a region that ends before it begins")
def test_a_region_that_ends_before_it_begins() -> None:
    x, region = np.arange(9, dtype=np.float32).reshape(1, 1, 3, 3), np.array([[0, 2, 1, 0, 0]], np.float32)
    one = np.ones((1, 1, 1, 1), np.float32)
    for dialect, wanted in (("", 0), ("faster-rcnn", 0), ("intel", 1)):
        settings = "roi_pooling_param { pooled_h: 1 pooled_w: 1 spatial_scale: 1 }"
        layer = allocated_layer("ROIPooling", settings, x.shape, region.shape, dialect=dialect)
        assert layer(torch.from_numpy(x), torch.from_numpy(region)).item() == x[0, 0, 1, 2]
        assert gradient(layer, x, region, top=one).sum() == gradient(layer, x, region, top=one)[0, 0, 1, 2] == wanted


@shows("`AssistedExcitation` of a batch")
def test_a_batch_of_assisted_excitation() -> None:
    layer = allocated_layer("AssistedExcitation", "", (2, 1, 2, 2), (2, 5), (2, 1, 2, 2))
    x, boxes = torch.ones(2, 1, 2, 2), torch.tensor([[1.0, 0.25, 0.25, 0.5, 0.5]] * 2)
    top = layer(x, boxes, x)
    strengthened = torch.tensor([[2.0, 1.0], [1.0, 1.0]])
    assert top[:, 0].tolist() == [strengthened.tolist()] * 2  # the fork returns [[1, 1], [1, 1]] for the second image
    assert layer(x[:1], boxes[:1], x[:1])[0, 0].tolist() == strengthened.tolist()


@shows("`Unpooling` of DeconvNet with `AVE` or `TILE`, on a CPU")
def test_unpooling_a_second_time_starts_from_zero() -> None:
    x = np.array([[[[4.0, 8.0]]]], np.float32)
    for method, each in (("AVE", x / 4), ("TILE", x)):
        once = each.repeat(2, 2).repeat(2, 3)  # the fork's second pass adds the same amount again
        settings = f"unpool: {method} kernel_size: 2 stride: 2 unpool_h: 2 unpool_w: 4"
        layer = allocated_layer("Unpooling", f"unpooling_param {{ {settings} }}", x.shape)
        for _ in range(2):
            np.testing.assert_array_equal(layer(torch.from_numpy(x)), once)


@shows("DetectNet's lists of more than 50 boxes")
def test_lists_of_more_than_50_boxes_are_cut() -> None:
    layer = pb.LayerParameter(name="l", type="Python", top=["boxes"], phase=pb.TEST)
    layer.python_param.module, layer.python_param.layer = "caffe.layers.detectnet.clustering", "ClusterGroundtruth"
    layer.python_param.param_str = "128, 128, 16, 1"
    shapes = [(1, 1, 8, 8), (1, 4, 8, 8)]
    (found,) = type_of(layer)(layer, shapes)(torch.ones(shapes[0]), torch.zeros(shapes[1]))
    places = [(x * 16, y * 16) * 2 for y in range(8) for x in range(8)]
    assert found[0, :, :4].tolist() == [list(place) for place in places[:50]]
    with pytest.raises(ValueError, match="could not broadcast"):
        np.zeros((1, 50, 4))[0, : len(places)] = places  # the layer's own code with 64


@shows("`DetectNetTransformation` on a GPU")
def test_images_of_detectnet_are_the_same_on_a_gpu() -> None:
    red, magenta = torch.tensor([0.0, 0, 200])[:, None, None], torch.tensor([200.0, 0, 200])[:, None, None]
    settings = "detectnet_groundtruth_param { stride: 2 image_size_x: 8 image_size_y: 6 }"
    image, label = torch.rand(1, 3, 5, 6), torch.zeros(1, 1, 2, 16)
    label[..., 0, 1] = 16
    expected, _ = allocated_layer("DetectNetTransformation", settings, image.shape, label.shape, tops=2)(image, label)
    with pretend_gpu():
        on_gpu = Augmentation((1, 1), hue=-60).colored(red.to(GPU))
        layer = allocated_layer("DetectNetTransformation", settings, image.shape, label.shape, tops=2).to(GPU)
        images, _ = layer(image.to(GPU), label.to(GPU))
        torch.testing.assert_close((on_gpu.cpu(), images.cpu()), (magenta, expected), rtol=1e-6, atol=1e-6)


@shows("`MultiStageMeanfield` of CRF-RNN, before it has learned")
def test_the_first_weights_of_mean_field() -> None:
    shapes = [(1, 2, 3, 3), (1, 2, 3, 3), (1, 3, 3, 3)]
    text = "multi_stage_meanfield_param {{ num_iterations: 2 spatial_filter_weight: 3 {0} }}"
    layer = allocated_layer("MultiStageMeanfield", text.format(""), *shapes)
    assert layer.spatial_weights[0, 0].tolist() == [[3, 0], [0, 3]]
    in_file = "4 5"  # in spatial.par, which the fork reads from the current folder
    layer = allocated_layer("MultiStageMeanfield", text.format(f"spatial_filter_weights_str: '{in_file}'"), *shapes)
    assert layer.spatial_weights[0, 0].tolist() == np.diag([float(word) for word in in_file.split()]).tolist()


# Files and settings


@shows("A setting that a layer type doesn't read")
def test_an_unread_setting_is_refused() -> None:
    with pytest.raises(NetError, match="'saturate' is a setting of a fork"):
        allocated_layer("Pooling", "pooling_param { kernel_size: 2 saturate: Signed }", (1, 1, 4, 4))
    x = torch.arange(16.0).view(1, 1, 4, 4)
    top = allocated_layer("Pooling", "pooling_param { kernel_size: 2 stride: 2 }", (1, 1, 4, 4))(x)
    assert top.flatten().tolist() == [5, 7, 13, 15]


BN = """layer { name: "x" type: "Input" top: "x" input_param { shape { dim: [1, 2, 1, 1] } } }
layer { name: "b" type: "BN" bottom: "x" top: "y" bn_param { slope_filler { } } }"""


@shows("`BN` blobs of shape 1xC, as TSN and happynear write them")
def test_the_shapes_of_bns_blobs() -> None:
    values = [[2.0, 3.0], [0.5, 0.5], [1.0, 1.0], [4.0, 9.0]]
    wanted = (np.array([5.0, 7.0]) - 1) / np.sqrt([4, 9]) * [2, 3] + 0.5
    for shape in ((1, 2), (1, 2, 1, 1)):
        net = Net(from_text(BN, pb.NetParameter), dialect="pspnet")
        net.set_weights({"b": [np.float32(value).reshape(shape) for value in values]})
        top = net.forward(x=np.float32([5, 7]).reshape(1, 2, 1, 1))["y"].flatten()
        np.testing.assert_allclose(top, wanted, rtol=1e-5)
        weights = net.get_weights()["b"]
        assert [each.shape for each in weights] == [(1, 2, 1, 1)] * 4
        assert [each.reshape(1, 2).tolist() for each in weights] == [[value] for value in values]


@shows("The dialect of a net")
def test_the_dialect_of_a_net() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "net.prototxt")
        path.write_text(BN)
        write(read_net(path, dialect="tsn"), path)
        assert path.read_text().splitlines() == ["# dialect: tsn", *BN.splitlines()]
        assert marks_of(open_net(path).net) == ("tsn",)
        path.write_text(BN)
        assert len(marks_of(open_net(path).net)) > 1
        assert marks_of(open_net(path, dialect="happynear-ms").net) == ("happynear-ms",)


@shows("`normalization: NONE` of `SmoothL1Loss`")
def test_a_smooth_l1_loss_that_is_not_normalized() -> None:
    x, target = np.array([[3.0, 0], [0, 5.0]]), np.zeros((2, 2))
    settings = "loss_weight: 1 loss_param { normalization: NONE }"
    total = 2.5 + 4.5
    for dialect, wanted in (("", total / 2), ("rfcn", total / 2), ("intel", total)):
        layer = allocated_layer("SmoothL1Loss", settings, x.shape, x.shape, dialect=dialect)
        assert layer(torch.from_numpy(x), torch.from_numpy(target)).item() == pytest.approx(wanted)
        assert ["NONE" in doubt.sentence for doubt in layer.doubts] == ([] if dialect else [True])


@shows("`MultiStageMeanfield` of a batch")
def test_a_batch_of_mean_field() -> None:
    draw = np.random.default_rng(0)
    scores, image = draw.normal(size=(2, 2, 3, 3)), draw.uniform(0, 20, (2, 3, 3, 3))
    settings = "multi_stage_meanfield_param { num_iterations: 2 }"
    bottoms = [torch.from_numpy(each).float() for each in (scores, scores, image)]
    layer = allocated_layer("MultiStageMeanfield", settings, scores.shape, scores.shape, image.shape)
    both = layer(*bottoms)
    for item in (0, 1):
        alone = layer(*(bottom[item : item + 1] for bottom in bottoms))
        assert torch.equal(alone[0], both[item])
        assert not torch.allclose(alone[0], bottoms[0][item])  # as if earlier inference had left no trace


@shows("A Python layer")
def test_a_python_layer() -> None:
    code = """import caffe
class Double(caffe.Layer):
    def setup(self, bottom, top): pass
    def reshape(self, bottom, top): top[0].reshape(*bottom[0].shape)
    def forward(self, bottom, top): top[0].data[...] = 2 * bottom[0].data
"""
    settings = 'python_param { module: "doubling_of_mine" layer: "Double" }'
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "doubling_of_mine.py").write_text(code)
        with pytest.raises(NetError, match="--allow-python doubling_of_mine"):
            allocated_layer("Python", settings, (2,))
        with PYTHON_LAYERS.allowing(in_folder(["doubling_of_mine"], folder)):
            assert allocated_layer("Python", settings, (2,))(torch.tensor([1.0, 3]))[0].tolist() == [2, 6]


@shows("Weights for none of a net's layers")
def test_weights_of_another_net() -> None:
    net = Net(from_text(BN, pb.NetParameter), dialect="pspnet")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "other.caffemodel")
        net.save(path)
        other = from_text(BN.replace('name: "b"', 'name: "c"'), pb.NetParameter)
        with pytest.raises(WeightsError, match="but not for a layer of net"):
            Net(other, weights=path, dialect="pspnet")
    slope = Net(other, dialect="pspnet").get_weights()["c"][0]
    assert slope.flatten().tolist() == [0, 0]  # Caffe continues like this, with the fillers' values


SOLVER = """net_param {{
  layer {{ name: "x" type: "DummyData" top: "x"
    dummy_data_param {{ shape {{ dim: [2, 1] }} data_filler {{ value: {0} }} }} }}
  layer {{ name: "y" type: "InnerProduct" bottom: "x" top: "y"
    inner_product_param {{ num_output: 1 weight_filler {{ type: "gaussian" std: 1 }} }} }}
  layer {{ name: "s" type: "Reduction" bottom: "y" top: "s" loss_weight: 1 }} }}
random_seed: 3 base_lr: 0.1 lr_policy: "fixed" max_iter: 2 snapshot_prefix: "{1}" """


@shows("A loss that isn't finite")
def test_a_loss_that_is_not_finite_is_an_error() -> None:
    param = from_text(SOLVER.format("inf", "nowhere"), pb.SolverParameter)
    param.snapshot_after_train = False
    with (
        open_solver(open_settings(param)) as solver,
        pytest.raises(SolverError, match=r"iteration 0: the loss is -?inf"),
    ):
        solver.solve()
    with open_solver(open_settings(param), require_finite=False) as solver:
        solver.solve()
        assert solver.iteration == 2


@shows("Training a net in which nothing learns: no layer has blobs, or every `lr_mult` is 0")
def test_a_net_without_learnable_weights_is_refused() -> None:
    param = from_text(SOLVER.format(1, "nowhere"), pb.SolverParameter)
    param.net_param.layer[1].param.add(lr_mult=0)
    param.net_param.layer[1].param.add(lr_mult=0)
    with (
        open_solver(open_settings(param)) as solver,
        pytest.raises(SolverError, match="depends on nothing that learns"),
    ):
        solver.solve()
    param.net_param.layer[2].bottom[0] = "x"
    del param.net_param.layer[1]
    with pytest.raises(SolverError, match="no layer has blobs"), open_solver(open_settings(param)):
        pass


@shows("A snapshot")
def test_a_snapshot() -> None:
    with tempfile.TemporaryDirectory() as folder:
        param = from_text(SOLVER.format(1, Path(folder, "s")), pb.SolverParameter)
        with open_solver(open_settings(param)) as solver:
            solver.solve()
        of_caffe = {"s_iter_2.caffemodel", "s_iter_2.solverstate"}
        ours = Path(folder, "s_iter_2.resume.json")
        assert {path.name for path in Path(folder).iterdir()} == {*of_caffe, ours.name}
        ours.unlink()
        with open_solver(open_settings(param)) as solver:
            restore(solver, Path(folder, "s_iter_2.solverstate"))
            assert solver.iteration == 2


@shows("Random numbers for fillers, Dropout, crops, mirroring and shuffling")
def test_random_numbers() -> None:
    param, drawn = from_text(SOLVER.format(1, "s"), pb.SolverParameter), []
    for _ in range(2):
        with open_solver(open_settings(param)) as solver:
            drawn.append(solver.net.module.layers["y"].weight.item())
    torch.manual_seed(param.random_seed)
    assert drawn == [torch.empty(1).normal_().item()] * 2  # torch's generator, instead of Boost's in Caffe
    with tempfile.TemporaryDirectory() as folder:
        net, path = Net(param.net_param), Path(folder, "begin.caffemodel")
        net.set_weights({"y": [np.float32([[0.25]]), np.float32([0])]})  # the values that Caffe drew
        net.save(path)
        with open_solver(open_settings(param), weights=[path]) as solver:
            assert solver.net.module.layers["y"].weight.item() == 0.25


# Input files


@shows("`LaneData` that mirrors")
def test_a_map_of_lanes_is_mirrored_with_its_image_and_its_points() -> None:
    points = np.full((5, 64, 2), np.nan, np.float32)
    points[0, :2] = [(0, 0), (0, 1)]
    image = np.tile(np.array([0, 9], np.uint8), (3, 4, 1)).repeat(4, axis=2)
    transform = LaneTransform(pb.TransformationParameter(mirror=True), None, divisor=1, map_size=None, train=True)
    tops = [transform((image, points), np.random.default_rng(seed), 0) for seed in range(9)]
    seen = {(pixels[0, 0, 0] == 9, rows[0, 0, 0] == 1, lanes[0, 0, 7] == 1) for pixels, rows, lanes in tops}
    assert seen == {(False, False, False), (True, True, True)}
    assert all(rows[0, 2:, 2].max() == -1 for _, rows, _ in tops)


def pose_maps(visibility: int) -> NDArray[np.float32]:
    """Return the maps of a person whose right ankle has this visibility. The mask shows only the left half."""
    people, mask = np.ones((1, 18, 3), np.float32), np.zeros((1, 16, 24), np.uint8)
    people[0, 17, 2], mask[:, :, :12] = visibility, 255
    transform = LimbPoseTransform(pb.CPMTransformationParameter(num_parts=56), COCO, train=False)
    _, maps = transform((np.zeros((3, 16, 24), np.uint8), mask, people), np.random.default_rng(0), 0)
    return np.asarray(maps, np.float32)


@shows("Maps of joints that aren't annotated, in `CPMData`")
def test_maps_with_the_number_of_an_unknown_joint_have_no_weight() -> None:
    unknown, known = (pose_maps(visibility)[:57].any(axis=(1, 2)) for visibility in (3, 1))
    assert known.all() and np.flatnonzero(~unknown).tolist() == [10]


@shows("`CPMData` with `cpm_transform_param`, in tests")
def test_a_test_image_is_weighted_by_its_mask() -> None:
    maps = pose_maps(1)
    assert maps.shape == (114, 4, 6) and (maps[0, :, :2] == 1).all() and (maps[0, :, 4:] == 0).all()


@shows("`WindowSegData` with `shuffle`")
def test_a_window_stays_with_its_image() -> None:
    with tempfile.TemporaryDirectory() as folder:
        names = write_images(
            np.arange(6, dtype=np.uint8)[:, None, None, None] * np.ones((1, 8, 8), np.uint8), Path(folder)
        )
        lines = [f"{name} {number} 0 0 {number} {number}" for number, name in enumerate(names)]
        p = pb.ImageDataParameter(source=write_list(Path(folder), lines), root_folder=f"{folder}/", shuffle=True)
        p.label_type = pb.ImageDataParameter.IMAGE
        source = image_seg_source(p, pb.TransformationParameter(), train=True, sizes=False, windows=True)
        shown = [source.item(source.fetch(index)) for index in range(6)]
        assert all(image.shape == (3, image.max() + 1, image.max() + 1) for image, _ in shown)
        assert [int(labels.max()) for _, labels in shown] != sorted(int(labels.max()) for _, labels in shown)


@shows("Images that FCN's Python layers draw")
def test_a_drawn_image_depends_on_the_seed_and_its_number() -> None:
    with tempfile.TemporaryDirectory() as folder:
        pixels = voc(folder, "train", (0, 0, 0))
        write_pixel_set(pixels, [np.zeros((5, 3, 2, 2), np.float32), np.zeros((5, 1, 2, 2), np.float32)])
        sources = [PixelSetSource(pixels, 1337) for _ in range(2)]
        in_order = [sources[0].fetch(index).name for index in range(12)]
        assert sources[1].fetch(11).name == in_order[11] and len(set(in_order)) > 2
