"""Images become what Caffe's own preprocessing makes of them."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import CaffeError
from caffe_proto.text.prototxt import from_text
from netdsl.data.transforms.decode import Color, decode
from netdsl.data.transforms.transform import Transform
from netdsl.pycaffe import Classifier, io
from tests.zoo.models import classifier, photo
from zoo.answers.answer import AnswerSettings, Classes
from zoo.answers.answerer import Answerer, AnswererRequest
from zoo.answers.preparation import preparation_by_card, preparation_by_layer, preparation_by_shape
from zoo.cards import Channels, ImageInput

ROUNDING = 2e-3  # of float32 in values up to 255, in another order of steps


@pytest.mark.parametrize("size", [(31, 24), (7, 5), (10, 8)])  # made smaller, larger, and left alone
def test_a_card_does_what_caffes_transformer_does(size, tmp_path) -> None:
    file = photo(tmp_path / "photo.png", 1, *size)
    card = ImageInput((10, 8), Channels.BGR, mean=(104, 117, 123), scale=0.5)
    made = preparation_by_card(card, tmp_path)(decode(file.read_bytes(), Color.COLOR, ""), "").values
    transformer = io.Transformer({"data": (1, 3, 10, 8)})
    transformer.set_transpose("data", (2, 0, 1))
    transformer.set_channel_swap("data", (2, 1, 0))
    transformer.set_raw_scale("data", 255)
    transformer.set_mean("data", np.array([104, 117, 123]))
    transformer.set_input_scale("data", 0.5)
    assert np.allclose(made, transformer.preprocess("data", io.load_image(file)), atol=ROUNDING)


@pytest.mark.parametrize("channels", list(Channels))
def test_answers_are_those_of_caffes_classifier(channels, tmp_path) -> None:
    folder = classifier(tmp_path / "four", channels)
    files = [photo(tmp_path / f"{seed}.png", seed) for seed in range(5)]
    gray = channels is Channels.GRAY
    if gray:
        for file in files:
            assert cv2.imwrite(str(file), cv2.imread(str(file), cv2.IMREAD_GRAYSCALE))
    mean = np.array([120.0] if gray else [104.0, 117.0, 123.0])
    swap = (2, 1, 0) if channels is Channels.BGR else None
    caffe = Classifier(
        folder / "deploy.prototxt",
        folder / "weights.caffemodel",
        image_dims=(13, 12),
        mean=mean,
        input_scale=0.017,
        raw_scale=255,
        channel_swap=swap,
    )
    wanted = caffe.predict([io.load_image(file, color=not gray) for file in files], oversample=False)
    answerer = Answerer(AnswererRequest(str(folder)))
    images = [answerer.decode(file.read_bytes(), str(file)) for file in files]
    outputs = answerer.run(images)
    for index, image in enumerate(images):
        answer = answerer.read(outputs, index, image, AnswerSettings(top=4))
        assert isinstance(answer, Classes)
        assert [each.label for each in answer.best] == np.argsort(-wanted[index]).tolist()
        assert np.allclose([each.score for each in answer.best], np.sort(wanted[index])[::-1], atol=1e-4)


def test_a_mean_image_of_the_folder_is_cropped_with_the_images_or_brought_to_their_size(tmp_path) -> None:
    image = np.random.default_rng(2).integers(0, 256, (3, 12, 10), np.uint8)
    mean = np.random.default_rng(3).uniform(0, 255, (3, 12, 10)).astype(np.float32)
    for values, name in ((mean, "mean.binaryproto"), (mean[:, :6, :5], "small.binaryproto")):
        blob = pb.BlobProto(num=1, channels=3, height=values.shape[1], width=values.shape[2], data=values.ravel())
        (tmp_path / name).write_bytes(blob.SerializeToString())
    card = ImageInput((8, 6), Channels.BGR, resize=(12, 10), mean="mean.binaryproto")
    made = preparation_by_card(card, tmp_path)(image, "").values
    assert np.allclose(made, (image - mean)[:, 2:10, 2:8])
    card = ImageInput((12, 10), Channels.BGR, mean="small.binaryproto")
    transformer = io.Transformer({"data": (1, 3, 12, 10)})
    transformer.set_mean("data", mean[:, :6, :5])
    made = preparation_by_card(card, tmp_path)(image, "").values
    assert np.allclose(made, image - transformer.mean["data"], atol=ROUNDING)


@pytest.mark.parametrize(
    "settings",
    [
        "crop_size: 9 mean_value: 104 mean_value: 117 mean_value: 123",
        "scale: 0.25 crop_h: 9 crop_w: 9 resize_param { resize_mode: WARP height: 12 width: 11 }",
        "crop_size: 9 resize_param { resize_mode: WARP height: 9 width: 9 interp_mode: AREA } mean_value: 99",
    ],
)
def test_a_data_layers_settings_do_what_they_do_in_tests(settings) -> None:
    param = from_text(settings, pb.TransformationParameter, where="test")
    image = np.random.default_rng(4).integers(0, 256, (3, 9, 9), np.uint8)
    wanted = Transform(param, train=False)(image, np.random.default_rng(0))
    assert np.array_equal(preparation_by_layer(param, (3, 9, 9))(image, "").values, wanted)


def test_images_of_other_channels_are_brought_to_those_of_the_net() -> None:
    gray = np.arange(12, dtype=np.uint8).reshape(1, 3, 4)
    assert np.array_equal(preparation_by_shape((3, 3, 4))(gray, "").values, gray.repeat(3, 0))
    color = np.stack([np.full((3, 4), value, np.uint8) for value in (10, 200, 30)])
    wanted = cv2.cvtColor(color.transpose(1, 2, 0), cv2.COLOR_BGR2GRAY)
    assert np.array_equal(preparation_by_shape((1, 3, 4))(color, "").values[0], wanted)


@pytest.mark.parametrize(
    ("card", "says"),
    [
        (ImageInput((9, 8), resize=(8, 8)), "its card says that images of 8x8 are cropped to 9x8"),
        (ImageInput((0, 8)), "are cropped to 0x8"),
        (ImageInput((8, 8), mean=(1, 2)), "2 values as a mean, for 3 channels"),
        (ImageInput((8, 8), mean="../mean.binaryproto"), "must be a file in that folder"),
        (ImageInput((8, 8), mean="mean.binaryproto"), "mean.binaryproto"),
    ],
)
def test_a_card_that_cant_be_followed_is_told(card, says, tmp_path: Path) -> None:
    with pytest.raises(CaffeError, match=says):
        preparation_by_card(card, tmp_path)
