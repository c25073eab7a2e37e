"""SSD's heads compared with the layers that decode them in Caffe."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from netdsl.errors import DecoderError
from netdsl.prediction.decoders import decoder_of, recognize
from netdsl.prediction.decoders.boxes import Activation, BoxCode
from netdsl.prediction.decoders.ssd import PriorMap, Ssd
from tests.nets import layer_of

BOXES, CLASSES, SIZE = 40, 4, (200, 300)


def outputs() -> dict[str, np.ndarray]:
    draw = np.random.default_rng(4)
    centers, sides = draw.uniform(0, 1, (BOXES, 2)), draw.uniform(0.2, 0.5, (BOXES, 2))
    priors = np.concatenate((centers - sides / 2, centers + sides / 2), 1)
    return {
        "mbox_loc": draw.normal(0, 0.5, BOXES * 4),
        "mbox_conf_flatten": draw.random(BOXES * CLASSES),
        "mbox_priorbox": np.stack((priors.ravel(), draw.uniform(0.1, 0.3, BOXES * 4))),
    }


def caffe_rows(blobs: dict[str, np.ndarray], settings: str) -> np.ndarray:
    """Return the rows of Caffe's own layer, with boxes in pixels, best first."""
    bottoms = [torch.tensor(blob)[None] for blob in blobs.values()]
    text = (
        f'bottom: "l" bottom: "s" bottom: "p" top: "y" detection_output_param {{ num_classes: {CLASSES} {settings} }}'
    )
    rows = layer_of("DetectionOutput", text, *(each.shape for each in bottoms)).forward(*bottoms)[0, 0].numpy()
    rows = rows[np.argsort(-rows[:, 2], kind="stable")]
    return np.concatenate([rows[:, 1:3], rows[:, 3:] * [300, 200, 300, 200]], 1)


@pytest.mark.parametrize("code", BoxCode)
def test_detections_equal_those_of_the_layer(code):
    expected = caffe_rows(
        outputs(),
        f"confidence_threshold: 0.4 keep_top_k: 12 code_type: {code.value} nms_param {{ nms_threshold: 0.3 top_k: 9 }}",
    )
    found = Ssd(threshold=0.4, most=12, code=code, overlap=0.3, candidates=9).decode(outputs(), SIZE)
    assert len(expected) > 5
    np.testing.assert_allclose(np.column_stack([found.labels, found.scores, found.boxes]), expected, rtol=1e-9)


def test_a_net_may_have_another_background_or_none():
    expected = caffe_rows(
        outputs(),
        "confidence_threshold: 0.4 background_label_id: -1 code_type: CENTER_SIZE nms_param { nms_threshold: 0.3 }",
    )
    found = Ssd(threshold=0.4, overlap=0.3, background=-1).decode(outputs(), SIZE)
    assert found.labels.tolist() == expected[:, 0].tolist()
    assert 0 in found.labels
    assert 2 not in Ssd(threshold=0.4, background=2).decode(outputs(), SIZE).labels


@pytest.mark.parametrize(
    ("settings", "prior_map"),
    [
        (
            "min_size: 30 max_size: 60 aspect_ratio: 2 aspect_ratio: 3 flip: true",
            PriorMap(size=(5, 7), min_size=(30,), max_size=(60,), aspect_ratio=(2, 3)),
        ),
        (
            "min_size: 20.7 min_size: 40 aspect_ratio: 2 flip: false clip: true step: 16 offset: 0.25",
            PriorMap(size=(5, 7), min_size=(20.7, 40), aspect_ratio=(2,), flip=False, clip=True, step=16, offset=0.25),
        ),
    ],
)
def test_described_priors_equal_those_of_the_layer(settings, prior_map):
    shapes = (1, 8, 5, 7), (1, 3, *SIZE)
    layer = layer_of("PriorBox", f"prior_box_param {{ {settings} }}", *shapes)
    expected = layer.forward(*(torch.zeros(shape, dtype=torch.float64) for shape in shapes))[0, 0].reshape(-1, 4)
    np.testing.assert_allclose(prior_map.boxes(SIZE), expected.numpy(), rtol=1e-6, atol=1e-7)
    assert prior_map.count == len(expected)


def test_priors_from_the_settings_give_the_detections_of_a_blob_of_priors():
    blobs, prior_map = outputs(), PriorMap(size=(2, 5), min_size=(90,), max_size=(120,), aspect_ratio=(2,))
    decoder = Ssd(priors=(prior_map,), threshold=0.4)
    variances = np.tile([0.1, 0.1, 0.2, 0.2], BOXES)
    expected = Ssd(threshold=0.4).decode(
        blobs | {"mbox_priorbox": np.stack([prior_map.boxes(SIZE).ravel(), variances])}, SIZE
    )
    found = decoder.decode({name: blobs[name] for name in decoder.blob_names}, SIZE)
    np.testing.assert_allclose(found.boxes, expected.boxes)
    assert "mbox_priorbox" not in decoder.blob_names


def test_feature_maps_are_read_by_position_and_then_by_prior():
    blobs = outputs()
    decoder = Ssd(threshold=0.4, feature_maps=True, blobs={"locations": ("l1", "l2"), "scores": ("s1", "s2")})
    maps = {}
    for role, name, values in (("l", "mbox_loc", 4), ("s", "mbox_conf_flatten", CLASSES)):
        first, second = np.split(blobs[name], [30 * values])  # 3 x 5 positions with 2 priors, and then 2 x 5 with 1
        maps[f"{role}1"] = first.reshape(3, 5, 2 * values).transpose(2, 0, 1)
        maps[f"{role}2"] = second.reshape(2, 5, values).transpose(2, 0, 1)
    found = decoder.decode(maps | {"mbox_priorbox": blobs["mbox_priorbox"]}, SIZE)
    expected = Ssd(threshold=0.4).decode(blobs, SIZE)
    np.testing.assert_allclose(found.boxes, expected.boxes)


@pytest.mark.parametrize("activation", [Activation.SIGMOID, Activation.SOFTMAX])
def test_raw_scores_get_the_activation(activation):
    blobs = outputs()
    raw = np.random.default_rng(7).normal(0, 3, (BOXES, CLASSES))
    powers = np.exp(raw)
    ready = powers / powers.sum(1, keepdims=True) if activation is Activation.SOFTMAX else powers / (1 + powers)
    found = Ssd(activation=activation).decode(blobs | {"mbox_conf_flatten": raw.ravel()}, SIZE)
    expected = Ssd().decode(blobs | {"mbox_conf_flatten": ready.ravel()}, SIZE)
    np.testing.assert_allclose(found.scores, expected.scores)
    assert len(expected.scores)


def test_published_heads_are_recognized():
    shapes = {"mbox_loc": (160,), "mbox_conf_flatten": (160,), "mbox_priorbox": (2, 160)}
    found = recognize(shapes, SIZE)
    assert found is not None
    assert found.decoder == Ssd()
    assert "SSD" in found.reason
    assert recognize(shapes | {"mbox_priorbox": (2, 164)}, SIZE) is None
    assert recognize({"prob": (1000,)}, SIZE) is None


def test_priors_in_a_card_are_checked():
    priors = [{"size": ["2", "5"], "min_size": ["90"]}]
    decoder = decoder_of({"decoder": "ssd", "priors": priors, "code": "CORNER"})
    assert isinstance(decoder, Ssd)
    assert decoder.priors == (PriorMap(size=(2, 5), min_size=(90,)),)
    for key, value, message in (
        ("min_size", ["0"], "output.priors.min_size contains 0"),
        ("size", ["2", "1000000"], "output.priors.size is 1e"),
        ("aspect_ratios", ["2"], "unknown field `aspect_ratios`"),
        ("step", "nan", "output.priors.step is nan"),
    ):
        with pytest.raises(DecoderError) as problem:
            decoder_of({"decoder": "ssd", "priors": [priors[0] | {key: value}]})
        assert message in str(problem.value)


def test_a_wrong_number_of_priors_is_refused():
    with pytest.raises(DecoderError, match=r"the net predicts 40 boxes, but priors and .* describe 10"):
        Ssd(priors=(PriorMap(size=(2, 5), min_size=(90,)),)).decode(outputs(), SIZE)
    with pytest.raises(DecoderError, match="blobs: scores has 150 values, which isn't a multiple of 40 boxes"):
        Ssd().decode(outputs() | {"mbox_conf_flatten": np.zeros(150)}, SIZE)
