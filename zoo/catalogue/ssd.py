"""SSD: a single pass classifies and corrects default boxes of many sizes and shapes, on layers of all scales."""

from __future__ import annotations

from typing import Any

from caffe_proto import caffe_pb2 as pb
from netdsl import ConvLayer, Max, PoolLayer, ReLU
from netdsl.dsl import BatchNorm, Normalize, Scale
from zoo.catalogue._multibox import VOC_CLASSES, BoxedBlob, annotated_data, box_layers, detections, multibox_loss
from zoo.catalogue._vgg_trunk import Settings, conv_relu, rates, vgg_trunk
from zoo.catalogue.entry import TEST_ONLY, TRAIN_ONLY, CatalogueEntry, CatalogueNet, solver_settings

_ZERO = {"type": "constant", "value": 0}
_XAVIER: Settings = {**rates(1), "weight_filler": {"type": "xavier"}, "bias_filler": _ZERO}
_MSRA = {"type": "msra"}

# Box sizes are 10%, and 20% to 90% of 300 pixels in equal steps.
_VGG_SOURCES = (
    BoxedBlob("conv4_3_norm", 30, 60, [2], step=8),
    BoxedBlob("fc7", 60, 111, [2, 3], step=16),
    BoxedBlob("conv6_2", 111, 162, [2, 3], step=32),
    BoxedBlob("conv7_2", 162, 213, [2, 3], step=64),
    BoxedBlob("conv8_2", 213, 264, [2], step=100),
    BoxedBlob("conv9_2", 264, 315, [2], step=300),
)

_MOBILENET_SOURCES = (
    BoxedBlob("conv11", 60, None, [2]),
    BoxedBlob("conv13", 105, 150, [2, 3]),
    BoxedBlob("conv14_2", 150, 195, [2, 3]),
    BoxedBlob("conv15_2", 195, 240, [2, 3]),
    BoxedBlob("conv16_2", 240, 285, [2, 3]),
    BoxedBlob("conv17_2", 285, 300, [2, 3]),
)


def ssd_300_vgg(classes: int = VOC_CLASSES) -> CatalogueEntry:
    """Return SSD-300 on a VGG-16 with small dilated convolutions in place of its fully connected layers."""
    images: dict[str, Any] = {
        "transform": {"mean_value": [104, 117, 123]},
        "labels": "data/VOC0712/labelmap_voc.prototxt",
    }
    net = CatalogueNet(
        "VGG_VOC0712_SSD_300x300",
        annotated_data(TRAIN_ONLY, source="examples/VOC0712/VOC0712_trainval_lmdb", batch_size=32, **images),
        annotated_data(TEST_ONLY, source="examples/VOC0712/VOC0712_test_lmdb", batch_size=8, **images),
        *vgg_trunk([_XAVIER] * 5),
        PoolLayer("pool5", ["conv5_3"], pool=Max, kernel=3, stride=1, pad=1),
        *conv_relu("fc6", "pool5", 1024, pad=6, dilation=6, **_XAVIER),
        *conv_relu("fc7", "fc6", 1024, kernel=1, pad=0, **_XAVIER),
        *_halved("conv6", "fc7", 256, 512, stride=2, pad=1),
        *_halved("conv7", "conv6_2", 128, 256, stride=2, pad=1),
        *_halved("conv8", "conv7_2", 128, 256, stride=1, pad=0),
        *_halved("conv9", "conv8_2", 128, 256, stride=1, pad=0),
        Normalize(
            "conv4_3_norm",
            ["conv4_3"],
            across_spatial=False,
            scale_filler={"type": "constant", "value": 20},
            channel_shared=False,
        ),
        *box_layers(_VGG_SOURCES, locations=_vgg_predictor, confidences=_vgg_predictor, classes=classes),
        multibox_loss(classes),
        *detections(classes, name_size_file="data/VOC0712/test_name_size.txt"),
    )
    solver = _solver(
        type="SGD",
        base_lr=0.001,
        gamma=0.1,
        stepvalue=[80000, 100000, 120000],
        momentum=0.9,
        weight_decay=0.0005,
        test_iter=619,
        snapshot=80000,
    )
    return CatalogueEntry(net, solver)


def _halved(name: str, bottom: str, narrow: int, wide: int, *, stride: int, pad: int) -> list[pb.LayerParameter]:
    """Return two convolutions that halve the sides of a blob or, without padding, shorten them by two."""
    first, second = f"{name}_1", f"{name}_2"
    return [
        *conv_relu(first, bottom, narrow, kernel=1, pad=0, relu=f"{first}_relu", **_XAVIER),
        *conv_relu(second, first, wide, pad=pad, stride=stride, relu=f"{second}_relu", **_XAVIER),
    ]


def _vgg_predictor(name: str, bottom: str, channels: int) -> pb.LayerParameter:
    return ConvLayer(name, [bottom], kernel=3, pad=1, num_filters=channels, **_XAVIER)


def ssd_300_mobilenet(classes: int = VOC_CLASSES) -> CatalogueEntry:
    """Return SSD on MobileNet, whose convolutions process each channel separately and then mix channels."""
    transform = {"scale": 0.007843, "mean_value": [127.5, 127.5, 127.5]}
    images: dict[str, Any] = {"transform": transform, "labels": "labelmap.prototxt"}
    net = CatalogueNet(
        "MobileNet-SSD",
        annotated_data(TRAIN_ONLY, source="trainval_lmdb/", batch_size=24, **images),
        annotated_data(TEST_ONLY, source="test_lmdb", batch_size=8, **images),
        *_mobilenet(),
        *box_layers(
            _MOBILENET_SOURCES, locations=_mobilenet_locations, confidences=_mobilenet_confidences, classes=classes
        ),
        multibox_loss(classes),
        *detections(classes, name_size_file="test_name_size.txt"),
    )
    solver = _solver(
        type="RMSProp",
        base_lr=0.0005,
        gamma=0.5,
        stepvalue=[20000, 40000],
        weight_decay=0.00005,
        test_iter=673,
        snapshot=1000,
    )
    return CatalogueEntry(net, solver)


def _mobilenet() -> list[pb.LayerParameter]:
    """Return MobileNet up to conv13, and four pairs of convolutions that each halve the sides."""
    layers, bottom = _conv_bn("conv0", "data", 32, kernel=3, pad=1, stride=2), "conv0"
    widths = {1: 64, 2: 128, 3: 128, 4: 256, 5: 256, **dict.fromkeys(range(6, 12), 512), 12: 1024, 13: 1024}
    channels = 32
    for number, width in widths.items():
        name, stride = f"conv{number}", 2 if number in (2, 4, 6, 12) else None
        layers += _conv_bn(f"{name}/dw", bottom, channels, kernel=3, pad=1, stride=stride, group=channels)
        layers += _conv_bn(name, f"{name}/dw", width, kernel=1)
        bottom, channels = name, width
    for number, narrow in ((14, 256), (15, 128), (16, 128), (17, 64)):
        name = f"conv{number}"
        layers += _conv_bn(f"{name}_1", bottom, narrow, kernel=1)
        layers += _conv_bn(f"{name}_2", f"{name}_1", 2 * narrow, kernel=3, pad=1, stride=2)
        bottom = f"{name}_2"
    return layers


def _conv_bn(name: str, bottom: str, width: int, **settings: Any) -> list[pb.LayerParameter]:
    """Return a convolution, its normalization and a ReLU. All learn slowly, since they are pretrained."""
    slow, fixed = pb.ParamSpec(lr_mult=0.1, decay_mult=0.1), pb.ParamSpec(lr_mult=0, decay_mult=0)
    return [
        ConvLayer(name, [bottom], num_filters=width, bias_term=False, weight_filler=_MSRA, param=slow, **settings),
        BatchNorm(f"{name}/bn", [name], in_place=True, param=[fixed] * 3),
        Scale(
            f"{name}/scale",
            [name],
            in_place=True,
            filler={"value": 1},
            bias_term=True,
            bias_filler={"value": 0},
            param=[{"lr_mult": 0.1, "decay_mult": 0}, {"lr_mult": 0.2, "decay_mult": 0}],
        ),
        ReLU(f"{name}/relu", [name], in_place=True),
    ]


def _mobilenet_locations(name: str, bottom: str, channels: int) -> pb.LayerParameter:
    slow = [{"lr_mult": 0.1, "decay_mult": 0.1}, {"lr_mult": 0.2, "decay_mult": 0}]
    return ConvLayer(name, [bottom], kernel=1, num_filters=channels, weight_filler=_MSRA, bias_filler=_ZERO, param=slow)


def _mobilenet_confidences(name: str, bottom: str, channels: int) -> pb.LayerParameter:
    return ConvLayer(name, [bottom], kernel=1, num_filters=channels, weight_filler=_MSRA, bias_filler=_ZERO, **rates(1))


def _solver(**settings: Any) -> pb.SolverParameter:
    return solver_settings(
        **settings,
        lr_policy="multistep",
        max_iter=120000,
        display=10,
        average_loss=10,
        test_interval=10000,
        test_initialization=False,
        eval_type="detection",
        ap_version="11point",
    )
