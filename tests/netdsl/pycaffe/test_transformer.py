"""Images made ready for a net, and back."""

from __future__ import annotations

import numpy as np
import pytest

from netdsl.errors import NetError
from netdsl.pycaffe.io import Transformer, resize_image

IMAGE = np.random.default_rng(5).random((4, 6, 3)).astype(np.float32)


def transformer() -> Transformer:
    made = Transformer({"data": (10, 3, 4, 6)})
    made.set_transpose("data", (2, 0, 1))
    made.set_channel_swap("data", (2, 1, 0))
    made.set_raw_scale("data", 255)
    made.set_mean("data", np.array([104.0, 117, 123]))
    made.set_input_scale("data", 0.5)
    return made


def test_every_step_is_done_in_its_turn() -> None:
    before = IMAGE.copy()
    wanted = (IMAGE[:, :, ::-1].transpose(2, 0, 1) * 255 - np.array([104.0, 117, 123])[:, None, None]) * 0.5
    found = transformer().preprocess("data", IMAGE)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-4)
    assert found.dtype == np.float32 and found.shape == (3, 4, 6)
    np.testing.assert_array_equal(IMAGE, before)


def test_deprocess_is_the_way_back() -> None:
    made = transformer()
    back = made.deprocess("data", made.preprocess("data", IMAGE)[np.newaxis])
    np.testing.assert_allclose(back, IMAGE, atol=1e-6)


def test_nothing_is_done_that_is_not_set_but_resizing() -> None:
    made = Transformer({"data": (1, 3, 8, 5)})
    np.testing.assert_array_equal(made.preprocess("data", IMAGE), resize_image(IMAGE, (8, 5)))
    assert made.preprocess("data", (IMAGE * 255).astype(np.uint8)).dtype == np.float32


def test_a_mean_is_a_value_for_each_channel_or_an_image_of_any_size() -> None:
    made = Transformer({"data": (1, 3, 4, 6)})
    made.set_transpose("data", (2, 0, 1))
    image = np.random.default_rng(6).random((3, 4, 6))
    made.set_mean("data", image)
    np.testing.assert_allclose(made.preprocess("data", IMAGE), IMAGE.transpose(2, 0, 1) - image, atol=1e-6)
    made.set_mean("data", np.random.default_rng(6).random((3, 8, 9)) * 100 + 50)
    assert made.mean["data"].shape == (3, 4, 6) and 50 <= made.mean["data"].min() < made.mean["data"].max() <= 150
    made.set_mean("data", np.full((3, 8, 9), 7.0))
    assert (made.mean["data"] == 7).all()
    made.set_mean("data", np.ones((1, 8, 9)))
    assert made.preprocess("data", IMAGE).shape == (3, 4, 6)


@pytest.mark.parametrize(
    ("call", "value", "why"),
    [
        ("set_transpose", (1, 0), "2 axes, an item of 'data' has 3"),
        ("set_channel_swap", (1, 0), "2 channels, 'data' has 3"),
        ("set_mean", np.zeros(2), "2 channels, 'data' has 3"),
        ("set_mean", np.zeros((1, 2, 3, 4)), "4 axes"),
        ("set_mean", np.zeros((2, 8, 9)), "doesn't fit"),
        ("set_mean", np.zeros((8, 9)), "doesn't fit"),
    ],
)
def test_settings_that_do_not_fit_are_refused(call: str, value, why: str) -> None:
    with pytest.raises(NetError, match=why):
        getattr(transformer(), call)("data", value)


def test_only_inputs_have_settings() -> None:
    made = transformer()
    for call in ("set_transpose", "set_channel_swap", "set_raw_scale", "set_mean", "set_input_scale", "preprocess"):
        with pytest.raises(NetError, match="'label' is not one of the inputs: data"):
            getattr(made, call)("label", IMAGE)
    with pytest.raises(NetError):
        made.deprocess("label", IMAGE)
