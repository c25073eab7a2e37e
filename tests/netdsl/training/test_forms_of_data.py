"""Training and testing a net with one call, on data in the forms that notebooks use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl import LinearLayer, Net, NetParams, RDDLayer
from netdsl.dsl import Accuracy, Dropout, SoftmaxWithLoss
from netdsl.errors import DataError, NetError, ShapeError

COUNT = 40
ROWS = np.random.default_rng(0).normal(size=(COUNT, 3)).astype(np.float32)
LABELS = (ROWS[:, 0] > 0).astype(np.int64)
PAIR = (ROWS, LABELS)


class Numbered(Dataset[Any]):
    """A data set that records which items are requested."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def __len__(self) -> int:
        return COUNT

    def __getitem__(self, index: int) -> tuple[Any, int]:
        self.asked.append(index)
        return ROWS[index], int(LABELS[index])


class Stream(IterableDataset[Any]):
    """An iterable data set without indices."""

    def __iter__(self) -> Iterator[Any]:
        return iter(zip(ROWS, LABELS, strict=True))


def net_of(batch: int = 8) -> Net:
    return Net(
        NetParams(
            "two",
            RDDLayer("data", shape=[batch, 3]),
            RDDLayer("label", shape=[batch, 1]),
            LinearLayer("ip", ["data"], num_outputs=2, weight_filler={"type": "xavier"}),
            Accuracy("accuracy", ["ip", "label"], include={"phase": "TEST"}),
            SoftmaxWithLoss("loss", ["ip", "label"]),
        )
    )


def batches() -> list[tuple[np.ndarray, np.ndarray]]:
    return [(ROWS[start : start + 8], LABELS[start : start + 8]) for start in range(0, COUNT, 8)]


def iterations_of(net: Net) -> int:
    assert net._solver is not None
    return net._solver.iteration


FORMS: dict[str, Callable[[], Any]] = {
    "arrays": lambda: PAIR,
    "arrays and lists": lambda: (ROWS, LABELS.tolist()),
    "tensors": lambda: (torch.from_numpy(ROWS).requires_grad_(), torch.from_numpy(LABELS)),
    "half precision": lambda: (torch.from_numpy(ROWS).bfloat16(), torch.from_numpy(LABELS)),
    "arrays by name": lambda: {"label": LABELS, "data": ROWS.astype(np.float64), "other": None},
    "frame": lambda: pd.DataFrame({"label": LABELS, "data": list(ROWS), "other": "text"}),
    "data set": Numbered,
    "tensor data set": lambda: TensorDataset(torch.from_numpy(ROWS), torch.from_numpy(LABELS)),
    "loader": lambda: DataLoader(Numbered(), batch_size=8, shuffle=True),
    "batches": batches,
    "items": lambda: list(zip(ROWS, LABELS, strict=True)),
    "items by name": lambda: [{"data": row, "label": label} for row, label in zip(*PAIR, strict=True)],
}


@pytest.mark.parametrize("form", FORMS)
def test_one_call_trains_on_any_form_and_an_epoch_covers_all_items(form: str) -> None:
    with net_of() as net:
        net.train(FORMS[form](), epochs=12, type="Adam", base_lr=0.05, random_seed=3)
        assert iterations_of(net) == 12 * COUNT / 8
        assert net.test(FORMS[form]())["accuracy"] > 0.9


def table_of(folder: Path) -> str:
    pq.write_table(pa.table({"data": ROWS.tolist(), "label": LABELS}), folder / "t.parquet")
    return f"parquet:{folder}/t.parquet"


def test_an_address_is_a_table_that_is_shuffled_in_training(tmp_path: Path) -> None:
    with net_of() as net:
        net.train(table_of(tmp_path), epochs=12, base_lr=0.5, batch=4)
        assert iterations_of(net) == 12 * COUNT / 4
        assert net.test(tmp_path / "t.parquet")["accuracy"] > 0.9


def test_functions_and_generators_are_trained_on_for_a_number_of_steps() -> None:
    for data in (iter(batches() * 4), iter(batches() * 4).__next__, Stream(), DataLoader(Stream(), batch_size=5)):
        net = net_of()
        net.train(data, steps=20, base_lr=0.5)
        assert iterations_of(net) == 20
        assert net.test(PAIR)["accuracy"] > 0.8


def test_each_row_comes_once_per_epoch_in_the_seeds_order() -> None:
    orders = []
    for seed in (1, 1, 2):
        rows = Numbered()
        net_of().train(rows, epochs=2, random_seed=seed)
        asked = rows.asked[-2 * COUNT :]
        first, second = asked[:COUNT], asked[COUNT:]
        assert sorted(first) == sorted(second) == list(range(COUNT))
        assert first != second and first != sorted(first)
        orders.append(asked)
    assert orders[0] == orders[1] != orders[2]
    tested = Numbered()
    net_of().test(tested)
    assert tested.asked[-COUNT:] == list(range(COUNT))


def test_the_seed_applies_to_the_net_too() -> None:
    params = NetParams(
        "dropped",
        RDDLayer("data", shape=[8, 3]),
        RDDLayer("label", shape=[8, 1]),
        Dropout("drop", ["data"]),
        LinearLayer("ip", ["drop"], num_outputs=2),
        SoftmaxWithLoss("loss", ["ip", "label"]),
    )
    losses = [Net(params).train(PAIR, epochs=2, random_seed=7) for _ in range(2)]
    assert losses[0] == losses[1]


def test_the_batch_size_is_the_nets_or_the_callers_or_32() -> None:
    for batch, stated, wanted in ((None, 8, 5), (16, 8, 3), (1, 8, 40)):
        net = net_of(stated)
        net.train(PAIR, epochs=1, batch=batch)
        assert iterations_of(net) == wanted
    net = net_of()
    net.train(list(zip(*PAIR, strict=True)), epochs=1, batch=20)
    assert iterations_of(net) == 2
    with pytest.raises(DataError, match="the data come in batches of 8, not of 4; leave batch= out"):
        net_of().train(batches(), epochs=1, batch=4)
    with pytest.raises(NetError, match="give data, too"):
        net_of().train(5, batch=4)


def test_the_last_batch_of_an_epoch_continues_with_the_next_epoch() -> None:
    rows = Numbered()
    net = net_of(16)
    net.train(rows, epochs=1)
    assert iterations_of(net) == 3
    assert sorted(rows.asked[-48:-8]) == list(range(COUNT))
    net = net_of()
    net.train(PAIR, epochs=0.5, iter_size=2)
    assert iterations_of(net) == 2  # 2.5 batches, in iterations of two batches


def test_arrays_set_the_shapes_and_the_batch_of_a_layer_that_reads_files() -> None:
    net = Net(
        from_text(
            """
layer { name: "d" type: "Data" top: "data" top: "label" data_param { source: "nowhere" batch_size: 10 } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip" inner_product_param { num_output: 2 } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
""",
            pb.NetParameter,
        ),
        shapes={"data": (3, 1, 1)},
    )
    net.train((ROWS[:, :, None, None], LABELS), epochs=1)
    assert iterations_of(net) == 4


def test_training_continues_with_earlier_data_or_with_new_data() -> None:
    net = net_of()
    net.train(PAIR, epochs=1, type="Adam", base_lr=0.05)
    net.train((ROWS, LABELS), epochs=1)
    assert iterations_of(net) == 10
    net.train((ROWS[:16], LABELS[:16]), epochs=1)
    assert iterations_of(net) == 2 and net._solver is not None and net._solver.param.type == "Adam"


class TestWhatIsRefused:
    """Data that can't be trained on are refused with a message."""

    @pytest.mark.parametrize(
        ("data", "why"),
        [
            (lambda: (ROWS,), "the net reads 'data' and 'label', but the items contain 1 array"),
            (lambda: ROWS, "the net reads 'data' and 'label', but the items contain 1 array"),
            (lambda: DataLoader(ROWS, batch_size=8), "the net reads 'data' and 'label', but the items contain 1 array"),
            (
                lambda: TensorDataset(torch.from_numpy(ROWS)),
                "the net reads 'data' and 'label', but the items contain 1 array",
            ),
            (lambda: list(ROWS), "the net reads 'data' and 'label', but the items contain 1 array"),
            (lambda: {"data": ROWS}, "the net reads 'data' and 'label', but the items contain 'data'"),
            (
                lambda: pd.DataFrame({"x": LABELS, "label": LABELS}),
                "'data' and 'label', but the items contain 'x' and 'label'",
            ),
            (lambda: (ROWS, LABELS, LABELS), "the net reads 'data' and 'label', but the data have 3 arrays"),
            (lambda: (ROWS, LABELS[:-1]), "'data' has 40 rows, but 'label' has 39"),
            (lambda: (ROWS[:0], LABELS[:0]), "the data are empty: 'data' has no rows"),
            (lambda: (ROWS, np.array(["a"] * COUNT)), "'label' isn't an array of numbers"),
            (lambda: (np.zeros((COUNT, 4)), LABELS), r"'data' has shape \[8, 4\], .* \[8, 3\]"),
            (lambda: [(np.zeros((8, 4)), LABELS[:8])], r"'data' has shape \[8, 4\], .* \[8, 3\]"),
            (lambda: (np.zeros((COUNT, 3, 2)), LABELS), r"'data' has shape \[8, 3, 2\], .* \[8, 3\]"),
            (lambda: 1.5, "a float isn't data; give a tuple of arrays"),
            (
                lambda: lambda: iter(batches()),
                "not a list_iterator; if a function makes",
            ),
            (lambda: "nowhere.parquet", "there is no such file or folder"),
        ],
    )
    def test_data_that_do_not_fit_are_refused(self, data: Callable[[], Any], why: str) -> None:
        with pytest.raises((DataError, ShapeError), match=why):
            net_of().train(data(), 5)

    def test_images_with_another_axis_order_are_reported(self) -> None:
        net = Net(NetParams("images", RDDLayer("data", shape=[4, 3, 5, 5]), LinearLayer("ip", ["data"], num_outputs=1)))
        with pytest.raises(DataError, match=r"'data' has shape \[4, 5, 5, 3\], .* \[4, 3, 5, 5\]"):
            net.train(np.zeros((8, 5, 5, 3)), 1)
        with pytest.raises(
            DataError,
            match=r"'data' has shape \[4, 3, 6, 5\], not \[4, 3, 5, 5\]; give the data this shape, .* layer 'ip'",
        ):
            net.train(np.zeros((8, 3, 6, 5)), 1)

    @pytest.mark.parametrize("data", [lambda: iter(batches()), lambda: batches().pop, Stream])
    def test_epochs_of_data_without_a_length_are_refused(self, data: Callable[[], Any]) -> None:
        with pytest.raises(DataError, match=r"the number of items is unknown, .* batches with steps="):
            net_of().train(data(), epochs=1)
        with pytest.raises(DataError, match="with batches="):
            net_of().test(data())

    def test_a_generator_that_ends_too_early_is_an_error(self) -> None:
        with pytest.raises(DataError, match="the data ended after 5 batches"):
            net_of().train(iter(batches()), steps=6)
        with pytest.raises(DataError, match="the function that returns the data ended after 5 batches"):
            net_of().train(iter(batches()).__next__, steps=6)

    def test_a_call_without_a_length_is_refused(self) -> None:
        for call in ({}, {"steps": 5, "epochs": 1}):
            with pytest.raises(NetError, match="either steps=1000 or epochs=5"):
                net_of().train(PAIR, **call)
        with pytest.raises(NetError, match="5 and 6 are both numbers of batches"):
            net_of().train(5, steps=6)
        with pytest.raises(DataError, match="no layer of this net reads data for data, label"):
            net_of().train(epochs=1)
        with pytest.raises(NetError, match="epochs is -1; give a number above 0"):
            net_of().train(PAIR, epochs=-1)

    @pytest.mark.parametrize(
        ("name", "meant"),
        [
            ("lr", "base_lr"),
            ("learning_rate", "base_lr"),
            ("optimizer", "type"),
            ("wd", "weight_decay"),
            ("max_epochs", "epochs"),
            ("batch_size", "batch"),
            ("epoch", "epochs"),
        ],
    )
    def test_argument_names_of_other_frameworks_give_a_hint(self, name: str, meant: str) -> None:
        with pytest.raises(NetError, match=f"there is no setting '{name}'; did you mean {meant}"):
            net_of().train(PAIR, steps=1, **{name: 1})


def test_a_setting_that_is_none_is_unset() -> None:
    net = net_of()
    net.train(PAIR, epochs=1, type="AdaGrad", momentum=None, weight_decay=None)
    assert net._solver is not None and not net._solver.param.HasField("momentum")
    layer = LinearLayer("ip", ["data"], num_outputs=2, weight_filler=None, bias_term=None)
    assert not layer.inner_product_param.HasField("weight_filler")
