"""Collections of weights without a net: one buffer under named arrays."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto.blobs import Blob
from caffe_proto.files import CaffeFile, Form, read_net, write
from netdsl.errors import WeightsError
from netdsl.model.collection import WeightCollection

LAYOUT = {"ip": ((4, 3), (4,)), "scalar": ((),), "none": ((0, 2),)}


def counted(start: float = 0.0) -> WeightCollection:
    return WeightCollection(LAYOUT, np.arange(17, dtype=np.float32) + np.float32(start))


def test_arrays_are_views_of_one_buffer():
    weights = counted()
    assert [*weights] == ["ip", "scalar", "none"]
    assert [array.shape for arrays in weights.values() for array in arrays] == [(4, 3), (4,), (), (0, 2)]
    assert weights["ip"][1].tolist() == [12, 13, 14, 15] and weights["scalar"][0] == 16
    weights["ip"][1][2] = 7
    assert weights.flat[14] == 7
    weights.flat[16] = 5
    assert weights["scalar"][0] == 5


def test_an_assigned_array_is_copied_into_the_buffer():
    weights, given = counted(), np.full((4, 3), 9.0)
    weights["ip"][0] = given
    weights["ip"][1] *= 2
    given[...] = 1
    assert weights.flat.tolist() == [9.0] * 12 + [24, 26, 28, 30, 16]


def test_a_collection_of_arrays_has_copies_of_them():
    arrays = {"b": [np.ones((2, 3), np.float64), np.array(3, np.int32)], "a": [np.ones(2, np.float16)]}
    weights = WeightCollection.of(arrays)
    arrays["b"][0][...] = 5
    assert weights.flat.dtype == np.float32 and weights.flat.tolist() == [1] * 6 + [3, 1, 1]


@pytest.mark.parametrize(
    ("flat", "why"),
    [
        (np.zeros(16, np.float32), "a contiguous buffer of 17 float32 values is needed, not 16 of float32"),
        (np.zeros(17), "17 of float64"),
        (np.zeros(34, np.float32)[::2], "17 of float32 with gaps"),
    ],
)
def test_a_buffer_that_does_not_fit_is_refused(flat, why):
    with pytest.raises(WeightsError, match=why):
        WeightCollection(LAYOUT, flat)


def test_arithmetic_makes_new_collections():
    one, other = counted(), counted(2)
    assert (one + other).flat.tolist() == [2 * value + 2 for value in range(17)]
    assert (other - one).flat.tolist() == [2] * 17
    assert (one * 3).flat.tolist() == (3 * one).flat.tolist() == [3 * value for value in range(17)]
    assert (np.float32(3) * one) == one * 3 == np.float64(3) * one
    assert (one / 4).flat.tolist() == [value / 4 for value in range(17)]
    assert one == counted() and other == counted(2)


def test_arithmetic_in_place_keeps_the_buffer():
    weights = counted()
    flat, view = weights.flat, weights["ip"][1]
    weights += counted(2)
    weights -= counted(1)
    weights *= 6
    weights /= 3
    assert weights.flat is flat
    assert flat.tolist() == [2 * (value + 1) for value in range(17)]
    assert view.tolist() == [26, 28, 30, 32]


def test_only_weights_of_the_same_net_can_be_combined():
    other = WeightCollection({**LAYOUT, "ip": ((3, 4), (4,)), "more": ((2,),)})
    turned = WeightCollection(dict(reversed(LAYOUT.items())))
    for call in (
        counted().__add__,
        counted().__isub__,
        counted().distance,
        lambda it: WeightCollection.mean([it, counted()]),
    ):
        with pytest.raises(WeightsError, match="the weights belong to different nets: they differ in ip, more"):
            call(other)
        with pytest.raises(WeightsError, match="their layers have different orders"):
            call(turned)
    for wrong in (5, {"ip": []}):
        with pytest.raises(TypeError):
            counted() + wrong
        with pytest.raises(TypeError):
            weights = counted()
            weights -= wrong


def test_equality_covers_names_shapes_values_and_nans():
    weights, other = counted(), counted()
    assert weights == other
    weights.flat[3] = np.nan
    assert weights != other
    other.flat[3] = np.nan
    assert weights == other
    assert counted() != WeightCollection({**LAYOUT, "ip": ((3, 4), (4,))}, counted().flat)
    assert counted() != dict(counted().items())


def test_the_mean_of_equal_weights_has_the_same_bits():
    one = WeightCollection({"a": ((1000,),)}, np.random.default_rng(0).normal(size=1000).astype(np.float32))
    for count in (3, 7):
        assert WeightCollection.mean([one] * count) == one


def test_the_mean_may_be_weighted():
    one, other = counted(), counted(10)
    assert WeightCollection.mean(iter([one, other])) == counted(5)
    assert WeightCollection.mean([one, other], [3, 1]) == counted(2.5)
    assert WeightCollection.mean([one, other], [0, 0.25]) == other
    assert one == counted() and other == counted(10)


@pytest.mark.parametrize("weights", [[1], [0, 0], [2, -1], [np.nan, 1], [np.inf, 1]])
def test_invalid_weights_of_a_mean_are_refused(weights):
    with pytest.raises(WeightsError, match="2 collections can't be averaged with the weights"):
        WeightCollection.mean([counted(), counted()], weights)


def test_the_mean_of_no_collections_is_refused():
    with pytest.raises(WeightsError, match="nothing to average"):
        WeightCollection.mean([])


def test_the_distance_of_collections_is_computed():
    one, other = counted(), counted()
    other.flat[2] += 3
    other.flat[15] -= 4
    assert one.distance(other) == 5 and one.distance(one) == 0


@pytest.mark.parametrize("copied", [copy.deepcopy, WeightCollection.copy, lambda it: pickle.loads(pickle.dumps(it))])
def test_copies_are_complete_and_independent(copied):
    weights = counted()
    other = copied(weights)
    other["ip"][0] += 1
    assert other.flat[:12].tolist() == list(range(1, 13))
    assert weights == counted()


def test_a_collections_repr_describes_its_content():
    assert repr(counted()) == "WeightCollection(3 layers, 17 values: ip 4x3, 4; scalar one value; none 0x2)"
    many = WeightCollection({str(index): ((index,),) for index in range(9)})
    assert repr(many) == "WeightCollection(9 layers, 36 values: 0 0; 1 1; 2 2; 3 3; ...)"


def test_a_notebook_shows_a_table_of_the_layers():
    html = WeightCollection({"ip<1>": ((4, 3), (4,)), "bn": ((2,),)})._repr_html_()
    assert "WeightCollection: 2 layers, 18 values" in html
    assert "<tr><td>ip&lt;1&gt;</td><td>4x3, 4</td><td>16</td></tr>" in html


@pytest.mark.parametrize("name", ["x.caffemodel", "x.caffemodel.h5"])
def test_saved_weights_are_loaded_unchanged(tmp_path: Path, name: str) -> None:
    weights = WeightCollection({"ip": ((4, 3), (4,)), "a/b": ((2,),)}, np.arange(18, dtype=np.float32))
    weights.flat[1] = np.nan
    if name.endswith(".h5"):
        pytest.importorskip("h5py")
    weights.save(tmp_path / name)
    loaded = WeightCollection.load(tmp_path / name)
    assert {key: loaded.layout[key] for key in weights} == weights.layout
    np.testing.assert_array_equal(loaded["ip"][0], weights["ip"][0])
    np.testing.assert_array_equal(loaded["a/b"][0], weights["a/b"][0])


def test_an_empty_collection_is_supported(tmp_path: Path) -> None:
    empty = WeightCollection({})
    assert len(empty) == 0 and empty == empty.copy() + empty and empty.distance(empty) == 0
    assert WeightCollection.mean([empty, empty]) == empty
    assert repr(empty) == "WeightCollection(0 layers, 0 values: none)"
    empty.save(tmp_path / "x.caffemodel")
    assert WeightCollection.load(tmp_path / "x.caffemodel") == empty


def test_doubles_and_halves_are_read_from_a_file(tmp_path: Path) -> None:
    file = CaffeFile(pb.NetParameter(), form=Form.BINARY)
    layer = file.message.layer.add(name="ip")
    file.blobs.put(layer.blobs.add(), np.array([[1, 2, 3], [4, 5, 1 / 3]]))
    raw = Blob.of(np.array([0.5, -2], np.float16).view(np.uint8), 12)
    layer.blobs.add(raw_data_type=pb.FLOAT16, shape=pb.BlobShape(dim=[2]), stored=file.blobs.add(raw))
    write(file, tmp_path / "x.caffemodel")
    read = read_net(tmp_path / "x.caffemodel")
    assert [read.blobs.array(blob).dtype for blob in read.message.layer[0].blobs] == [np.float64, np.float16]
    weights = WeightCollection.load(tmp_path / "x.caffemodel")
    assert weights["ip"][0].tolist() == [[1, 2, 3], [4, 5, np.float32(1 / 3)]]
    assert weights["ip"][1].tolist() == [0.5, -2]


def test_layers_by_name_from_another_collection():
    weights = counted()
    given = {"ip": [np.ones((1, 1, 4, 3)), np.zeros((1, 1, 1, 4))], "scalar": [np.ones(3)]}
    with pytest.raises(WeightsError, match=r"layer 'scalar': blob 0 has shape \[\], but the weights have \[3\]"):
        weights.update_from(given)
    assert weights == counted()
    report = weights.update_from(given, partial=True)
    assert (report.matched, report.missing, report.unused) == (("ip",), ("none",), ())
    assert weights.flat.tolist() == [1] * 12 + [0] * 4 + [16]
