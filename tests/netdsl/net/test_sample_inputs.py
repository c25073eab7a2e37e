"""Generated input: random numbers that every layer accepts."""

from __future__ import annotations

import numpy as np

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl.net.build import Built, build
from netdsl.net.graph import Phase, resolve
from netdsl.net.sample_inputs import sample_inputs, sample_tensors

SHAPES = {
    "data": (1, 3, 20, 30),
    "rois": (40, 5),
    "info": (1, 3),
    "objects": (6, 5),
    "label": (1, 7, 1, 1),
    "kind": (1,),
    "three": (5, 3),
}


def built() -> Built:
    inputs = [
        f'layer {{ name: "{name}" type: "Input" top: "{name}" input_param {{ shape {{ dim: {list(shape)} }} }} }}'
        for name, shape in SHAPES.items()
    ]
    losses = """
        layer { name: "pool" type: "ROIPooling" bottom: "data" bottom: "rois" top: "pool"
                roi_pooling_param { pooled_h: 2 pooled_w: 3 } }
        layer { name: "scores" type: "Pooling" bottom: "data" top: "scores"
                pooling_param { kernel_size: 16 stride: 16 } }
        layer { name: "targets" type: "Python" bottom: "scores" bottom: "objects" bottom: "info"
                top: "a" top: "b" top: "c" top: "d"
                python_param { module: "rpn.anchor_target_layer" layer: "AnchorTargetLayer"
                               param_str: "'feat_stride': 16" } }
        layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip" inner_product_param { num_output: 7 } }
        layer { name: "one" type: "SigmoidCrossEntropyLoss" bottom: "ip" bottom: "label" top: "one" }
        layer { name: "two" type: "SoftmaxWithLoss" bottom: "ip" bottom: "kind" top: "two" }
    """
    return build(resolve(from_text("".join(inputs) + losses, pb.NetParameter), Phase.TEST))


def test_inputs_are_plausible_for_their_layers() -> None:
    found = sample_inputs(built(), SHAPES, seed=4)
    assert {name: value.shape for name, value in found.items()} == SHAPES
    assert all(value.dtype == np.float32 for value in found.values())
    assert 0.9 < found["data"].std() < 1.1
    image, left, top, right, bottom = found["rois"].T
    assert not image.any() and (left <= right).all() and (top <= bottom).all()
    assert min(left.min(), top.min()) >= 0 and right.max() <= 29 and bottom.max() <= 19
    assert len({*right.tolist()}) == 40
    assert found["info"].tolist() == [[20, 30, 1]]
    assert found["objects"].tolist() == [[0, 0, 15, 10, 1]] * 6
    assert {*found["label"].flat} == {0, 1}
    assert not found["kind"].any()
    assert len({*found["three"].flat}) == 15, "three numbers in a row are only a size for a layer that reads them so"


def test_inputs_are_the_same_for_a_seed_in_any_batch() -> None:
    one, other, third = (sample_inputs(built(), SHAPES, seed=seed)["data"] for seed in (1, 1, 2))
    assert np.array_equal(one, other) and not np.array_equal(one, third)
    assert sample_inputs(built(), {**SHAPES, "data": (5, 3, 20, 30)})["data"].shape == (5, 3, 20, 30)


def test_a_single_input_is_plausible_too() -> None:
    net = built()
    edge = net.graph.blobs.index("objects")
    assert sample_tensors(net, [edge])[edge][0].tolist() == [0, 0, 15, 10, 1]


def test_labels_are_classes_even_if_they_are_reshaped_first() -> None:
    net = from_text(
        """
        layer { name: "x" type: "Input" top: "x" input_param { shape { dim: 6 dim: 4 } } }
        layer { name: "label" type: "Input" top: "label" input_param { shape { dim: 2 dim: 3 } } }
        layer { name: "flat" type: "Flatten" bottom: "label" top: "flat" flatten_param { axis: 0 } }
        layer { name: "rows" type: "Reshape" bottom: "flat" top: "rows" reshape_param { shape { dim: 6 } } }
        layer { name: "loss" type: "SoftmaxWithLoss" bottom: "x" bottom: "rows" top: "loss" }
        """,
        pb.NetParameter,
    )
    found = sample_inputs(build(resolve(net, Phase.TEST)), {"x": (6, 4), "label": (2, 3)})
    assert {*found["label"].flat} <= {0, 1} and len({*found["x"].flat}) == 24
