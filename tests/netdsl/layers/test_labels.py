"""Labels that aren't class numbers: the error names the layer, the value and its place. Fractions are cut with a
warning."""

from __future__ import annotations

import math

import pytest
import torch

from caffe_proto import caffe_pb2 as pb
from caffe_proto.text.prototxt import from_text
from netdsl.errors import LabelWarning, NetError
from netdsl.training.net import Net

LAYERS = {
    "SoftmaxWithLoss": "",
    "MultinomialLogisticLoss": "",
    "HingeLoss": "",
    "Accuracy": "",
    "InfogainLoss": "",
    "MarginInnerProduct": "margin_inner_product_param { num_output: 3 type: DOUBLE weight_filler { type: 'xavier' } }",
}


def net_of(kind: str) -> Net:
    third = 'bottom: "h"' if kind == "InfogainLoss" else ""
    text = f"""
    layer {{ name: "in" type: "Input" top: "x" top: "label" top: "h"
             input_param {{ shape {{ dim: 4 dim: 3 }} shape {{ dim: 4 }} shape {{ dim: 1 dim: 1 dim: 3 dim: 3 }} }} }}
    layer {{ name: "judge" type: "{kind}" bottom: "x" bottom: "label" {third} top: "y" {LAYERS[kind]} }}"""
    return Net(from_text(text, pb.NetParameter))


def run(kind: str, labels: list[float]) -> None:
    net_of(kind).forward(x=torch.rand(4, 3), label=torch.tensor(labels), h=torch.eye(3)[None, None])


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize(("value", "name"), [(math.nan, "nan"), (-math.inf, "-inf"), (1e30, "1e+30")])
def test_a_label_beyond_an_int_is_an_error(kind: str, value: float, name: str) -> None:
    with pytest.raises(NetError) as raised:
        run(kind, [0, 2, value, 1])
    what = f"layer 'judge': label {name} isn't a class because it doesn't fit into an int; it is at"
    assert str(raised.value) in [f"{what} {place} of the labels: change it" for place in ("[2]", "[2, 0]")]


@pytest.mark.parametrize("kind", LAYERS)
def test_labels_lose_their_fraction_as_in_caffe_with_a_warning(kind: str) -> None:
    scores, net = torch.rand(4, 3), net_of(kind)
    whole = net.forward(x=scores, label=torch.tensor([0.0, 2.0, 1.0, 0.0]), h=torch.eye(3)[None, None])["y"]
    with pytest.warns(LabelWarning, match="^layer 'judge': labels that aren't whole numbers are cut"):
        cut = net.forward(x=scores, label=torch.tensor([0.01, 2.9, 1.5, -0.25]), h=torch.eye(3)[None, None])["y"]
    assert cut.tolist() == whole.tolist()


def test_a_net_learns_from_labels_that_it_generates() -> None:
    net = Net(
        from_text(
            """layer { name: "made" type: "DummyData" top: "x" top: "label" dummy_data_param {
                 shape { dim: 4 dim: 3 } shape { dim: 4 dim: 1 } data_filler { type: "constant" value: 0.01 } } }
               layer { name: "ip" type: "InnerProduct" bottom: "x" top: "y" inner_product_param { num_output: 2 } }
               layer { name: "loss" type: "SoftmaxWithLoss" bottom: "y" bottom: "label" top: "loss" }""",
            pb.NetParameter,
        )
    )
    with pytest.warns(LabelWarning) as warned:
        assert net.train(2, base_lr=1.0) < math.log(2)
    assert {str(warning.message).split(":")[0] for warning in warned} == {"layer 'loss'"}


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("value", [3, -1])
def test_a_label_beyond_the_classes_is_an_error(kind: str, value: int) -> None:
    with pytest.raises(
        NetError, match=rf"layer 'judge': label {value} isn't among the 3 classes, which are 0 to 2; it is at"
    ):
        run(kind, [0, 2, 1, value])


@pytest.mark.parametrize(
    ("kind", "advice"),
    [
        ("SoftmaxWithLoss", "set it as ignore_label if it shouldn't count, or give the first bottom more classes"),
        ("Accuracy", "set it as ignore_label if it shouldn't count, or give the first bottom more classes"),
        ("HingeLoss", "give the first bottom more classes"),
        ("MarginInnerProduct", "raise num_output"),
    ],
)
def test_an_error_about_a_label_gives_advice(kind: str, advice: str) -> None:
    with pytest.raises(NetError, match=f": change it, or {advice}$"):
        run(kind, [0, 2, 1, -1])


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (
            "Embed",
            "index -1 isn't among the 3 rows, which are 0 to 2; it is at [1] of the indices: change it, or raise",
        ),
        ("Embed", "index 3 isn't among the 3 rows, which are 0 to 2; it is at [1] of the indices: change it, or raise"),
        ("Embed", "index 1.5 isn't an index because it isn't a whole number; it is at [1] of the indices: change it"),
        (
            "BatchReindex",
            "index -1 isn't among the 3 items, which are 0 to 2; it is at [1] of the indices: change it, or",
        ),
        (
            "BatchReindex",
            "index 3 isn't among the 3 items, which are 0 to 2; it is at [1] of the indices: change it, or",
        ),
        (
            "Upsample",
            "index 36 isn't among the 36 places, which are 0 to 35; it is at [0, 0, 1] of the indices: change it",
        ),
        (
            "ROIPooling",
            "index 3 isn't among the 3 images, which are 0 to 2; it is at [1] of the indices: change it, or",
        ),
        (
            "PSROIPooling",
            "index 3 isn't among the 3 images, which are 0 to 2; it is at [1] of the indices: change it, or",
        ),
    ],
)
def test_a_missing_index_is_an_error(kind: str, message: str) -> None:
    index = float(message.split()[1])
    settings = {
        "Embed": "embed_param { input_dim: 3 num_output: 2 }",
        "ROIPooling": "roi_pooling_param { pooled_h: 1 pooled_w: 1 }",
        "PSROIPooling": "psroi_pooling_param { output_dim: 1 group_size: 2 spatial_scale: 1 }",
        "Upsample": "upsample_param { scale: 2 }",
    }
    values = {
        "Embed": [torch.tensor([0, index])],
        "BatchReindex": [torch.rand(3, 4), torch.tensor([0, index])],
        "Upsample": [torch.rand(1, 1, 1, 9).view(1, 1, 3, 3), torch.tensor([0, index, *range(7)]).view(1, 1, 3, 3)],
    }
    regions = torch.tensor([[0, 0, 0, 1, 1], [index, 0, 0, 1, 1]])
    bottoms = values.get(kind, [torch.rand(3, 4, 5, 5), regions])
    shapes = " ".join(f"shape {{ {' '.join(f'dim: {length}' for length in each.shape)} }}" for each in bottoms)
    names = ["x", "index"][-len(bottoms) :]
    tops, reads = ("".join(f" {what}: '{name}'" for name in names) for what in ("top", "bottom"))
    net = Net(
        from_text(
            f"layer {{ name: 'in' type: 'Input' {tops} input_param {{ {shapes} }} }}"
            f"layer {{ name: 'chosen' type: '{kind}' {reads} top: 'y' {settings.get(kind, '')} }}",
            pb.NetParameter,
        )
    )
    with pytest.raises(NetError) as raised:
        net.forward(**dict(zip(names, bottoms, strict=True)))
    assert str(raised.value).startswith(f"layer 'chosen': {message}")


@pytest.mark.parametrize("kind", LAYERS)
def test_valid_labels_are_accepted(kind: str) -> None:
    run(kind, [0, 2, 1, 0])
