"""Answers claim only what the net, its card or the user shows: classes, values, embeddings and decoded outputs."""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from netdsl import ConvLayer, LinearLayer, Net, NetParams, RDDLayer, Softmax, SoftmaxWithLoss
from netdsl.dsl import ContrastiveLoss, EuclideanLoss, Flatten, InnerProduct, Sigmoid, SigmoidCrossEntropyLoss
from netdsl.dsl import Normalize as NormalizeLayer
from netdsl.prediction.cascade import FaceCascade
from tests.small_mtcnn import SETTINGS, write_mtcnn
from tests.voc_folder import VocImage, VocObject, write_voc
from tests.zoo.models import write_folder
from zoo.answers.answerer import AnswererRequest
from zoo.answers.cascade import open_answerer
from zoo.cards import Card, ImageInput, Task

IMAGE = ImageInput((4, 6))
DATA = RDDLayer("data", shape=[1, 3, 4, 6])


def photo(name: str, value: int = 255, size: tuple[int, int] = (8, 12)) -> str:
    assert cv2.imwrite(name, np.full((*size, 3), value, np.uint8))
    return name


def model(*layers, folder: str = "net", weights=None, **card) -> str:
    return str(write_folder(Path(folder), NetParams("net", DATA, *layers), weights, Card("net", input=IMAGE, **card)))


def answer(zoo, *words: str) -> tuple[dict, str]:
    done = zoo("predict", *words, "--json")
    assert done.code == 0, done.err
    return json.loads(done.out), done.err


def vector(name: str = "fc", outputs: int = 6):
    return LinearLayer(name, ["data"], num_outputs=outputs)


def test_a_vector_of_unknown_meaning_is_shown_as_values_with_the_commands_that_read_it_otherwise(zoo) -> None:
    plain, told = answer(zoo, model(vector()), photo("a.png"))
    assert plain["shape"] == [6] and len(plain["values"]) == 6 and "classes" not in plain
    assert "nothing shows what blob 'fc' contains, so its 6 values are shown without a meaning" in told
    assert "--as classes, --as embedding or the field `output` of a card" in told


def test_a_map_of_unknown_meaning_is_not_segments(zoo) -> None:
    plain, told = answer(zoo, model(ConvLayer("picture", ["data"], kernel=1, num_filters=3)), photo("a.png"))
    assert plain["shape"] == [3, 4, 6] and "segments" not in plain
    assert "nothing shows what blob 'picture' contains" in told and "use --as segments, --as picture or" in told


def test_a_trained_map_with_the_channels_of_a_picture_is_read_as_one_on_request(zoo) -> None:
    label = RDDLayer("label", shape=[1, 1, 4, 6])
    net = model(label, ConvLayer("sum", ["data"], kernel=1, num_filters=1), EuclideanLoss("loss", ["sum", "label"]))
    plain, told = answer(zoo, net, photo("a.png"))
    assert plain["shape"] == [1, 4, 6] and "if they are a picture, use --as picture" in told
    drawn = zoo("predict", net, "a.png", "--draw", "drawn")
    assert drawn.code == 2 and "read an output as a picture with --as picture" in drawn.err
    assert answer(zoo, net, "a.png", "--as", "picture")[0]["picture"]["kind"] == "gray"


@pytest.mark.parametrize(("word", "key"), [("classes", "classes"), ("values", "values"), ("embedding", "norm")])
def test_the_user_decides_what_a_vector_is(word, key, zoo) -> None:
    plain, told = answer(zoo, model(vector()), photo("a.png"), "--as", word)
    assert key in plain and "nothing shows" not in told


def test_the_user_decides_what_a_map_is(zoo) -> None:
    net = model(ConvLayer("score", ["data"], kernel=1, num_filters=3))
    assert "segments" in answer(zoo, net, photo("a.png"), "--as", "segments")[0]
    refused = zoo("predict", net, "a.png", "--as", "classes")
    assert refused.code == 2
    assert "--as classes needs a vector, but the blob 'score' has shape [3, 4, 6] for each image" in refused.err


def test_the_users_reading_comes_before_the_layers_and_the_card(zoo) -> None:
    net = model(vector(), Softmax("prob", ["fc"]), task=Task.CLASSIFICATION)
    assert "classes" in answer(zoo, net, photo("a.png"))[0]
    assert "values" in answer(zoo, net, "a.png", "--as", "values")[0]


def test_an_unknown_reading_is_refused_with_all_names(zoo) -> None:
    refused = zoo("predict", model(vector()), photo("a.png"), "--as", "cooking")
    assert refused.code == 2
    assert "'cooking' is neither a meaning nor a decoder; use one of classes, segments" in " ".join(refused.err.split())
    assert "landmarks" in refused.err


@pytest.mark.parametrize("last", [Softmax, Sigmoid])
def test_a_softmax_or_a_sigmoid_at_the_end_means_classes(last, zoo) -> None:
    plain, told = answer(zoo, model(vector(), last("out", ["fc"])), photo("a.png"))
    assert len(plain["classes"]) == 5
    assert "blob 'out' contains scores of classes, because layer 'out' " in told


def test_a_reshaped_softmax_still_means_classes(zoo) -> None:
    plain, _ = answer(zoo, model(vector(), Softmax("p", ["fc"]), Flatten("out", ["p"])), photo("a.png"))
    assert "classes" in plain


def test_a_sigmoid_inside_a_net_does_not_mean_classes(zoo) -> None:
    net = model(vector("code"), Sigmoid("hidden", ["code"]), LinearLayer("out", ["hidden"], num_outputs=3))
    assert "values" in answer(zoo, net, photo("a.png"), "--blob", "hidden")[0]
    assert "values" in answer(zoo, net, "a.png", "--blob", "code")[0]


def test_a_normalized_vector_is_an_embedding(zoo) -> None:
    weights = {"fc": [np.ones((6, 72)), np.zeros(6)]}
    net = model(vector(), NormalizeLayer("unit", ["fc"], across_spatial=False), weights=weights)
    plain, told = answer(zoo, net, photo("a.png"))
    assert plain["norm"] == pytest.approx(1, abs=1e-4) and len(plain["values"]) == 6
    assert "blob 'unit' contains an embedding, because layer 'unit' (Normalize) computes it" in told


LOSSES = {
    "classes": SoftmaxWithLoss("loss", ["fc", "label"]),
    "values": EuclideanLoss("loss", ["fc", "label"]),
    "norm": ContrastiveLoss("loss", ["fc", "fc", "label"]),
}


@pytest.mark.parametrize("key", LOSSES)
def test_the_loss_of_the_training_net_in_the_folder_shows_the_meaning(key, zoo) -> None:
    net = Path(model(vector()))
    trained = NetParams("net", DATA, RDDLayer("label", shape=[1, 6] if key == "values" else [1]), vector(), LOSSES[key])
    (net / "train_val.prototxt").write_text(trained.prototxt())
    plain, told = answer(zoo, str(net), photo("a.png"))
    assert key in plain
    assert "layer 'loss' (" in told and "compares it with labels" in told


@pytest.mark.parametrize("key", ["classes", "values"])
def test_the_loss_in_the_weights_file_shows_the_meaning_of_a_bare_net(key, zoo) -> None:
    trained = NetParams("net", DATA, RDDLayer("label", shape=[1, 6] if key == "values" else [1]), vector(), LOSSES[key])
    Net(trained).save("trained.caffemodel")
    Path("deploy.prototxt").write_text(NetParams("net", DATA, vector()).prototxt())
    assert key in answer(zoo, "deploy.prototxt", "--weights", "trained.caffemodel", photo("a.png"))[0]


@pytest.mark.parametrize("key", ["classes", "values"])
def test_a_net_to_train_is_read_by_its_own_loss(key, zoo) -> None:
    trained = NetParams("net", DATA, RDDLayer("label", shape=[1, 6] if key == "values" else [1]), vector(), LOSSES[key])
    Net(trained).save("net.caffemodel")
    assert key in answer(zoo, "net.caffemodel", photo("a.png"))[0]


def test_a_loss_on_the_nets_own_input_means_values(zoo) -> None:
    layers = (
        Flatten("flat", ["data"]),
        InnerProduct("out", ["data"], num_output=72),
        SigmoidCrossEntropyLoss("loss", ["out", "flat"]),
    )
    Net(NetParams("net", DATA, *layers)).save("net.caffemodel")
    plain, _ = answer(zoo, "net.caffemodel", photo("a.png"))
    assert len(plain["values"]) == 72


def test_as_many_labels_as_values_mean_classes(zoo) -> None:
    net = Path(model(vector()))
    (net / "labels.txt").write_text("a\nb\nc\nd\ne\nf\n")
    plain, told = answer(zoo, str(net), photo("a.png"))
    assert {each["name"] for each in plain["classes"]} < set("abcdef")
    assert "because the net's labels name 6 of them" in told
    (net / "labels.txt").write_text("a\nb\n")
    assert "values" in answer(zoo, str(net), "a.png")[0]


def test_all_outputs_are_answered_if_the_net_shows_the_meaning_of_one(zoo) -> None:
    net = model(vector(), Softmax("gender", ["fc"]), vector("age", 1))
    plain, told = answer(zoo, net, photo("a.png"))
    assert set(plain["outputs"]) == {"gender", "age"}
    assert "classes" in plain["outputs"]["gender"] and "value" in plain["outputs"]["age"]
    assert "nothing shows what blob 'age' contains" in told
    text = zoo("predict", net, "a.png").out.splitlines()
    assert "  gender:" in text and "  age:" in text
    refused = zoo("predict", net, "a.png", "--csv")
    assert refused.code == 2 and "use --json, or name one output with --blob" in refused.err


def test_several_outputs_of_unknown_meaning_are_refused_with_the_possible_decoders(zoo) -> None:
    net = model(vector("one"), vector("two", 3))
    refused = zoo("predict", net, photo("a.png"))
    assert refused.code == 2
    assert "the net has several outputs, one, two; name the one to read with --blob, or read all of them" in refused.err
    assert "landmarks" in refused.err
    plain, _ = answer(zoo, net, "a.png", "--as", "values")
    assert [len(each["values"]) for each in plain["outputs"].values()] == [6, 3]


def test_embeddings_are_compared_with_that_of_the_first_image(zoo) -> None:
    net = model(vector(), weights={"fc": [np.full((6, 72), 1 / 72), np.zeros(6)]}, task=Task.EMBEDDING)
    photo("a.png", 10), photo("b.png", 12)
    done = zoo("predict", net, "a.png", "b.png", "--json")
    first, second = (json.loads(line) for line in done.out.splitlines())
    assert "similarity" not in first
    assert second["similarity"]["image"] == "a.png"
    assert second["similarity"]["distance"] == pytest.approx(2 * np.sqrt(6), rel=1e-4)
    assert second["similarity"]["cosine"] == pytest.approx(1)
    assert "cosine 1.0000 to a.png" in zoo("predict", net, "a.png", "b.png").out


def test_a_card_names_the_decoder_of_the_output_and_its_points_are_on_the_image(zoo) -> None:
    places = np.array([0, 0, 1, 0.5, 0.5, 1])
    output = {"decoder": "landmarks", "names": ["eye", "nose", "mouth"]}
    net = model(vector(), weights={"fc": [np.zeros((6, 72)), places]}, output=output)
    plain, told = answer(zoo, net, photo("a.png"))
    assert [(point["name"], point["x"], point["y"]) for point in plain["points"]] == [
        ("eye", 0, 0), ("nose", 12, 4), ("mouth", 6, 8),
    ]  # fmt: skip
    assert "nothing shows" not in told and "no card describes the output" not in told
    assert zoo("predict", net, "a.png").out.splitlines()[2].split() == ["nose", "at", "12.0,4.0"]
    rows = zoo("predict", net, "a.png", "--csv").out.splitlines()
    assert rows[0] == "image,name,x,y,score,error" and rows[3] == "a.png,mouth,6.0,8.0,,"
    assert zoo("predict", net, "a.png", "--draw", "drawn").code == 0
    drawn = cv2.imread("drawn/a.png")
    assert drawn.shape == (8, 12, 3) and (drawn[4, 11] != 255).any() and (drawn[4, 2] == 255).all()


def test_a_bare_net_has_a_card_of_its_own_next_to_it(zoo) -> None:
    folder = Path(model(vector()))
    (folder / "deploy.prototxt").rename("points.prototxt")
    (folder / "weights.caffemodel").rename("points.caffemodel")
    words = "points.prototxt", "--weights", "points.caffemodel", photo("a.png")
    assert "values" in answer(zoo, *words)[0]
    card = "---\nname: points\ninput: {size: [4, 6]}\noutput: {decoder: landmarks, unit: pixels}\n---\n"
    Path("points.card.md").write_text(card)
    plain, told = answer(zoo, *words)
    assert len(plain["points"]) == 3 and "no card describes" not in told


def test_a_net_in_a_models_folder_has_the_folders_card(zoo) -> None:
    folder = model(vector(), output={"decoder": "landmarks"})
    weights = "--weights", f"{folder}/weights.caffemodel"
    assert "points" in answer(zoo, f"{folder}/deploy.prototxt", *weights, photo("a.png"))[0]


def test_a_wrong_field_of_the_output_is_named(zoo) -> None:
    net = Path(model(vector()))
    card = net / "README.md"
    for output, says in (
        ("{decoder: landmark}", "output.decoder: there is no decoder 'landmark'; did you mean landmarks?"),
        ("{decoder: landmarks, scale: big}", "output.scale: expected `float`"),
        (
            "{decoder: colorization, points: ../points.npy}",
            "'../points.npy' isn't a file in the model's folder",
        ),
        ("{decoder: landmarks, blobs: {points: gone}}", "doesn't have the blob 'gone'"),
    ):
        card.write_text(f"---\nname: net\ninput: {{size: [4, 6]}}\noutput: {output}\n---\n")
        refused = zoo("predict", str(net), photo("a.png"))
        assert refused.code == 2 and says in refused.err, output


def test_an_output_that_does_not_fit_its_decoder_is_reported(zoo) -> None:
    net = model(vector(outputs=5), output={"decoder": "landmarks"})
    refused = zoo("predict", net, photo("a.png"))
    assert refused.code == 2 and "blob 'fc': 5 values aren't pairs of x and y" in refused.err


def test_attributes_are_groups_of_classes_and_numbers(zoo) -> None:
    groups = {
        "gender": {"blob": "gender", "names": ["female", "male"]},
        "age": {"blob": "age", "scale": 100},
    }
    net = model(
        vector(outputs=2),
        Softmax("gender", ["fc"]),
        vector("age", 1),
        weights={"fc": [np.zeros((2, 72)), np.array([0, 3])], "age": [np.zeros((1, 72)), np.array([0.25])]},
        output={"decoder": "attributes", "groups": groups},
    )
    plain, _ = answer(zoo, net, photo("a.png"))
    assert plain["attributes"]["gender"]["classes"][0]["name"] == "male"
    assert plain["attributes"]["age"]["value"] == pytest.approx(25)
    refused = zoo("predict", net, "a.png", "--as", "attributes")
    assert refused.code == 2 and "set them in the field `output` of a card" in refused.err


def test_a_picture_is_written_as_an_image_file(zoo) -> None:
    weight = np.zeros((3, 3, 1, 1), np.float32)
    weight[[0, 1, 2], [2, 1, 0]] = 0.5  # swaps red and blue, and halves
    net = model(
        ConvLayer("swapped", ["data"], kernel=1, num_filters=3),
        weights={"swapped": [weight, np.zeros(3)]},
        output={"decoder": "picture", "kind": "BGR"},
    )
    image = np.zeros((4, 6, 3), np.uint8)
    image[..., 0] = 200
    assert cv2.imwrite("a.png", image)
    plain, _ = answer(zoo, net, "a.png", "--draw", "drawn")
    assert plain["picture"] == {"width": 6, "height": 4, "channels": 3, "kind": "BGR"}
    assert plain["drawn"] == "drawn/a.png"
    assert cv2.imread("drawn/a.png")[2, 2].tolist() == [0, 0, 100]
    assert "--draw FOLDER writes it as an image file" in zoo("predict", net, "a.png").out


def test_a_residual_is_added_to_the_input(zoo) -> None:
    net = model(
        ConvLayer("residual", ["data"], kernel=1, num_filters=3),
        weights={"residual": [np.zeros((3, 3, 1, 1)), np.array([5, 6, 7])]},
        output={"decoder": "picture", "residual": True},
    )
    answer(zoo, net, photo("a.png", 100, (4, 6)), "--draw", "drawn")
    assert cv2.imread("drawn/a.png")[1, 1].tolist() == [105, 106, 107]


def test_colors_are_joined_with_the_lightness_of_the_image_at_its_own_size(zoo) -> None:
    net = model(
        ConvLayer("ab", ["data"], kernel=1, num_filters=2),
        weights={"ab": [np.zeros((2, 3, 1, 1)), np.array([60, 0])]},
        output={"decoder": "colorization"},
    )
    answer(zoo, net, photo("a.png", 120, (20, 30)), "--draw", "drawn")
    drawn = cv2.imread("drawn/a.png")
    assert drawn.shape == (20, 30, 3)
    lab = cv2.cvtColor(drawn.astype(np.float32) / 255, cv2.COLOR_BGR2Lab)[5, 5]
    assert lab == pytest.approx([50.4, 60, 0], abs=1.5)


def test_a_text_is_read_with_the_symbols_in_labels(zoo) -> None:
    scores = np.array([[0, 0, 9], [9, 0, 0], [9, 0, 0], [0, 0, 9], [0, 9, 0]])
    net = Path(
        model(
            vector(outputs=15),
            weights={"fc": [np.zeros((15, 72)), scores.ravel()]},
        )
    )
    prototxt = (net / "deploy.prototxt").read_text()
    reshape = (
        'layer { name: "places" type: "Reshape" bottom: "fc" top: "places" '
        "reshape_param { shape { dim: 0 dim: 5 dim: 3 } } }"
    )
    (net / "deploy.prototxt").write_text(prototxt + reshape)
    (net / "labels.txt").write_text("A\nB\n-\n")
    plain, _ = answer(zoo, str(net), photo("a.png"), "--as", "text")
    assert plain["text"] == "AB"


def test_places_are_read_along_the_axis_of_the_batch(zoo) -> None:
    """Recurrent nets put time before the images of a batch."""
    layers = """
    layer { name: "swap" type: "Permute" bottom: "fc" top: "places" permute_param { order: 1 order: 0 } }
    """
    weights = {"fc": [np.full((6, 72), 1 / 72) * np.array([1, 0, 0, 0, 0, 0])[:, None], np.array([0, 1, 0, 0, 0, 1])]}
    net = Path(model(vector(), weights=weights, output={"decoder": "landmarks", "unit": "pixels"}))
    (net / "deploy.prototxt").write_text((net / "deploy.prototxt").read_text() + layers)
    photo("a.png", 2, (4, 6)), photo("b.png", 3, (4, 6))
    done = zoo("predict", str(net), "a.png", "b.png", "--json", "--batch", "2")
    assert done.code == 0, done.err
    assert [json.loads(line)["points"][0]["x"] for line in done.out.splitlines()] == pytest.approx([2, 3])


def test_a_table_gets_classes_only_from_a_net_that_shows_them(zoo) -> None:
    rows = np.random.default_rng(0).normal(size=(3, 72)).astype(np.float32)
    pq.write_table(pa.table({"data": rows.tolist()}), "rows.parquet")
    net = model(vector())
    done = zoo("predict", net, "rows.parquet", "-o", "out.parquet")
    assert done.code == 0 and "nothing shows what blob 'fc' contains, so its 6 values are shown" in done.err
    table = pq.read_table("out.parquet")
    assert table.column_names == ["data", "prediction"]
    assert [len(values) for values in table["prediction"].to_pylist()] == [6, 6, 6]
    done = zoo("predict", net, "rows.parquet", "-o", "out.parquet", "--as", "classes")
    assert done.code == 0 and "nothing shows" not in done.err
    table = pq.read_table("out.parquet")
    assert table.column_names == ["data", "probability", "prediction"]
    assert all(value in range(6) for value in table["prediction"].to_pylist())
    refused = zoo("predict", net, "rows.parquet", "-o", "out.parquet", "--as", "embedding")
    assert refused.code == 2 and "--as embedding is for images; use classes or values for a table" in refused.err


def test_a_published_detector_is_recognized_and_its_boxes_are_on_the_image(zoo) -> None:
    """UltraFace's grids for an input of 240 x 320 have 4420 boxes."""
    layers = "".join(
        f"""
        layer {{ name: "{name}" type: "Convolution" bottom: "data" top: "{name}"
          convolution_param {{ num_output: {size} kernel_h: 240 kernel_w: 320 }} }}
        layer {{ name: "{top}" type: "Reshape" bottom: "{name}" top: "{top}"
          reshape_param {{ shape {{ dim: 0 dim: 4420 dim: {size // 4420} }} }} }}
        """
        for name, top, size in (("box", "boxes", 4 * 4420), ("score", "scores", 2 * 4420))
    )
    data = "layer { name: 'data' type: 'Input' top: 'data' input_param { shape { dim: 1 dim: 3 dim: 240 dim: 320 } } }"
    pool = "pooling_param { pool: AVE kernel_size: 80 stride: 80 }"
    small = f"layer {{ name: 's' type: 'Pooling' bottom: 'data' top: 's' {pool} }}"
    Path("faces.prototxt").write_text(
        data + small + layers.replace('bottom: "data"', 'bottom: "s"').replace("240", "3").replace("320", "4")
    )
    net = Net("faces.prototxt")
    scores = np.tile([1.0, 0], (4420, 1))
    scores[1000] = [0.1, 0.9]
    weights = {name: [np.zeros_like(blob) for blob in blobs] for name, blobs in net.get_weights().items()}
    weights["score"][1][:] = scores.ravel()
    net.set_weights(weights)
    net.save("faces.caffemodel")
    words = "faces.prototxt", "--weights", "faces.caffemodel", photo("a.png", size=(480, 640))
    plain, told = answer(zoo, *words)
    (box,) = plain["boxes"]
    assert [box[side] for side in ("left", "top", "right", "bottom")] == pytest.approx([200, 120, 232, 152])
    assert box["name"] == "face" and box["score"] == pytest.approx(0.9)
    assert "no card describes the output; the outputs 'boxes' and 'scores' describe" in told
    assert "as in the published nets of this family, they are RGB with values from 0 to 255, resized to 240x3" in told
    pixels = np.arange(3 * 240 * 320).reshape(3, 240, 320) % 256
    prepared = open_answerer(AnswererRequest(words[0], (words[2],))).prepare(pixels.astype(np.uint8), "a.png")
    np.testing.assert_allclose(prepared.values, (pixels[::-1] - 127) / 128, atol=1e-6)
    assert answer(zoo, *words, "--threshold", "0.95")[0]["boxes"] == []


def test_a_folder_with_mtcnns_nets_finds_faces_with_landmarks(zoo) -> None:
    folder = write_mtcnn(Path("mtcnn"))
    noise = np.random.default_rng(0).integers(0, 256, (60, 80, 3), np.uint8)
    assert cv2.imwrite("a.png", noise)
    card = "---\nname: faces\noutput: {decoder: mtcnn, threshold: [0.5, 0.4, 0.4], smallest_face: 24}\n---\n"
    (folder / "README.md").write_text(card)
    expected = FaceCascade(folder, SETTINGS).detect(noise[..., ::-1])
    plain, told = answer(zoo, "mtcnn", "a.png", "--draw", "drawn")
    assert len(plain["boxes"]) == len(expected.boxes) > 0 and "no card" not in told
    edges = [[box[side] for side in ("left", "top", "right", "bottom")] for box in plain["boxes"]]
    np.testing.assert_allclose(edges, np.clip(expected.boxes, 0, [80, 60, 80, 60]), atol=1e-3)
    np.testing.assert_allclose([box["points"] for box in plain["boxes"]], expected.points, atol=1e-3)
    assert (cv2.imread("drawn/a.png") != noise).any()
    (folder / "README.md").unlink()
    assert "det1, det2 and det3 are read as MTCNN's cascade" in zoo("predict", "mtcnn", "a.png").err
    (folder / "README.md").write_text(card.replace("24", "big"))
    refused = zoo("predict", "mtcnn", "a.png")
    assert refused.code == 2 and "mtcnn/README.md: output.smallest_face: expected `float`" in refused.err
    (folder / "README.md").write_text(card.replace("}", ", landmarks: points}"))
    refused = zoo("predict", "mtcnn", "a.png")
    assert refused.code == 2 and "doesn't have the blob 'points'; use one of data, score" in refused.err
    assert "set `scores`, `boxes` and `landmarks` in the field `output` of mtcnn/README.md" in refused.err


def test_one_blob_is_shown_as_points_and_attributes(zoo) -> None:
    weights = {"fc": [np.zeros((6, 72)), np.array([-0.5, 0.1, 0, 0.5, 1, 0])]}
    groups = {"yaw": {"blob": "fc", "count": "1", "scale": "90"}, "age": {"blob": "fc", "first": "1", "count": "1"}}
    output = {"decoder": "landmarks", "first": "2", "names": ["eye", "nose"], "groups": groups}
    net = model(vector(), weights=weights, output=output)
    plain, _ = answer(zoo, net, photo("a.png"), "--draw", "drawn")
    assert [(point["name"], point["x"], point["y"]) for point in plain["points"]] == [("eye", 0, 4), ("nose", 12, 0)]
    assert plain["attributes"] == {"yaw": {"value": -45}, "age": {"value": pytest.approx(0.1)}}
    assert Path("drawn/a.png").is_file()
    lines = zoo("predict", net, "a.png").out.splitlines()
    assert [line.strip() for line in lines[1:]] == ["yaw:", "-45", "age:", "0.1", "eye at 0.0,4.0", "nose at 12.0,0.0"]


def test_the_boxes_of_a_decoder_are_tested_on_marked_objects(zoo) -> None:
    layers = """
    layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 3 dim: 16 dim: 16 } } }
    layer { name: "small" type: "Pooling" bottom: "data" top: "small" pooling_param { pool: AVE global_pooling: true } }
    layer { name: "boxes" type: "InnerProduct" bottom: "small" top: "boxes" inner_product_param { num_output: 4 } }
    layer { name: "scores" type: "InnerProduct" bottom: "small" top: "scores" inner_product_param { num_output: 2 } }
    layer { name: "priors" type: "PriorBox" bottom: "small" bottom: "data" top: "priors"
            prior_box_param { min_size: 8 variance: 0.1 variance: 0.1 variance: 0.2 variance: 0.2 } }
    """
    Path("net.prototxt").write_text(layers)
    net = Net("net.prototxt")
    weights = {name: [np.zeros_like(blob) for blob in blobs] for name, blobs in net.get_weights().items()}
    weights["scores"][1][1] = 5
    net.set_weights(weights)
    net.save("net.caffemodel")
    blobs = "{locations: boxes, scores: scores, priors: priors}"
    output = f"{{decoder: ssd, activation: softmax, names: [background, cat], blobs: {blobs}}}"
    Path("net.card.md").write_text(f"---\nname: net\ninput: {{size: [16, 16]}}\noutput: {output}\n---\n")
    middle, corner = (5, 5, 12, 12), (1, 1, 4, 4)
    images = [
        VocImage("a", 16, 16, [VocObject("cat", middle)]),
        VocImage("b", 16, 16, [VocObject("cat", corner)]),
    ]
    write_voc(Path("voc"), images)
    done = zoo("test", "net.prototxt", "--weights", "net.caffemodel", "--data", "voc:voc", "--json")
    assert done.code == 0, done.err
    (scores,) = json.loads(done.out)["scores"]
    assert scores["scores"]["mAP VOC 2010"] == pytest.approx(0.5)


def test_a_net_that_joins_the_images_of_a_batch_reads_one_image_at_a_time(zoo) -> None:
    head = """
    layer {{ name: "{name}_map" type: "Convolution" bottom: "data" top: "{name}_map"
            convolution_param {{ num_output: {values} kernel_size: 8 stride: 8 }} }}
    layer {{ name: "{name}_last" type: "Permute" bottom: "{name}_map" top: "{name}_last"
            permute_param {{ order: [0, 2, 3, 1] }} }}
    layer {{ name: "{name}" type: "Reshape" bottom: "{name}_last" top: "{name}"
            reshape_param {{ shape {{ dim: [1, -1, {values}] }} }} }}
    """
    data = 'layer { name: "data" type: "Input" top: "data" input_param { shape { dim: [1, 3, 16, 16] } } }'
    Path("net.prototxt").write_text(data + head.format(name="boxes", values=4) + head.format(name="scores", values=2))
    net = Net("net.prototxt")
    weights = {name: [np.zeros_like(blob) for blob in blobs] for name, blobs in net.get_weights().items()}
    weights["scores_map"][0][1] = 1 / (3 * 64 * 255)  # the brightness of a cell
    net.set_weights(weights)
    net.save("net.caffemodel")
    output = "{decoder: ultraface, strides: [8], min_boxes: [[8]]}"
    Path("net.card.md").write_text(f"---\nname: net\ninput: {{size: [16, 16]}}\noutput: {output}\n---\n")
    words = "predict", "net.prototxt", "--weights", "net.caffemodel", photo("dark.png", 0), photo("light.png")
    for more in ((), ("--batch", "2")):
        done = zoo(*words, *more, "--json")
        assert [len(json.loads(line)["boxes"]) for line in done.out.splitlines()] == [0, 4], done.err
        assert ("its layers don't keep images apart" in done.err) == bool(more)
