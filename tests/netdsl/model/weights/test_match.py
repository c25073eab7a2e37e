"""Matching weights with the blobs that receive them, by name."""

from __future__ import annotations

import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto.files import CaffeFile
from netdsl.errors import WeightsError
from netdsl.model.weights.match import LoadReport, Mismatch, arrays_of, fits, pair_blobs, unique_names


def blank(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    return [np.zeros(shape, np.float32) for shape in shapes]


@pytest.mark.parametrize(
    ("own", "given", "suit"),
    [
        ((4, 3), (4, 3), True),
        ((4, 3), (3, 4), False),
        ((4, 3), (1, 1, 4, 3), True),
        ((4, 3), (4, 3, 1, 1), False),
        ((4, 3), (1, 4, 3), False),  # leading ones occur only in old files, which have four dimensions
        ((), (1, 1, 1, 1), True),
        ((1,), (1, 1, 1, 1), True),
        ((2, 3, 4, 5, 6), (3, 4, 5, 6), False),
        ((1, 3, 4, 5), (3, 4, 5), False),
        ((1, 4, 1, 1), (1, 4), True),  # blobs with one value per channel in forks' BN, TSN's and happynear's
        ((1, 4, 1, 1), (1, 3), False),
        ((1, 4, 1, 1), (4,), False),
        ((1, 4, 1, 5), (1, 4), False),
    ],
)
def test_old_files_have_four_dimensions_for_everything(own, given, suit):
    assert fits(own, given) is suit


def test_layers_on_only_one_side_are_skipped():
    given = {"new": blank((2,)), "b": blank((3,), (1, 1, 4, 5)), "a": blank((2,))}
    own = {"a": blank((2,)), "b": blank((3,), (4, 5)), "old": blank((7,))}
    pairs, report = pair_blobs(own, given)
    assert report == LoadReport(("b", "a"), ("old",), ("new",), ())
    assert [mine is each for (mine, _), each in zip(pairs, [*own["b"], *own["a"]], strict=True)] == [True] * 3
    assert [array.shape for _, array in pairs] == [(3,), (4, 5), (2,)]


def test_all_mismatched_layers_are_reported_with_both_shapes():
    own = {"a": blank((2, 3), (2,)), "b": blank((4,)), "c": blank((5,), (6,)), "d": blank((7,))}
    given = {"a": blank((9, 3), (9,)), "b": blank((4,), (8,)), "c": blank((5,)), "d": blank((7,))}
    with pytest.raises(WeightsError) as raised:
        pair_blobs(own, given)
    assert str(raised.value) == (
        "layer 'a': blob 0 has shape [2, 3], but the weights have [9, 3], blob 1 has shape [2], but the weights "
        "have [9]; layer 'b' has 1 blobs, but the weights have 2; layer 'c': blob 1 has shape [6], but the "
        "weights have none; use the weights of this net, or rename the layer in the net to train it from scratch"
    )
    pairs, report = pair_blobs(own, given, partial=True)
    assert report.matched == ("d",)
    assert [(each.layer, each.blob_shapes, each.weight_shapes) for each in report.mismatched][:2] == [
        ("a", ((2, 3), (2,)), ((9, 3), (9,))),
        ("b", ((4,),), ((4,), (8,))),
    ]
    assert len(pairs) == 1


def test_a_shared_blob_need_not_be_repeated():
    own = {"a": blank((2, 3), (2,)), "b": blank((2, 3), (4,)), "c": blank((5,), (2, 3)), "d": blank((2, 3))}
    shared = {("b", 0), ("c", 1), ("d", 0)}
    given = {"a": blank((2, 3), (2,)), "b": blank((0,), (4,)), "c": blank((5,))}
    pairs, report = pair_blobs(own, given, shared=shared)
    assert report == LoadReport(("a", "b", "c"), (), (), ())
    assert [array.shape for _, array in pairs] == [(2, 3), (2,), (4,), (5,)]
    with pytest.raises(
        WeightsError, match=r"layer 'b': blob 0 has shape \[2, 3\], but the weights have none; layer 'c'"
    ):
        pair_blobs(own, given)
    with pytest.raises(
        WeightsError,
        match=r"layer 'b': blob 1 has shape \[4\], but the weights have \[8\]; use the weights of this net, or rename",
    ):
        pair_blobs(own, given | {"b": blank((0,), (8,))}, shared=shared)


def test_an_empty_blob_accepts_an_empty_array():
    pairs, report = pair_blobs({"a": blank((0, 3))}, {"a": blank((0, 3))})
    assert report.matched == ("a",) and len(pairs) == 1


def test_several_files_have_one_report():
    _, one = pair_blobs({"a": blank((1,)), "b": blank((2,)), "c": blank((3,))}, {"a": blank((1,)), "x": blank((1,))})
    _, two = pair_blobs({"a": blank((1,)), "b": blank((2,)), "c": blank((3,))}, {"b": blank((9,))}, partial=True)
    whole = LoadReport.of_all([one, two])
    assert whole == LoadReport(("a",), ("c",), ("x",), two.mismatched)


def test_layers_of_the_same_name_are_distinguished_by_their_order():
    assert unique_names(["a", "", "a", "b", "", "a"]) == ["a", "", "a (2)", "b", " (2)", "a (3)"]
    assert len(set(unique_names(["a", "a (2)", "a", "a"]))) == 4


def test_blobs_in_every_version_of_the_format_are_matched():
    file = CaffeFile(pb.NetParameter())
    file.message.layer.add(name="none")
    for layer in (file.message.layer.add(name="now"), file.message.layers.add(name="v1"), file.message.layers.add()):
        if not layer.name:
            layer.layer.name, layer = "v0", layer.layer
        file.blobs.put(layer.blobs.add(), np.full((2, 3), len(file.blobs)))
    assert {name: arrays[0].mean() for name, arrays in arrays_of(file).items()} == {"now": 0, "v1": 1, "v0": 2}


def test_a_report_is_one_line_about_filled_and_unfilled_layers() -> None:
    assert str(LoadReport(("a", "b"), (), (), ())) == "2 of 2 layers filled"
    replaced = LoadReport(("a", "b"), ("fc_new",), ("fc",), ())
    assert str(replaced) == "2 of 3 layers filled; 'fc_new' begins from scratch; unused: 'fc'"
    skipped = Mismatch("d", ((3,),), ((4,),))
    assert str(LoadReport((), ("b", "c"), (), (skipped,))) == (
        "0 of 3 layers filled; 'b', 'c' begin from scratch; skipped because of their shapes: 'd'"
    )
    many = LoadReport(("a",), (), tuple("bcdefgh"), ())
    assert str(many) == "1 of 1 layers filled; unused: 'b', 'c', 'd', 'e', 'f' and 2 more"
