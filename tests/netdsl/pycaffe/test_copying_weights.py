"""Saving, loading and sharing weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from caffe_proto.errors import FileError
from netdsl import pycaffe
from netdsl.errors import WeightsError, WeightsWarning

h5py = pytest.importorskip("h5py")

ONE = """input: "x" input_shape { dim: 2 dim: 3 }
layer { type: "InnerProduct" name: "%s" bottom: "x" top: "a"
  inner_product_param { num_output: %d bias_term: %s weight_filler { type: "gaussian" std: 1 } } }"""

MORE = """layer { type: "InnerProduct" name: "more" bottom: "x" top: "b"
  inner_product_param { num_output: 5 weight_filler { type: "gaussian" std: 1 } } }"""


def same(one: pycaffe.Net, other: pycaffe.Net) -> bool:
    return all(
        np.array_equal(mine.data, theirs.data)
        for name, blobs in one.params.items()
        for mine, theirs in zip(blobs, other.params[name], strict=True)
    )


@pytest.mark.parametrize("name", ["x.caffemodel", "without_a_suffix", "x.weights"])
def test_saved_weights_are_loaded_unchanged(make_net, tmp_path: Path, name: str) -> None:
    net, other = make_net(ONE % ("ip", 4, "true")), make_net(ONE % ("ip", 4, "true"))
    net.save(tmp_path / name)
    assert not same(net, other)
    other.copy_from(str(tmp_path / name))
    assert same(net, other)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["net.prototxt", name]


@pytest.mark.parametrize("name", ["x.caffemodel.h5", "without_a_suffix", "x.caffemodel"])
def test_hdf5_is_recognized_under_any_name(make_net, tmp_path: Path, name: str) -> None:
    net = make_net(ONE % ("ip", 4, "true"))
    path = str(tmp_path / name)
    net.save_hdf5(path)
    with h5py.File(path) as file:
        np.testing.assert_array_equal(file["data/ip/0"], net.params["ip"][0].data)
    for load in ("load_hdf5", "copy_from"):
        other = make_net(ONE % ("ip", 4, "true"))
        getattr(other, load)(path)
        assert same(net, other)


def test_a_file_of_the_other_kind_is_refused(make_net, tmp_path: Path) -> None:
    net = make_net(ONE % ("ip", 4, "true"))
    net.save(tmp_path / "x")
    with pytest.raises(FileError, match="not an HDF5 file"):
        net.load_hdf5(tmp_path / "x")
    with pytest.raises(FileError, match="missing: can't be opened"):
        net.copy_from(tmp_path / "missing")


def test_layers_on_only_one_side_are_skipped(make_net, tmp_path: Path) -> None:
    both = make_net(ONE % ("ip", 4, "true") + MORE)
    net, other = make_net(ONE % ("ip", 4, "true")), make_net(ONE % ("fc", 9, "true") + MORE)
    both.save(tmp_path / "x")
    before = other.params["fc"][0].data.copy()
    with pytest.warns(WeightsWarning, match="1 of 2 layers filled; 'fc' begins from scratch; unused: 'ip'"):
        other.copy_from(tmp_path / "x")
    other.share_with(net)
    np.testing.assert_array_equal(other.params["fc"][0].data, before)
    np.testing.assert_array_equal(other.params["more"][0].data, both.params["more"][0].data)


def test_a_file_without_any_of_the_layers_is_refused(make_net, tmp_path: Path) -> None:
    net, other = make_net(ONE % ("ip", 4, "true")), make_net(ONE % ("fc", 9, "true"))
    net.save(tmp_path / "x")
    with pytest.raises(
        WeightsError, match="x: the file has weights for 'ip', but not for a layer of net '', which has 'fc'"
    ):
        other.copy_from(tmp_path / "x")


@pytest.mark.parametrize(("count", "bias", "why"), [(5, "true", "blob 0 has shape"), (4, "false", "has 1 blobs")])
def test_weights_that_do_not_fit_are_an_error_that_names_the_layer(make_net, tmp_path, count, bias, why) -> None:
    net, other = make_net(ONE % ("ip", 4, "true")), make_net(ONE % ("ip", count, bias))
    net.save(tmp_path / "x")
    net.save_hdf5(tmp_path / "y")
    for load in (lambda: other.copy_from(tmp_path / "x"), lambda: other.load_hdf5(tmp_path / "y")):
        with pytest.raises(WeightsError, match=f"layer 'ip'.*{why}"):
            load()
    with pytest.raises(WeightsError, match=f"layer 'ip'.*{why}"):
        other.share_with(net)


def test_nets_share_values_but_not_gradients(make_net) -> None:
    net, other = make_net("force_backward: true " + ONE % ("ip", 4, "true")), make_net(ONE % ("ip", 4, "true"))
    other.share_with(net)
    assert same(net, other)
    net.params["ip"][0].data[...] = 3
    assert (other.params["ip"][0].data == 3).all()
    other.blobs["x"].data[...] = 1
    assert (other.forward()["a"] == 9).all()
    net.params["ip"][0].diff[...] = 5
    assert not other.params["ip"][0].diff.any()
