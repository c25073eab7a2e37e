"""Blobs: their legacy names, and arrays of tensors that are not in this machine's memory."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from netdsl.errors import ShapeError
from netdsl.pycaffe.blob import ArrayMirror


def test_the_old_names_of_axes(make_net) -> None:
    net = make_net(
        'input: "x" input_shape { dim: 2 dim: 3 } input: "y" input_shape { dim: 1 dim: 1 dim: 1 dim: 1 dim: 1 }'
    )
    blob = net.blobs["x"]
    assert (blob.num, blob.channels, blob.height, blob.width, blob.count) == (2, 3, 1, 1, 6)
    with pytest.raises(ShapeError, match="4 axes"):
        _ = net.blobs["y"].num


def test_a_shape_has_no_negative_axis(learning) -> None:
    with pytest.raises(ShapeError, match="not a shape"):
        learning.blobs["data"].reshape(2, -1)


class Remote:
    """A tensor on a device that numpy can't look into."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.data, self.device, self.shape = tensor, SimpleNamespace(type="cuda"), tensor.shape

    def detach(self) -> Remote:
        return self

    def cpu(self) -> torch.Tensor:
        return self.data.clone()


def test_an_array_of_a_tensor_elsewhere_goes_there_and_back() -> None:
    remote, mirror = Remote(torch.zeros(2, 3)), ArrayMirror()
    held = mirror.show(remote)
    held[0, 1] = 5
    assert mirror.show(remote)[0, 1] == 5 and remote.data[0, 1] == 0
    mirror.flush()
    assert remote.data[0, 1] == 5
    remote.data.fill_(7)
    mirror.flush()
    assert (remote.data == 7).all()
    assert mirror.show(remote) is held and (held == 7).all()
    assert mirror.show(Remote(torch.ones(4))).shape == (4,)
    assert isinstance(held, np.ndarray)
