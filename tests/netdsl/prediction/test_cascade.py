"""The three nets of a folder find the faces that the same computation in numpy finds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import netdsl.pycaffe as caffe
from caffe_proto.errors import CaffeError
from netdsl.errors import NetError
from netdsl.model.opening import open_model
from netdsl.prediction.cascade import FaceCascade, batch_net
from netdsl.prediction.decoders.mtcnn import Mtcnn
from tests.small_mtcnn import SETTINGS, write_mtcnn


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with three nets of one convolution for each of their outputs."""
    return write_mtcnn(tmp_path)


def numpy_net(path: Path):
    net = caffe.Net(f"{path}.prototxt", caffe.TEST, weights=f"{path}.caffemodel")
    blobs = {name: [blob.data.copy() for blob in params] for name, params in net.params.items()}

    def run(batch: np.ndarray) -> dict[str, np.ndarray]:
        side = next(iter(blobs.values()))[0].shape[-1]
        windows = np.lib.stride_tricks.sliding_window_view(batch, (side, side), (2, 3))[:, :, ::2, ::2]
        outputs = {
            name: np.einsum("nchwij,ocij->nohw", windows, weights) + bias[:, None, None]
            for name, (weights, bias) in blobs.items()
        }
        powers = np.exp(outputs.pop("score"))
        return outputs | {"prob1": powers / powers.sum(1, keepdims=True)}

    return run


def test_the_nets_find_what_numpy_finds(folder: Path) -> None:
    image = np.random.default_rng(0).integers(0, 256, (60, 80, 3), np.uint8)
    expected = SETTINGS.detect(image, tuple(numpy_net(folder / name) for name in Mtcnn.nets))
    found = FaceCascade(folder, SETTINGS).detect(image)
    assert len(expected.boxes)
    np.testing.assert_allclose(found.boxes, expected.boxes, atol=1e-3)
    np.testing.assert_allclose(found.points, expected.points, atol=1e-3)


def test_a_missing_net_is_named(folder: Path) -> None:
    (folder / "det2.caffemodel").unlink()
    with pytest.raises(CaffeError, match=r"det2\.caffemodel"):
        FaceCascade(folder)


def test_a_net_with_several_inputs_is_refused(tmp_path: Path) -> None:
    shape = "input_param { shape { dim: [1, 2] } }"
    path = tmp_path / "net.prototxt"
    path.write_text(
        f"layer {{ name: 'in' type: 'Input' top: 'a' top: 'b' {shape} }}"
        "layer { name: 'sum' type: 'Eltwise' bottom: 'a' bottom: 'b' top: 'sum' }"
    )
    with pytest.raises(NetError, match="has 2 inputs; name a net with a single input, for images"):
        batch_net(open_model(path), ("sum",))
