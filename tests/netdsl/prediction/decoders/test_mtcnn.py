"""MTCNN's cascade with small nets in numpy, whose faces are bright squares."""

from __future__ import annotations

import numpy as np
import pytest

from netdsl.errors import DecoderError
from netdsl.prediction.decoders.decoder import PointOrder
from netdsl.prediction.decoders.mtcnn import Mtcnn, _crops, _squares, _whole


def image_with_faces(*faces: tuple[int, int, int]) -> np.ndarray:
    """Return a dark image (height, width, RGB) of 120 x 200 pixels with bright squares at (x, y) of a side."""
    image = np.zeros((120, 200, 3), np.uint8)
    for x, y, side in faces:
        image[y : y + side, x : x + side] = 255
    return image


def likeness(windows: np.ndarray) -> np.ndarray:
    """Return how bright the middle and how dark the border of square windows are, on the last two axes."""
    bright, side = windows / 2 + 0.5, windows.shape[-1]
    border = np.ones((side, side), bool)
    border[side // 6 : -(side // 6), side // 6 : -(side // 6)] = False
    return bright[..., ~border].mean(-1) * (1 - bright[..., border].mean(-1))


def first_net(batch: np.ndarray) -> dict[str, np.ndarray]:
    """Judge each window of 12 x 12 pixels, with a stride of 2."""
    windows = np.lib.stride_tricks.sliding_window_view(batch[0, 0], (12, 12))[::2, ::2]
    face = likeness(windows)
    return {"prob1": np.stack([1 - face, face])[None], "conv4-2": np.zeros((1, 4, *face.shape))}


def later_net(batch: np.ndarray) -> dict[str, np.ndarray]:
    face = likeness(batch[:, 0])
    points = np.tile([0.25, 0.75, 0.5, 0.3, 0.7, 0.4, 0.4, 0.5, 0.8, 0.8], (len(batch), 1))
    nothing = np.zeros((len(batch), 4))
    return {"prob1": np.stack([1 - face, face], 1), "conv5-2": nothing, "conv6-2": nothing, "conv6-3": points}


def test_faces_are_found_with_their_landmarks():
    found = Mtcnn(threshold=(0.5, 0.5, 0.5)).detect(
        image_with_faces((30, 20, 40), (130, 60, 40)), (first_net, later_net, later_net)
    )
    order = np.argsort(found.boxes[:, 0])
    assert len(order) == 2
    # The scales of the pyramid differ by a factor of 1.4, so a box can be a sixth too large or too small.
    np.testing.assert_allclose(found.boxes[order], [[20, 10, 80, 70], [120, 50, 180, 110]], atol=10)
    assert found.names == ("face",)
    left, top, right, bottom = found.boxes[order[0]]
    assert found.points is not None
    np.testing.assert_allclose(found.points[order[0], 0], [left + 0.25 * (right - left), top + 0.4 * (bottom - top)])
    np.testing.assert_allclose(found.points[order[0], 4], [left + 0.7 * (right - left), top + 0.8 * (bottom - top)])


def test_x_and_y_of_landmarks_may_alternate():
    image, nets = image_with_faces((30, 20, 40)), (first_net, later_net, later_net)
    expected = Mtcnn(threshold=(0.5, 0.5, 0.5)).detect(image, nets)

    def alternating(batch: np.ndarray) -> dict[str, np.ndarray]:
        outputs = later_net(batch)
        return {**outputs, "conv6-3": outputs["conv6-3"].reshape(-1, 2, 5).transpose(0, 2, 1).reshape(-1, 10)}

    found = Mtcnn(threshold=(0.5, 0.5, 0.5), order=PointOrder.XY).detect(image, (first_net, later_net, alternating))
    assert len(found.boxes) == 1
    np.testing.assert_array_equal(found.points, expected.points)


def test_nets_read_transposed_images_in_rgb():
    image = np.zeros((40, 60, 3), np.uint8)
    image[5, 50] = [255, 100, 0]
    seen = []

    def net(batch: np.ndarray) -> dict[str, np.ndarray]:
        seen.append(batch)
        grid = [(length - 12) // 2 + 1 for length in batch.shape[2:]]
        return {"prob1": np.zeros((1, 2, *grid)), "conv4-2": np.zeros((1, 4, *grid))}

    Mtcnn(smallest_face=12).detect(image, (net, later_net, later_net))
    assert seen[0].shape == (1, 3, 60, 40)
    np.testing.assert_allclose(seen[0][0, :, 50, 5], (np.array([255, 100, 0]) - 127.5) * 0.0078125)
    assert [batch.shape[2] for batch in seen] == [60, 43, 31, 22]
    Mtcnn(smallest_face=12, transposed=False).detect(image, (net, later_net, later_net))
    assert seen[4].shape == (1, 3, 40, 60)


def test_both_orders_of_axes_find_the_same_faces():
    def exchanged(net):
        def run(batch):
            outputs = net(batch.swapaxes(2, 3))
            return {name: values.swapaxes(2, 3) if values.ndim == 4 else values for name, values in outputs.items()}

        return run

    image = image_with_faces((30, 20, 40))
    nets = first_net, later_net, later_net
    expected = Mtcnn().detect(image, nets)
    found = Mtcnn(transposed=False).detect(image, tuple(map(exchanged, nets)))
    np.testing.assert_array_equal(found.boxes, expected.boxes)


def test_an_image_without_faces_has_no_detections():
    for image in (image_with_faces(), np.zeros((8, 8, 3), np.uint8)):
        found = Mtcnn().detect(image, (first_net, later_net, later_net))
        assert found.boxes.shape == (0, 4)
        assert found.points is not None
        assert found.points.shape == (0, 5, 2)


def test_crops_equal_those_of_opencv_and_are_black_outside():
    cv2 = pytest.importorskip("cv2")
    image = np.random.default_rng(0).uniform(0, 255, (40, 50, 3)).astype(np.float32)
    boxes = np.array([[5, 7, 35, 37], [-4, 30, 16, 50], [20, 10, 26, 16]])
    padded = np.pad(image, ((20, 20), (20, 20), (0, 0)))
    for crop, (left, top, right, bottom) in zip(_crops(image, boxes, (24, 24)), boxes + 20, strict=True):
        expected = cv2.resize(padded[top:bottom, left:right], (24, 24))
        np.testing.assert_allclose(crop, expected, atol=1e-3)


def test_squares_keep_the_center_and_the_longer_side():
    assert _squares(np.array([[0.0, 0, 10, 4], [1, 1, 2, 9]])).tolist() == [[0, -3, 10, 7], [-2.5, 1, 5.5, 9]]
    assert _whole(np.array([[0.5, -2.5, 3.5, 4.0]])).tolist() == [[0, -2, 3, 4]]


def test_wrong_nets_and_settings_are_explained():
    image = image_with_faces((30, 20, 40))
    with pytest.raises(DecoderError, match="the net doesn't compute 'conv4-2'; use one of prob1"):
        Mtcnn().detect(image, (lambda batch: {"prob1": batch}, later_net, later_net))
    with pytest.raises(DecoderError, match="blob 'prob1': its shape is"):
        Mtcnn(threshold=(0, 0, 0)).detect(image, (first_net, first_net, later_net))
    with pytest.raises(
        DecoderError, match="smallest_face is 3, which needs too much memory for an image of 9000 x 9000"
    ):
        Mtcnn(smallest_face=3).detect(np.broadcast_to(np.uint8(0), (9000, 9000, 3)), (first_net, later_net, later_net))
    with pytest.raises(DecoderError, match=r"factor is 1; set it to a number from 0\.1 to 0\.95"):
        Mtcnn(factor=1)
