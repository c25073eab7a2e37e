"""Nets that are copied and pickled continue exactly as the originals would."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import TensorDataset

from netdsl import LinearLayer, Net, NetParams, RDDLayer
from netdsl.dsl import Accuracy, Dropout, SoftmaxWithLoss
from netdsl.errors import NetError

COUNT = 40
ROWS = np.random.default_rng(0).normal(size=(COUNT, 3)).astype(np.float32)
LABELS = (ROWS[:, 0] > 0).astype(np.int64)
XAVIER = {"type": "xavier"}


def pickled(net: Net) -> Net:
    other: Net = pickle.loads(pickle.dumps(net))
    return other


COPIES: dict[str, Callable[[Net], Net]] = {"copy": copy.copy, "deepcopy": copy.deepcopy, "pickle": pickled}
FORMS: dict[str, Callable[[], Any]] = {
    "arrays": lambda: (ROWS, LABELS),
    "data set": lambda: TensorDataset(torch.from_numpy(ROWS), torch.from_numpy(LABELS)),
    "items": lambda: list(zip(ROWS, LABELS, strict=True)),
}


def net_of(**options: Any) -> Net:
    return Net(
        NetParams(
            "two",
            RDDLayer("data", shape=[8, 3]),
            RDDLayer("label", shape=[8, 1]),
            LinearLayer("ip1", ["data"], num_outputs=6, weight_filler=XAVIER),
            Dropout("drop", ["ip1"], in_place=True),
            LinearLayer("ip2", ["ip1"], num_outputs=2, weight_filler=XAVIER),
            Accuracy("accuracy", ["ip2", "label"], include={"phase": "TEST"}),
            SoftmaxWithLoss("loss", ["ip2", "label"]),
        ),
        **options,
    )


@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_copy_trains_on_to_the_same_bits(form: Callable[[], Any], copied: Callable[[Net], Net]) -> None:
    net = net_of()
    net.train(form(), 7, random_seed=3, lr_policy="multistep", gamma=0.1, stepvalue=[5, 9], momentum=0.9)
    net.set_validation_data((ROWS, LABELS))
    net.test(2)
    other = copied(net)
    assert other.get_weights() == net.get_weights()
    net.train(6)
    copy_of_copy = copied(other)  # before it has its own solver
    other.train(6)
    assert other.get_weights() == net.get_weights()
    copy_of_copy.train(6)
    assert copy_of_copy.get_weights() == net.get_weights()
    assert other.test(1) == net.test(1) == copy_of_copy.test(1)


def test_a_copy_is_independent() -> None:
    net = net_of()
    net.train((ROWS, LABELS), 2)
    other, before = copy.copy(net), net.get_weights()
    other.train(3)
    assert net.get_weights() == before != other.get_weights()
    other.close()
    net.train(1)
    assert copy.copy(other).get_weights() == other.get_weights()
    with pytest.raises(NetError, match="is closed"):
        copy.copy(other).train(1)


def test_copying_draws_no_random_numbers() -> None:
    net = net_of()
    torch.manual_seed(4)
    expected = torch.rand(2)
    torch.manual_seed(4)
    copy.copy(net)
    pickled(net)
    assert torch.equal(torch.rand(2), expected)


def test_a_copy_is_in_the_same_phase_and_state() -> None:
    net = net_of(phase="TRAIN", stages=["first"], level=2, caffe_gradients=True)
    other = pickled(net)
    assert repr(other) == repr(net)
    assert other.message == net.message
    assert other.form == net.form


def test_loading_a_net_from_a_gpu_without_a_gpu_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    now = dataclasses.replace(net_of()._state(), device="cuda:0")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(NetError, match=r"was on cuda:0, but torch sees no GPU here; call net.to\('cpu'\)"):
        now.open()


def test_a_copy_starts_over_with_other_data_as_the_net_would() -> None:
    net = net_of()
    net.train((ROWS, LABELS), 7, random_seed=3)
    other = copy.copy(net)
    for each in (net, other):
        each.train(3, base_lr=0.1, random_seed=3)
    assert other.get_weights() == net.get_weights()
    others = ROWS[::-1].copy(), LABELS[::-1].copy()
    other = pickled(net)
    for each in (net, other):
        each.train(others, 3, random_seed=4)
    assert other.get_weights() == net.get_weights()


@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
def test_a_net_with_unrepeatable_batches_cannot_be_copied(copied: Callable[[Net], Net]) -> None:
    net = net_of()
    net.set_training_data(lambda: (ROWS[:8], LABELS[:8]))
    with pytest.raises(NetError, match=r"from a function or an iterator, .* Net\(net.message, weights=net.get_weights"):
        copied(net)
    net.set_training_data((row, label) for row, label in zip(ROWS, LABELS, strict=True))
    with pytest.raises(NetError, match="from a function or an iterator"):
        copied(net)
    net.set_training_data((ROWS, LABELS))
    assert copied(net).get_weights() == net.get_weights()


def test_a_copy_continues_reading_a_table_at_its_place() -> None:
    net = Net(
        NetParams(
            "digits",
            RDDLayer("data", shape=[8, 1, 8, 8]),
            RDDLayer("label", shape=[8, 1]),
            LinearLayer("ip", ["data"], num_outputs=10, weight_filler=XAVIER),
            SoftmaxWithLoss("loss", ["ip", "label"]),
        )
    )
    with net:
        net.train("digits", 7, base_lr=0.001)
        with pickled(net) as other:
            assert net.train(5) == other.train(5)
            assert other.get_weights() == net.get_weights()
