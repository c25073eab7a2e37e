"""Shapes of data: given by the user, stated, read from data, derived from weights or from a net in the same folder, or
guessed, but never invented."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl import Net
from netdsl.errors import NetError, ShapeWarning, WeightsError
from netdsl.model.data_shapes import DataShape, Known, guess_sentence, plain_data
from netdsl.model.deploy.deploy_net import deploy_model
from netdsl.model.model import Model
from netdsl.model.opening import open_model
from netdsl.model.weights.match import Weights
from netdsl.net.graph import Phase

DATA = """layer { name: 'data' type: 'Data' top: 'data' top: 'label' %s
  data_param { source: '%s' batch_size: 4 } }"""
BODY = """
layer { name: 'conv' type: 'Convolution' bottom: 'data' top: 'conv'
  convolution_param { num_output: 6 kernel_size: 3 stride: 2 } }
layer { name: 'ip' type: 'InnerProduct' bottom: 'conv' top: 'ip' inner_product_param { num_output: 5 } }
layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'label' top: 'loss' }"""


def model(
    settings: str = "", source: str = "nowhere", weights: Weights | None = None, **items: tuple[int, ...]
) -> Model:
    return Model(from_text(DATA % (settings, source) + BODY, pb.NetParameter), weights or {}, items=items)


def shape_of(opened: Model, blob: str = "data") -> tuple[tuple[int, ...], Known]:
    found = opened.data(Phase.TRAIN)[blob]
    return found.item, found.known


def weights_for(channels: int, inner: int) -> Weights:
    sizes = {"conv": ((6, channels, 3, 3), 6), "ip": ((5, 6 * inner * inner), 5)}
    return {name: [np.zeros(size, np.float32), np.zeros(bias, np.float32)] for name, (size, bias) in sizes.items()}


def test_the_users_shape_takes_precedence() -> None:
    assert shape_of(model("transform_param { crop_size: 9 }", "digits", data=(2, 7, 8))) == ((2, 7, 8), Known.SAID)


def test_settings_state_a_shape_only_if_it_is_complete() -> None:
    color = DATA.replace("batch_size: 4", "batch_size: 4 force_encoded_color: true")
    stated = Model(from_text(color % ("transform_param { crop_size: 9 }", "nowhere") + BODY, pb.NetParameter))
    assert shape_of(stated) == ((3, 9, 9), Known.STATED)
    assert shape_of(model("transform_param { crop_size: 9 }")) == ((3, 9, 9), Known.GUESSED)


def test_existing_data_determine_the_shape() -> None:
    assert shape_of(model(source="digits")) == ((1, 8, 8), Known.READ)
    assert shape_of(model(source="digits"), "label") == ((), Known.READ)


def test_the_data_of_the_other_phase_have_the_same_items() -> None:
    train, test = (DATA % (f"include {{ phase: {phase} }}", source) for phase, source in
                   (("TRAIN", "nowhere"), ("TEST", "digits")))  # fmt: skip
    assert shape_of(Model(from_text(train + test + BODY, pb.NetParameter))) == ((1, 8, 8), Known.READ)


@pytest.mark.parametrize("side", [8, 31, 57, 150, 401])
def test_weights_determine_the_channels_and_the_size_of_images(side: int) -> None:
    """A convolution shows the channels, and an inner product how many pixels remain. Two sides lead to that number, and
    one of them is chosen."""
    (channels, *sides), known = shape_of(model(weights=weights_for(5, (side - 3) // 2 + 1)))
    assert (channels, known) == (5, Known.GUESSED)
    assert [(found - 3) // 2 for found in sides] == [(side - 3) // 2] * 2


def test_weights_that_fit_only_one_shape_determine_it() -> None:
    body = BODY.replace("stride: 2", "stride: 1")
    told = Model(from_text(DATA % ("", "nowhere") + body, pb.NetParameter), weights_for(5, 38))
    assert shape_of(told) == ((5, 40, 40), Known.WEIGHTS)
    assert guess_sentence(told.data(Phase.TRAIN)) == ""


def test_weights_determine_the_length_of_vectors() -> None:
    text = """layer { name: 'rows' type: 'HDF5Data' top: 'data' hdf5_data_param { source: 'gone' batch_size: 2 } }
    layer { name: 'ip' type: 'InnerProduct' bottom: 'data' top: 'ip' inner_product_param { num_output: 5 } }"""
    weights = {"ip": [np.zeros((5, 77), np.float32), np.zeros(5, np.float32)]}
    assert shape_of(Model(from_text(text, pb.NetParameter), weights)) == ((77,), Known.WEIGHTS)


def test_a_net_for_use_in_the_same_folder_states_the_shape(tmp_path: Path) -> None:
    (tmp_path / "train_val.prototxt").write_text(DATA % ("", "nowhere") + BODY)
    (tmp_path / "deploy.prototxt").write_text(
        "layer { name: 'data' type: 'Input' top: 'data' input_param { shape { dim: [1, 2, 21, 33] } } }" + BODY
    )
    assert shape_of(open_model(tmp_path / "train_val.prototxt")) == ((2, 21, 33), Known.BESIDE)


def test_the_card_of_a_single_net_states_the_shape(tmp_path: Path) -> None:
    (tmp_path / "other.prototxt").write_text(DATA % ("", "nowhere") + BODY)
    (tmp_path / "other.card.md").write_text("---\nname: other\ninput: {size: [21, 33]}\n---\n")
    assert shape_of(open_model(tmp_path / "other.prototxt")) == ((3, 21, 33), Known.BESIDE)


def test_a_stated_shape_that_does_not_fit_the_weights_is_named(tmp_path: Path) -> None:
    (tmp_path / "other.prototxt").write_text(DATA % ("", "nowhere") + BODY)
    (tmp_path / "other.card.md").write_text("---\nname: other\ninput: {size: [21, 33]}\n---\n")
    opened = replace(open_model(tmp_path / "other.prototxt"), weights=weights_for(3, 1))
    with pytest.raises(WeightsError, match="a card or a net in the folder makes 'data' 3x21x33: correct it"):
        deploy_model(replace(opened, weights={**opened.weights, "ip": [np.zeros((5, 7)), np.zeros(5)]}))


def test_a_guess_is_reported_in_one_line_and_a_net_is_built_with_it() -> None:
    with pytest.warns(
        ShapeWarning, match=r"'data' is assumed to be 3x224x224; to set it, use --assume data=SHAPE"
    ) as told:
        net = Net(from_text(DATA % ("", "nowhere") + BODY, pb.NetParameter))
    assert len(told) == 1
    assert net.module.built.shapes[0] == (4, 3, 224, 224)


def test_a_net_gets_the_shape_that_its_weights_need() -> None:
    net = from_text(DATA % ("", "nowhere") + BODY, pb.NetParameter)
    with pytest.warns(ShapeWarning):
        trained = Net(net, shapes={"data": (1, 12, 12)}).get_weights() and Net(net, weights=weights_for(1, 13))
    assert trained.module.built.shapes[0][:2] == (4, 1)
    assert trained.module.built.shapes[2] == (4, 6, 13, 13)


def test_a_shape_that_fits_no_layer_raises_the_nets_own_error() -> None:
    with pytest.raises(NetError, match="layer 'conv': group 4 doesn't divide"):
        model_of_groups = DATA % ("transform_param { crop_size: 9 force_gray: true }", "nowhere") + BODY
        Model(from_text(model_of_groups.replace("stride: 2", "group: 4"), pb.NetParameter)).layers(Phase.TRAIN)


def test_a_stage_may_be_given_as_a_string() -> None:
    late = DATA % ("include { stage: 'late' } transform_param { crop_size: 9 force_gray: true }", "nowhere") + BODY
    for stages in ("late", ["late"]):
        assert Net(from_text(late, pb.NetParameter), stages=stages).module.built.shapes[0] == (4, 1, 9, 9)


def test_json_contains_every_shape_and_its_origin() -> None:
    data = {"data": DataShape((1, 8, 8), Known.READ), "x": DataShape((3,), Known.GUESSED)}
    assert json.loads(json.dumps(plain_data(data))) == {
        "data": {"data": {"shape": [1, 8, 8], "known": "read"}, "x": {"shape": [3], "known": "guessed"}},
        "assumed": {"x": [3]},
    }
