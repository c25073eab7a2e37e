"""Prediction computes exactly the values that a data layer returns in tests."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
from PIL import Image

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import CaffeError
from caffe_proto.text.prototxt import from_text, text_of
from netdsl.data.sources.open_source import open_source
from netdsl.data.tables.table import BlobColumn
from netdsl.data.transforms.decode import Color, decode, in_color
from netdsl.data.transforms.image_settings import settings_in_tests
from netdsl.data.writing.convert import Conversion, convert
from netdsl.data.writing.image_files import ImageFormat
from netdsl.data.writing.mean_image import write_mean
from netdsl.pycaffe import TEST, Classifier, io
from netdsl.pycaffe import Net as CaffeNet
from tests.nets import layer_of
from tests.zoo.models import classifier, photo
from zoo.answers.answer import AnswerSettings, Classes, Placement
from zoo.answers.answerer import Answerer, AnswererRequest
from zoo.answers.images import LayerPreparation, image_of, open_images
from zoo.card_input import image_input, transform_of
from zoo.cards import Channels, ImageInput

AWKWARD = [(31, 24), (7, 5), (12, 11), (101, 33), (1, 64)]  # larger, smaller, of the net's size, and far from square
MEANS = (104.25, 117.5, 123.75)


def image_files(folder: Path) -> list[Path]:
    """Write images of awkward sizes, in color and in gray, some of them with unusual encodings."""
    files = [photo(folder / f"{number}.png", number, *size) for number, size in enumerate(AWKWARD)]
    noise = np.random.default_rng(9).integers(0, 256, (19, 23, 4), np.uint8)
    deep = np.random.default_rng(8).integers(0, 1 << 16, (17, 13, 3), np.uint16)
    turned = Image.Exif()
    turned[0x0112] = 6
    Image.fromarray(noise[..., :3]).save(folder / "turned.jpg", exif=turned)
    Image.fromarray(noise, "CMYK").save(folder / "cmyk.jpg")
    Image.fromarray(noise, "RGBA").save(folder / "rgba.png")
    Image.fromarray(noise[..., 0]).save(folder / "gray.png")
    assert cv2.imwrite(str(folder / "deep.png"), deep)
    return files + [folder / name for name in ("turned.jpg", "cmyk.jpg", "rgba.png", "gray.png", "deep.png")]


def data_layer(settings: str, data: str, count: int) -> list[np.ndarray]:
    """Return this many items from a net's data layer in tests."""
    net = Path("net.prototxt")
    net.write_text(
        'layer { name: "data" type: "Data" top: "data" top: "label" '
        f'data_param {{ source: "{data}" batch_size: 1 }} transform_param {{ {settings} }} }}'
    )
    caffe, images = CaffeNet(str(net), TEST), []
    for _ in range(count):
        caffe.forward()
        images.append(caffe.blobs["data"].data[0].copy())
    return images


def mean_of(folder: Path, channels: int, height: int, width: int) -> str:
    mean = np.random.default_rng(3).uniform(0, 255, (channels, height, width)).astype(np.float32)
    write_mean(mean, folder / "mean.binaryproto")
    return "mean.binaryproto"


@pytest.mark.parametrize("channels", [Channels.BGR, Channels.GRAY])
@pytest.mark.parametrize(
    ("resize", "mean", "scale"),
    [((12, 11), "", 1), (None, "values", 0.017), ((12, 11), "file", 1), ((40, 33), "file", 0.3), ((12, 11), "one", 2)],
)
def test_a_cards_settings_act_like_a_data_layers_in_tests(channels, resize, mean, scale, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    files = image_files(Path("images/all"))
    count = 1 if channels is Channels.GRAY else 3
    values = {"values": MEANS[:count], "one": (99.5,), "": ()}
    stated = mean_of(tmp_path, count, *(resize or (10, 8))) if mean == "file" else values[mean]
    card = ImageInput((10, 8), channels, resize, stated, scale)
    prepare = LayerPreparation(transform_of(card, tmp_path), channels)
    expected = dict(
        zip(sorted(files), data_layer(text_of(transform_of(card, tmp_path)), "folder:images", 10), strict=True)
    )
    for file in files:
        made = prepare(decode(file.read_bytes(), prepare.color, str(file)), str(file)).values
        assert made.shape == (count, 10, 8)
        assert np.array_equal(made, expected[file]), file


def test_rgb_equals_a_data_layer_with_swapped_channels(tmp_path) -> None:
    image = np.random.default_rng(4).integers(0, 256, (3, 31, 24), np.uint8)
    card = ImageInput((10, 8), Channels.RGB, (12, 11), MEANS, 0.5)
    wanted = LayerPreparation(transform_of(card, tmp_path), Channels.BGR)(image[::-1], "").values
    assert np.array_equal(LayerPreparation(transform_of(card, tmp_path), Channels.RGB)(image, "").values, wanted)
    assert not np.array_equal(LayerPreparation(transform_of(card, tmp_path), Channels.BGR)(image, "").values, wanted)


@pytest.mark.parametrize("channels", [Channels.BGR, Channels.RGB, Channels.GRAY])
def test_standardized_images_equal_those_of_an_mvn_layer(channels: Channels, tmp_path: Path) -> None:
    image = np.random.default_rng(4).integers(0, 256, (3, 31, 24), np.uint8)
    card = ImageInput((10, 8), channels, standardized=True)
    plain = LayerPreparation(transform_of(card, tmp_path), channels)
    prepare = LayerPreparation(transform_of(card, tmp_path), channels, standardized=True)
    values = prepare(image, "").values
    layer = layer_of("MVN", "mvn_param { across_channels: true }", (1, *values.shape))
    (expected,) = layer.forward(torch.from_numpy(plain(image, "").values[None]))
    assert values.dtype == np.float32
    np.testing.assert_allclose(values, expected.numpy(), atol=1e-5)
    assert str(prepare).endswith("resized to 10x8, minus their own mean, divided by their own standard deviation")
    assert not prepare(np.full((3, 31, 24), 7, np.uint8), "").values.any()


def write_data_sets(folder: Path) -> None:
    """Write databases of the images, encoded and raw, and CIFAR images, whose channels are stored as RGB."""
    image_files(folder / "images/all")
    images = open_source("folder:images")
    convert(images, "encoded_lmdb", Conversion(encoded=ImageFormat.JPG))
    convert(open_source("folder:images", color=Color.GRAY), "gray_lmdb", Conversion())
    convert(images, "color_lmdb", Conversion())
    Path("cifar").mkdir()
    (folder / "cifar/test_batch.bin").write_bytes(np.random.default_rng(2).bytes(2 * 3073))


@pytest.mark.parametrize("channels", [Channels.BGR, Channels.GRAY])
@pytest.mark.parametrize(
    "data",
    ["lmdb:encoded_lmdb", "lmdb:gray_lmdb", "lmdb:color_lmdb", "cifar10:cifar:test", "shapes:test", "digits:test"],
)
def test_data_sets_give_predictions_the_same_values_as_a_data_layer(channels, data, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_data_sets(tmp_path)
    card = ImageInput((10, 8), channels, (12, 11), MEANS[: 1 if channels is Channels.GRAY else 3], 0.5)
    settings = transform_of(card, tmp_path)
    prepare = LayerPreparation(settings, channels)
    source = open_images(data, BlobColumn("data", "data", color=prepare.color), BytesIO())
    count = min(len(source), 10)
    for index, wanted in enumerate(data_layer(text_of(settings), data, count)):
        assert np.array_equal(prepare(image_of(source.item(source.fetch(index))), "").values, wanted), index


def test_cifars_images_have_the_same_colors_as_in_files(tmp_path) -> None:
    record = np.arange(3073) % 251
    (tmp_path / "test_batch.bin").write_bytes(record.astype(np.uint8).tobytes())
    rgb = record[1:].reshape(3, 32, 32).transpose(1, 2, 0).astype(np.uint8)
    Image.fromarray(rgb).save(tmp_path / "same.png")
    for color in (Color.COLOR, Color.GRAY):
        source = open_source(f"cifar10:{tmp_path}:test", color=color)
        decoded = decode((tmp_path / "same.png").read_bytes(), Color.COLOR, "")
        assert np.array_equal(source.item(source.fetch(0))[0], in_color(decoded, color))
    stored = open_source(f"cifar10:{tmp_path}:test")
    assert np.array_equal(stored.item(stored.fetch(0))[0], rgb.transpose(2, 0, 1))


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize(
    "settings",
    [
        "crop_size: 8 mean_value: 104",
        "scale: 0.25 crop_h: 8 crop_w: 8 resize_param { resize_mode: WARP height: 12 width: 11 }",
        "crop_size: 8 resize_param { resize_mode: WARP height: 9 width: 9 interp_mode: AREA } mean_value: 99",
        "resize_param { resize_mode: WARP height: 8 width: 8 interp_mode: CUBIC } scale: 0.1",
        'crop_size: 8 resize_param { resize_mode: WARP height: 12 width: 11 } mean_file: "mean.binaryproto"',
    ],
)
def test_a_data_layers_settings_act_as_in_tests(settings, channels, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    mean_of(tmp_path, channels, 12, 11)
    files = image_files(Path("images/all"))
    if "resize_param" not in settings:
        for file in [file for file in files if min(cv2.imread(str(file)).shape[:2]) < 8]:  # the layer refuses these
            file.unlink()
            files.remove(file)
    forced = f"{settings} {'force_gray' if channels == 1 else 'force_color'}: true"
    param = settings_in_tests(from_text(settings, pb.TransformationParameter, where="test"), channels, (8, 8))
    prepare = LayerPreparation(param, Channels.GRAY if channels == 1 else Channels.BGR)
    expected = data_layer(forced, "folder:images", len(files))
    for file, wanted in zip(sorted(files), expected, strict=True):
        made = prepare(decode(file.read_bytes(), prepare.color, str(file)), str(file)).values
        assert np.array_equal(made, wanted), file


def test_an_open_size_is_that_of_the_mean_or_the_input(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    mean_of(tmp_path, 3, 12, 11)
    image = np.random.default_rng(5).integers(0, 256, (3, 31, 24), np.uint8)
    for settings, resized in (('mean_file: "mean.binaryproto" crop_size: 8', (12, 11)), ("scale: 0.5", (8, 8))):
        param = settings_in_tests(from_text(settings, pb.TransformationParameter, where="test"), 3, (8, 8))
        prepared = LayerPreparation(param, Channels.BGR)(image, "")
        assert prepared.values.shape == (3, 8, 8)
        assert prepared.placement == Placement((31, 24), resized, (8, 8))
    cropped = LayerPreparation(settings_in_tests(pb.TransformationParameter(crop_size=8), 3, (8, 8)), Channels.BGR)
    prepared = cropped(image, "")
    assert np.array_equal(prepared.values, image[:, 11:19, 8:16])
    assert prepared.placement.corners(0, 0, 1, 1) == (8, 11, 16, 19)
    with pytest.raises(CaffeError, match=r"thumb.png: a crop of 8 x 8 is larger than the image of 5 x 9"):
        cropped(image[:, :5, :9], "thumb.png")


def test_predictions_mirror_no_image() -> None:
    param = settings_in_tests(pb.TransformationParameter(mirror=True), 3, (4, 4))
    image = np.random.default_rng(6).integers(0, 256, (3, 4, 4), np.uint8)
    assert np.array_equal(LayerPreparation(param, Channels.BGR)(image, "").values, image)


def test_values_that_are_not_bytes_are_accepted_in_the_inputs_size(tmp_path) -> None:
    image = np.random.default_rng(6).uniform(0, 255, (3, 10, 8)).astype(np.float32)
    prepare = LayerPreparation(transform_of(ImageInput((10, 8), scale=0.5), tmp_path), Channels.BGR)
    assert np.array_equal(prepare(image, "").values, image / 2)
    with pytest.raises(CaffeError, match=r"row 3: an image has other values than whole numbers"):
        prepare(image[:, 1:], "row 3")


def test_images_of_the_nets_size_get_the_answers_of_caffes_classifier(tmp_path) -> None:
    """Resizing differs slightly: at the edges, pycaffe samples pixels at other places than the data layers do."""
    folder = classifier(tmp_path / "four", Channels.BGR)
    files = [photo(tmp_path / f"{seed}.png", seed, 13, 12) for seed in range(5)]
    caffe = Classifier(
        folder / "deploy.prototxt",
        folder / "weights.caffemodel",
        image_dims=(13, 12),
        mean=np.array([104, 117, 123]),
        input_scale=0.017,
        raw_scale=255,
        channel_swap=(2, 1, 0),
    )
    wanted = caffe.predict([io.load_image(file) for file in files], oversample=False)
    answerer = Answerer(AnswererRequest(str(folder)))
    images = [answerer.decode(file.read_bytes(), str(file)) for file in files]
    outputs = answerer.run(images)
    for index, image in enumerate(images):
        answer = answerer.read(outputs, index, image, AnswerSettings(top=4))
        assert isinstance(answer, Classes)
        assert [each.label for each in answer.best] == np.argsort(-wanted[index]).tolist()
        assert np.allclose([each.score for each in answer.best], np.sort(wanted[index])[::-1], atol=1e-4)


def test_a_card_states_settings_or_none(tmp_path) -> None:
    mean_of(tmp_path, 3, 12, 11)
    for card in (
        ImageInput((10, 8), Channels.BGR, (12, 11), MEANS, 0.5),
        ImageInput((12, 11), Channels.BGR, None, "mean.binaryproto"),
        ImageInput((10, 8), Channels.GRAY, None, (3.0,)),
        ImageInput((10, 8), padded=True),
    ):
        assert image_input(transform_of(card, tmp_path)) == card
    for settings in (
        "crop_size: 8",
        "resize_param { height: 9 width: 9 interp_mode: AREA }",
        "resize_param { height: 9 width: 9 resize_mode: FIT_LARGE_SIZE_AND_PAD pad_value: 7 }",
    ):
        assert image_input(from_text(settings, pb.TransformationParameter, where="test")) is None


@pytest.mark.parametrize(
    ("card", "says"),
    [
        (ImageInput((9, 8), resize=(8, 8)), "the card crops images of 8x8 to 9x8"),
        (ImageInput((0, 8)), "the card crops images of 0x8 to 0x8"),
        (ImageInput((8, 8), mean=(1, 2)), "2 values as a mean, for 3 channels"),
        (ImageInput((8, 8), mean=(1,), standardized=True), "also `mean` or `scale`; remove these"),
        (ImageInput((8, 8), scale=2, standardized=True), "also `mean` or `scale`; remove these"),
        (ImageInput((8, 8), mean="../mean.binaryproto"), "which isn't a file in that folder"),
        (ImageInput((8, 8), mean="gone.binaryproto"), "gone.binaryproto"),
        (
            ImageInput((8, 8), mean="mean.binaryproto"),
            "the mean has 3 channels and 12x11, but images have",
        ),
    ],
)
def test_a_card_that_cannot_be_followed_is_refused(card, says, tmp_path: Path) -> None:
    mean_of(tmp_path, 3, 12, 11)
    with pytest.raises(CaffeError, match=says):
        transform_of(card, tmp_path)


@pytest.mark.parametrize(("height", "width", "borders"), [(20, 40, (5, 0)), (40, 20, (0, 5)), (19, 40, (5, 0))])
def test_a_padded_image_keeps_its_proportions_and_places_map_back_to_it(height, width, borders, tmp_path) -> None:
    card = ImageInput((20, 20), padded=True)
    prepare = LayerPreparation(transform_of(card, tmp_path), card.channels)
    prepared = prepare(np.full((3, height, width), 200, np.uint8), "test")
    top, left = borders
    inside = prepared.values[:, top : 20 - top - (height == 19), left : 20 - left]
    assert (inside == 200).all() and prepared.values.sum() == inside.sum()
    corner = prepared.placement.points_on_image(np.array([[float(left), float(top)]]))
    assert np.allclose(corner, 0)
    assert prepared.placement.corners(left / 20, top / 20, 0.5, 0.5)[:2] == (0, 0)


def test_the_lightness_of_an_image_can_be_the_input(tmp_path) -> None:
    image = np.random.default_rng(7).integers(0, 256, (3, 10, 8), np.uint8)
    card = ImageInput((10, 8), Channels.LIGHTNESS, mean=(127.5,), scale=0.5)
    made = LayerPreparation(transform_of(card, tmp_path), card.channels)(image, "").values
    wanted = cv2.cvtColor(image.transpose(1, 2, 0), cv2.COLOR_BGR2Lab)[None, ..., 0]
    assert made.shape == card.item == (1, 10, 8)
    assert np.array_equal(made, (wanted - 127.5) / 2)
    gray = LayerPreparation(transform_of(card, tmp_path), card.channels)(image[:1], "").values
    assert gray.shape == (1, 10, 8)
