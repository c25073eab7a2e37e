"""The data that a net runs on: layers that read, and input from the program."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl.data.batches.reading import Loading, Reading
from netdsl.data.batches.user_rows import ArrayRows
from netdsl.data.tables.table import Table
from netdsl.errors import DataError, NetError
from netdsl.layers._data import DataLayer
from netdsl.net.build import build
from netdsl.net.feed import USER_FEED, Feeds
from netdsl.net.graph import Graph, Phase, resolve
from netdsl.net.module import NetModule
from tests.registered import registered


class NumberedRows:
    """Item i is 3 x 2 x 5 x 4 times i, a vector of i, and i."""

    def __init__(self, length: int) -> None:
        self.length, self.closed = length, False

    def __len__(self) -> int:
        return self.length

    def fetch(self, index: int) -> int:
        if index == 9:
            raise DataError("item 9 is lost")
        return index

    def item(self, fetched: int) -> tuple[np.ndarray, ...]:
        return np.full((3, 2, 5, 4), fetched), np.full(6, fetched), np.array(fetched)

    def close(self) -> None:
        self.closed = True


opened: list[NumberedRows] = []


class CountedData(DataLayer):
    """Reads as many rows as its num_output setting states."""

    tops = (1, None)

    def batch_size(self) -> int:
        return 2

    def reading(self, seed: int) -> Reading:
        opened.append(NumberedRows(self.layer.inner_product_param.num_output))
        return Reading(opened[-1], self.batch_size())


class UserData(DataLayer):
    """Declares shapes without reading."""

    def batch_size(self) -> int:
        return 2


@pytest.fixture(autouse=True)
def _own_types() -> Iterator[None]:
    with registered(Counting=CountedData, UserData=UserData):
        yield


TWO = """
layer { name: "one" type: "Counting" top: "volume" top: "vector" top: "number" inner_product_param { num_output: 5 } }
layer { name: "two" type: "Counting" top: "other" inner_product_param { num_output: 3 } }
"""
GIVING = """
layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 2 dim: 7 } } }
layer { name: "m" type: "MemoryData" top: "data" top: "label"
  memory_data_param { batch_size: 2 channels: 3 height: 4 width: 5 } }
layer { name: "d" type: "DummyData" top: "made" dummy_data_param { shape { dim: 2 dim: 7 } } }
layer { name: "sum" type: "Eltwise" bottom: "x" bottom: "made" top: "sum" }
"""


def graph(text: str, phase: Phase = Phase.TRAIN) -> Graph:
    return resolve(from_text(text, pb.NetParameter), phase)


def named(net: Graph, batch: dict[int, object]) -> dict[str, object]:
    return {net.blobs[edge]: value for edge, value in batch.items()}


def batch_threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name == "netdsl batches"}


def test_a_net_has_the_shapes_of_its_data() -> None:
    before = batch_threads()
    net = graph(TWO)
    feeds = Feeds.open(net)
    built = build(net)
    assert built.shapes == [(2, 3, 2, 5, 4), (2, 6), (2,), (2, 3, 2, 5, 4)]
    assert not any(node.layer.HasField("input_param") for node in net.nodes)
    assert NetModule(built).allocate().run(feeds.next()).keys() == set(range(4))
    feeds.close()
    assert all(source.closed for source in opened)
    assert batch_threads() <= before


def test_several_layers_continue_from_their_positions() -> None:
    net = graph(TWO)
    feeds = Feeds.open(net)
    found = [named(net, feeds.next()) for _ in range(4)]
    assert [batch["number"].tolist() for batch in found] == [[0, 1], [2, 3], [4, 0], [1, 2]]
    assert [batch["vector"][:, 5].tolist() for batch in found] == [[0, 1], [2, 3], [4, 0], [1, 2]]
    assert [batch["other"][:, 2, 1, 4, 3].tolist() for batch in found] == [[0, 1], [2, 0], [1, 2], [0, 1]]
    assert feeds.positions() == {"one": 4, "two": 4}
    feeds.seek({"one": 1, "two": 2})
    again = named(net, feeds.next())
    assert (again["number"].tolist(), again["other"][:, 0, 0, 0, 0].tolist()) == ([2, 3], [1, 2])
    with pytest.raises(DataError, match="position for layer 'three'"):
        feeds.seek({"three": 1})
    assert feeds.waited > 0
    feeds.close()


def test_only_training_is_shared_by_ranks() -> None:
    for phase, wanted in ((Phase.TRAIN, [1, 4]), (Phase.TEST, [0, 1])):
        net = graph(TWO, phase)
        feeds = Feeds.open(net, loading=Loading(rank=1, size=3))
        assert named(net, feeds.next())["number"].tolist() == wanted
        feeds.close()


def test_an_error_while_reading_names_the_layer() -> None:
    net = graph(TWO.replace("num_output: 5", "num_output: 10"))
    feeds = Feeds.open(net)
    feeds.seek({"one": 4})
    with pytest.raises(DataError, match="layer 'one': item 9 is lost"):
        feeds.next()
    feeds.close()


@pytest.mark.parametrize(
    ("layer", "why"),
    [
        ("type: 'Counting' top: 'a'", "layer 'l': the source is empty"),
        ("type: 'Counting' top: 'a' top: 'b' top: 'c' top: 'd' inner_product_param { num_output: 3 }",
         "layer 'l': an item has 3 arrays, but the layer has 4 tops"),
        ("type: 'Data' top: 'a' data_param { batch_size: 2 source: 'nowhere' }", "layer 'l': nowhere: "),
        ("type: 'UserData' top: 'a' top: 'b'", "layer 'l': data of type UserData can't be read"),
    ],
)  # fmt: skip
def test_an_unreadable_source_closes_the_others(layer: str, why: str) -> None:
    opened.clear()
    with pytest.raises((DataError, NetError), match=why):
        Feeds.open(graph(f"{TWO} layer {{ name: 'l' {layer} }}"))
    assert [source.closed for source in opened[:2]] == [True, True]


def test_inputs_without_a_reader_are_expected_from_the_program() -> None:
    net = graph(GIVING)
    feeds = Feeds.open(net)
    assert {net.blobs[edge]: shape for edge, shape in feeds.input_shapes.items()} == {
        "x": (2, 7), "data": (2, 3, 4, 5), "label": (2,)}  # fmt: skip
    with pytest.raises(DataError, match="no layer of this net reads data for x, data, label; pass"):
        feeds.next()
    feeds.give([{"x": np.full(7, at), "data": np.zeros((3, 4, 5)), "label": at} for at in range(4)])
    module = NetModule(build(net)).allocate()
    feeds.seek({USER_FEED: 1})
    found = named(net, module.run(feeds.next()))
    assert found["label"].tolist() == [2, 3]
    assert found["sum"].tolist() == [[2.0] * 7, [3.0] * 7]
    assert feeds.positions() == {USER_FEED: 2}


def test_given_blobs_are_not_read() -> None:
    net = graph(TWO)
    feeds = Feeds.open(net, user_blobs=["other", "vector"])
    assert list(feeds.input_shapes.values()) == [(2, 3, -1, -1)]
    feeds.give([{"other": np.full((2, 3, 1, 1), 8)}])
    assert list(feeds.input_shapes.values()) == [(2, 3, 1, 1)]
    found = named(net, feeds.next())
    assert (found["number"].tolist(), found["other"].flatten().tolist()) == ([0, 1], [8] * 6)
    feeds.close()
    with pytest.raises(DataError, match="no other data can be passed"):
        Feeds.open(graph("layer { name: 'd' type: 'DummyData' top: 'x' dummy_data_param { shape {} } }")).give([])


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """Return a table of seven rows. Row i has 3 x 4 x 5 times i, and i."""
    volumes = np.arange(7, dtype=np.uint8).repeat(60).reshape(7, 60)
    rows = pa.record_batch(
        {"volume": pa.FixedShapeTensorArray.from_numpy_ndarray(volumes), "label": pa.array(range(7))}
    )
    with pa.OSFile(str(tmp_path / "t.arrow"), "wb") as file, pa.ipc.new_file(file, rows.schema) as writer:
        writer.write_batch(rows)
    return Table(f"arrow:{tmp_path}", {"data": "volume"})


BOUND = """
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 4 dim: 3 dim: 4 dim: 5 } }
  transform_param { scale: 0.5 } }
layer { name: "label" type: "Input" top: "label" input_param { shape { dim: 4 dim: 1 } } }
layer { name: "sum" type: "Reduction" bottom: "data" top: "sum" reduction_param { axis: 1 operation: MEAN } }
"""


def test_several_layers_blobs_are_read_from_one_table(table: Table) -> None:
    before = batch_threads()
    net = graph(BOUND)
    feeds = Feeds.open(net, table=table)
    module = NetModule(build(net)).allocate()
    found = [named(net, module.run(feeds.next())) for _ in range(3)]
    assert [batch["label"].tolist() for batch in found] == [
        [[0], [1], [2], [3]], [[4], [5], [6], [0]], [[1], [2], [3], [4]]]  # fmt: skip
    assert found[1]["sum"].tolist() == [2, 2.5, 3, 0]
    assert feeds.positions() == {USER_FEED: 3}
    feeds.seek({USER_FEED: 1})
    assert named(net, feeds.next())["label"].flatten().tolist() == [4, 5, 6, 0]
    feeds.close()
    assert batch_threads() <= before


def test_workers_divide_a_batch_of_a_table(table: Table) -> None:
    net = graph(BOUND)
    feeds = Feeds.open(net, table=table, loading=Loading(rank=1, size=2, divided=True))
    assert build(net).shapes == [(2, 3, 4, 5), (2, 1), (2,)]
    assert named(net, feeds.next())["label"].flatten().tolist() == [1, 3]
    feeds.close()
    with pytest.raises(DataError, match="batch of 4 can't be divided among 3"):
        Feeds.open(graph(BOUND), table=table, loading=Loading(size=3, divided=True))
    feeds = Feeds.open(graph(BOUND, Phase.TEST), table=table, loading=Loading(rank=1, size=2, divided=True))
    assert [len(top) for top in feeds.next().values()] == [4, 4]
    feeds.close()


def test_a_table_replaces_layers_that_read_data(table: Table) -> None:
    net = graph("""
layer { name: "d" type: "Data" top: "volume" data_param { source: "nowhere" batch_size: 2 } }
layer { name: "m" type: "MemoryData" top: "data" top: "label"
  memory_data_param { batch_size: 2 channels: 5 height: 3 width: 4 } transform_param { scale: 2 } }
""")
    feeds = Feeds.open(net, table=table)
    assert build(net).shapes == [(2, 60), (2, 5, 3, 4), (2,)]
    assert named(net, feeds.next())["data"][1, 4, 2, 3] == 2
    feeds.close()


@pytest.mark.parametrize(
    ("layers", "why"),
    [
        ("layer { name: 'd' type: 'Input' top: 'data' }", "layer 'd': the shapes don't determine the batch size"),
        ("layer { name: 'd' type: 'ImageSegData' top: 'data' top: 'label' image_data_param { batch_size: 2 }"
         " transform_param { mirror: true } }", "layer 'd': the layer transforms its tops together"),
        ("layer { name: 'd' type: 'Input' top: 'data' top: 'label' input_param { shape { dim: 2 } shape { dim: 3 } } }",
         "layer 'd': the shapes don't determine the batch size"),
        ("layer { name: 'd' type: 'Input' top: 'data' input_param { shape { dim: 2 dim: 61 } } }",
         r"t.arrow: item 0: a value of shape \[60\] doesn't fit 'data', which needs \[61\]"),
    ],
)  # fmt: skip
def test_columns_that_do_not_fit_are_reported(table: Table, layers: str, why: str) -> None:
    with pytest.raises((DataError, NetError), match=why):
        Feeds.open(graph(layers), table=replace(table, source=f"{table.source}/t.arrow", columns={"data": "volume"}))


def test_the_batch_size_is_32_if_no_layer_states_one() -> None:
    net = graph("layer { name: 'd' type: 'Input' top: 'data' }")
    feeds = Feeds.open(net)
    feeds.give(ArrayRows((np.zeros((40, 3)),)))
    assert feeds.epoch_batches() == Fraction(40, 32)
    assert named(net, feeds.next())["data"].shape == (32, 3)
