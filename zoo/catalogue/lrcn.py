"""LRCN: a convolutional net reads each frame of a clip, and an LSTM combines the frames up to now."""

from __future__ import annotations

from typing import Any

from caffe_proto import caffe_pb2 as pb
from netdsl import Accuracy, ConvLayer, LinearLayer, Max, PoolLayer, RDDLayer, ReLU, SoftmaxWithLoss
from netdsl.dsl import LRN, LSTM, Dropout, Reshape, Softmax
from zoo.catalogue._vgg_trunk import rates
from zoo.catalogue.entry import TEST_ONLY, CatalogueEntry, CatalogueNet, solver_settings

_FRAMES = 16  # number of frames in a clip
# Number of clips in a batch, which contains the first frames of all clips, then the second ones.
_CLIPS = {pb.TRAIN: 24, pb.TEST: 3}
_ACTIONS = 101


def _filled(bias: float) -> dict[str, Any]:
    return {"weight_filler": {"type": "gaussian", "std": 0.01}, "bias_filler": {"type": "constant", "value": bias}}


def _clips() -> list[pb.LayerParameter]:
    """Return inputs for frames, the actions of their clips, and markers that are 0 at the beginning of a clip. The
    authors read them in Python."""
    shapes = {"data": [3, 227, 227], "label": [], "clip_markers": []}
    return [
        RDDLayer(name, shape=[_FRAMES * clips, *shape], include=pb.NetStateRule(phase=phase))
        for phase, clips in _CLIPS.items()
        for name, shape in shapes.items()
    ]


def _conv(number: int, bottom: str, width: int, **settings: Any) -> list[pb.LayerParameter]:
    name = f"conv{number}"
    return [
        ConvLayer(name, [bottom], num_filters=width, **settings, **rates(1), **_filled(0.1)),
        ReLU(f"relu{number}", [name], in_place=True),
    ]


def _pool(number: int) -> pb.LayerParameter:
    return PoolLayer(f"pool{number}", [f"conv{number}"], pool=Max, kernel=3, stride=2)


def _norm(number: int) -> pb.LayerParameter:
    return LRN(f"norm{number}", [f"pool{number}"], local_size=5, alpha=0.0001, beta=0.75)


def _by_time(name: str, bottom: str, top: str, *values: int) -> pb.LayerParameter:
    """Return a blob reshaped to an axis for time and one for clips."""
    return Reshape(name, [bottom], tops=[top], shape={"dim": [_FRAMES, -1, *values]})


def lrcn() -> CatalogueEntry:
    """Return LRCN for the actions of UCF-101, in color. It is fine-tuned from a net that was trained on single
    frames."""
    uniform = pb.FillerParameter(type="uniform", min=-0.01, max=0.01)
    net = CatalogueNet(
        "lstm_joints",
        *_clips(),
        *_conv(1, "data", 96, kernel=7, stride=2),
        _pool(1),
        _norm(1),
        *_conv(2, "norm1", 384, kernel=5, stride=2, group=2),
        _pool(2),
        _norm(2),
        *_conv(3, "norm2", 512, kernel=3, pad=1),
        *_conv(4, "conv3", 512, kernel=3, pad=1, group=2),
        *_conv(5, "conv4", 384, kernel=3, pad=1, group=2),
        _pool(5),
        LinearLayer("fc6", ["pool5"], num_outputs=4096, **rates(1), **_filled(0.1)),
        ReLU("relu6", ["fc6"], in_place=True),
        Dropout("drop6", ["fc6"], in_place=True, dropout_ratio=0.9),
        _by_time("reshape-data", "fc6", "fc6-reshape", 4096),
        _by_time("reshape-label", "label", "reshape-label"),
        _by_time("reshape-cm", "clip_markers", "reshape-cm"),
        LSTM(
            "lstm1",
            ["fc6-reshape", "reshape-cm"],
            num_output=256,
            weight_filler=uniform,
            bias_filler={"type": "constant", "value": 0},
        ),
        Dropout("lstm1-drop", ["lstm1"], dropout_ratio=0.5),
        LinearLayer("fc8-final", ["lstm1-drop"], num_outputs=_ACTIONS, axis=2, **rates(10), **_filled(0)),
        Softmax("probs", ["fc8-final"], axis=2, include=TEST_ONLY),
        SoftmaxWithLoss("loss", ["fc8-final", "reshape-label"], softmax_param={"axis": 2}),
        Accuracy("accuracy", ["fc8-final", "reshape-label"], axis=2),
    )
    solver = solver_settings(
        base_lr=0.001,
        lr_policy="step",
        gamma=0.1,
        stepsize=10000,
        momentum=0.9,
        weight_decay=0.005,
        clip_gradients=5,
        max_iter=30000,
        display=20,
        average_loss=1000,
        test_iter=100,
        test_interval=100,
        snapshot=5000,
        random_seed=1701,
    )
    return CatalogueEntry(net, solver, batch=_FRAMES)
