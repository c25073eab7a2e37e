"""Small nets that classify pixels, in the style of FCN, SegNet, PSPNet and HED."""

from __future__ import annotations

from pathlib import Path

from tests.families.prototxt import conv, layer, phase, pool, python, relu, trunk

CLASSES = 5  # including the background
SIDE = 96  # of a picture, in pixels
MEAN = 128
_SCALED = f"scale: 0.015625 mean_value: {MEAN} mean_value: {MEAN} mean_value: {MEAN}"
_IGNORED = "loss_param { ignore_label: 255 }"


def fcn(train: str, test: str) -> str:
    """Return a small FCN-8s: scores of three layers, each interpolated and added to those of a finer layer."""
    data = "\n".join(
        python("data", "", "data label", "voc_layers.VOCSegDataLayer", _voc(folder, split), phase(name))
        for name, folder, split in (("TRAIN", train, "trainval"), ("TEST", test, "test"))
    )
    return "\n".join(
        [
            "name: 'FCN'",
            data,
            layer("Power", "scaled", "data", "power_param { scale: 0.015625 }"),
            trunk(16, 32, 64, 64, bottom="scaled"),
            conv("score4", "conv4", CLASSES, 1),
            _upsampled("up4", "score4", 2),
            conv("score3", "conv3", CLASSES, 1),
            _cropped("up4c", "up4", "score3", 1),
            layer("Eltwise", "fuse3", "up4c score3"),
            _upsampled("up3", "fuse3", 4),
            _cropped("score", "up3", "data", 2),
            layer("SoftmaxWithLoss", "loss", "score label", _IGNORED),
        ]
    )


def _voc(folder: str, split: str) -> str:
    return f"{{'voc_dir': '{folder}', 'split': '{split}', 'mean': ({MEAN}, {MEAN}, {MEAN}), 'seed': 1}}"


def _upsampled(name: str, bottom: str, factor: int) -> str:
    kernel = 2 * factor
    window = f"kernel_size: {kernel} stride: {factor} group: {CLASSES} bias_term: false"
    filler = "weight_filler { type: 'bilinear' }"
    settings = f"convolution_param {{ num_output: {CLASSES} {window} {filler} }}"
    return layer("Deconvolution", name, bottom, f"{settings} param {{ lr_mult: 0 }}")


def _cropped(name: str, bottom: str, reference: str, offset: int) -> str:
    """Return the part of a blob that is as large as another blob."""
    return layer("Crop", name, f"{bottom} {reference}", f"crop_param {{ axis: 2 offset: {offset} }}")


def segnet(train: str, test: str) -> str:
    """Return a small SegNet: the decoder puts values back where the poolings found their maxima."""
    normalized = (
        "bn_param { scale_filler { type: 'constant' value: 1 } shift_filler { type: 'constant' value: 0.001 } }"
    )

    def stage(name: str, bottom: str, width: int) -> list[str]:
        own = layer("BN", f"{name}_bn", name, normalized, tops=name)
        return [conv(name, bottom, width), own, relu(name)]

    halved = "pool: MAX kernel_size: 2 stride: 2"
    up = "upsample_param { scale: 2 }"
    data = "\n".join(
        layer(
            "DenseImageData",
            "data",
            "",
            f"dense_image_data_param {{ source: '{path}' batch_size: 8 shuffle: true }} {phase(name)}",
            "data label",
        )
        for name, path in (("TRAIN", train), ("TEST", test))
    )
    return "\n".join(
        [
            "name: 'SegNet'",
            data,
            layer("LRN", "norm", "data", "lrn_param { local_size: 5 alpha: 0.0001 beta: 0.75 }"),
            *stage("conv1", "norm", 16),
            pool("pool1", "conv1", halved, "pool1 pool1_mask"),
            *stage("conv2", "pool1", 32),
            pool("pool2", "conv2", halved, "pool2 pool2_mask"),
            *stage("conv3", "pool2", 64),
            *stage("conv3_D", "conv3", 32),
            layer("Upsample", "up2", "conv3_D pool2_mask", up),
            *stage("conv2_D", "up2", 16),
            layer("Upsample", "up1", "conv2_D pool1_mask", up),
            conv("score", "up1", CLASSES),
            layer("SoftmaxWithLoss", "loss", "score label", f"softmax_param {{ engine: CAFFE }} {_IGNORED}"),
        ]
    )


def pspnet(train: str, test: str) -> str:
    """Return a small PSPNet: features of the whole picture and of its quarters are appended to each place's own."""
    fixed = "param { lr_mult: 1 } param { lr_mult: 1 } param { lr_mult: 0 } param { lr_mult: 0 }"
    filled = "slope_filler { type: 'constant' value: 1 } bias_filler { type: 'constant' value: 0 }"
    normalized = f"{fixed} bn_param {{ {filled} frozen: false momentum: 0.95 }}"

    def stage(name: str, bottom: str, width: int, settings: str = "", kernel: int = 3) -> list[str]:
        made = conv(name, bottom, width, kernel, f"bias_term: false {settings}")
        return [made, layer("BN", f"{name}/bn", name, normalized, tops=name), relu(name)]

    def part(number: int, kernel: int) -> list[str]:
        name = f"pool_{number}"
        return [
            pool(name, "conv4", f"pool: AVE kernel_size: {kernel} stride: {kernel}"),
            *stage(f"{name}_conv", name, 16, kernel=1),
            layer("Interp", f"{name}_interp", f"{name}_conv", "interp_param { height: 24 width: 24 }"),
        ]

    def data(name: str, path: str) -> str:
        settings = f"source: '{path}' root_folder: '{Path(path).parent}/' batch_size: 8 shuffle: true label_type: PIXEL"
        transform = f"transform_param {{ {_SCALED} crop_size: {SIDE} mirror: {str(name == 'TRAIN').lower()} }}"
        param = f"image_data_param {{ {settings} }} {transform} {phase(name)}"
        return layer("ImageSegData", "data", "", param, "data label")

    return "\n".join(
        [
            "name: 'PSPNet'",
            data("TRAIN", train),
            data("TEST", test),
            *stage("conv1", "data", 16),
            pool("pool1", "conv1"),
            *stage("conv2", "pool1", 32),
            pool("pool2", "conv2"),
            *stage("conv3", "pool2", 64),
            *stage("conv4", "conv3", 64),
            *part(1, 24),
            *part(2, 12),
            layer("Concat", "concat", "conv4 pool_1_interp pool_2_interp"),
            *stage("conv5", "concat", 64),
            conv("conv6", "conv5", CLASSES, 1),
            layer("Interp", "score", "conv6", f"interp_param {{ height: {SIDE} width: {SIDE} }}"),
            layer("SoftmaxWithLoss", "loss", "score label", _IGNORED),
            layer(
                "SegAccuracy", "accuracy", "score label", f"seg_accuracy_param {{ ignore_label: 255 }} {phase('TEST')}"
            ),
        ]
    )


def hed(train: str, test: str) -> str:
    """Return a small HED: edges as three layers see them, each with its loss, and a fused output."""

    def data(name: str, path: str) -> str:
        mean = f"mean_value: {MEAN} " * 3
        settings = f"source: '{path}' root_folder: '{Path(path).parent}/' batch_size: 1 shuffle: true"
        param = f"image_data_param {{ {settings} }} transform_param {{ {mean} }} {phase(name)}"
        return layer("ImageLabelmapData", "data", "", param, "data label")

    def side(number: int) -> list[str]:
        factor, name = 2 ** (number - 1), f"dsn{number}"
        made = [conv(f"score-{name}" if factor > 1 else f"upscore-{name}", f"conv{number}", 1, 1)]
        if factor > 1:
            window = f"kernel_size: {2 * factor} stride: {factor} weight_filler {{ type: 'bilinear' }} bias_term: false"
            settings = f"convolution_param {{ num_output: 1 {window} }} param {{ lr_mult: 0 }}"
            made.append(layer("Deconvolution", f"score-{name}-up", f"score-{name}", settings))
            crop = f"crop_param {{ axis: 2 offset: {factor // 2} }}"
            made.append(layer("Crop", f"upscore-{name}", f"score-{name}-up data", crop))
        return [*made, layer("SigmoidCrossEntropyLoss", f"{name}_loss", f"upscore-{name} label", phase("TRAIN"))]

    scores = " ".join(f"upscore-dsn{number}" for number in (1, 2, 3))
    return "\n".join(
        [
            "name: 'HED'",
            data("TRAIN", train),
            data("TEST", test),
            layer("Power", "scaled", "data", "power_param { scale: 0.015625 }"),
            trunk(16, 32, 32, bottom="scaled"),
            *side(1),
            *side(2),
            *side(3),
            layer("Concat", "concat-upscore", scores),
            conv("upscore-fuse", "concat-upscore", 1, 1),
            layer("SigmoidCrossEntropyLoss", "fuse_loss", "upscore-fuse label", phase("TRAIN")),
            layer("Sigmoid", "sigmoid-fuse", "upscore-fuse", phase("TEST")),
        ]
    )
