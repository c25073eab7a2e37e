"""pycaffe's Net: names, phases, and the effects of `forward` and `backward` on blobs."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest
import torch

from netdsl import pycaffe
from netdsl.errors import DataError, NetError

BY_STATE = """
layer { name: "data" type: "DummyData" top: "data" dummy_data_param { shape { dim: 1 dim: 10 } } }
layer { name: "any" type: "Silence" bottom: "data" }
layer { name: "one" type: "InnerProduct" bottom: "data" top: "one" inner_product_param { num_output: 1 }
  include { min_level: 1 stage: "a" } include { phase: TRAIN stage: "a" stage: "b" } }
layer { name: "two" type: "InnerProduct" bottom: "data" top: "two" inner_product_param { num_output: 1 }
  exclude { phase: TRAIN not_stage: "b" } }
"""


def layers_of(net: pycaffe.Net) -> list[str]:
    return [name for name in net._layer_names if "split" not in name and name not in ("data", "any")]


def test_layers_belong_to_a_phase_level_and_stage(make_net) -> None:
    assert layers_of(make_net(BY_STATE, pycaffe.TEST)) == ["two"]
    assert layers_of(make_net(BY_STATE, pycaffe.TRAIN)) == []
    assert layers_of(make_net(BY_STATE, pycaffe.TEST, level=1, stages=["a"])) == ["one", "two"]
    assert layers_of(make_net(BY_STATE, pycaffe.TRAIN, stages=["a", "b"])) == ["one", "two"]
    assert layers_of(make_net(BY_STATE, pycaffe.TEST, 1, ["a"])) == ["one", "two"]


def test_the_requested_level_overrides_the_files(make_net) -> None:
    assert layers_of(make_net('state { level: 1 stage: "a" }' + BY_STATE, pycaffe.TEST)) == ["two"]


def test_file_phase_and_weights_can_be_named(make_net, tmp_path: Path) -> None:
    net = make_net(BY_STATE, pycaffe.TEST)
    net.params["two"][0].data[...] = 7
    net.save(tmp_path / "x.caffemodel")
    file, weights = str(tmp_path / "net.prototxt"), str(tmp_path / "x.caffemodel")
    named = pycaffe.Net(network_file=file, phase=pycaffe.TRAIN, stages=["b"], weights=weights)
    assert named.params["two"][0].data.mean() == 7
    assert layers_of(named) == ["two"] and named._built.graph.phase == pycaffe.TRAIN


def test_the_old_constructor_still_works_with_a_warning(make_net, tmp_path: Path) -> None:
    net = make_net(BY_STATE, pycaffe.TEST)
    net.params["two"][0].data[...] = 7
    net.save(tmp_path / "x.caffemodel")
    with pytest.warns(DeprecationWarning, match="weights="):
        old = pycaffe.Net(str(tmp_path / "net.prototxt"), str(tmp_path / "x.caffemodel"), pycaffe.TEST)
    assert old.params["two"][0].data.mean() == 7 and old._built.graph.phase == pycaffe.TEST


def test_an_invalid_phase_is_refused(make_net) -> None:
    with pytest.raises(NetError, match="is unknown; use TRAIN or TEST"):
        make_net(BY_STATE, 3)


def test_names_and_numbers_of_blobs_are_caffes(learning) -> None:
    names = ["data", "label", "conv", "scores", "scores_ip_0_split_0", "scores_ip_0_split_1", "loss", "prob"]
    assert list(learning.blobs) == learning._blob_names == names
    assert learning._layer_names == ["input", "conv", "relu", "ip", "scores_ip_0_split", "loss", "prob"]
    assert (learning._inputs, learning._outputs) == ([0, 1], [6, 7])
    assert learning._bottom_ids(2) == learning._top_ids(2) == [2]
    assert learning._bottom_ids(5) == [4, 1] and learning._top_ids(0) == [0, 1]
    assert learning.top_names["scores_ip_0_split"] == names[4:6]
    assert learning.bottom_names == OrderedDict(
        input=[], conv=["data"], relu=["conv"], ip=["conv"], scores_ip_0_split=["scores"],
        loss=["scores_ip_0_split_0", "label"], prob=["scores_ip_0_split_1"],
    )  # fmt: skip
    assert list(learning.layer_dict) == learning._layer_names
    assert [learning.layer_dict[name].type for name in ("conv", "loss")] == ["Convolution", "SoftmaxWithLoss"]
    assert list(learning.params) == ["conv", "ip"]
    assert learning.blob_loss_weights["loss"] == 1 and sum(learning._blob_loss_weights) == 1


def test_outputs_are_sorted_and_data_layers_are_not_inputs(make_net) -> None:
    net = make_net(
        """
        layer { type: "DummyData" name: "d" top: "data" dummy_data_param { shape { dim: 2 dim: 3 } } }
        layer { type: "MemoryData" name: "m" top: "x" top: "y"
          memory_data_param { batch_size: 2 channels: 1 height: 1 width: 3 } }
        layer { type: "Power" name: "z" bottom: "data" top: "z" }
        layer { type: "Power" name: "a" bottom: "x" top: "a" }
        """
    )
    assert net.inputs == [] and net.outputs == ["a", "y", "z"]


def test_every_loss_without_a_top_counts(make_net) -> None:
    net = make_net(
        """
        input: "x" input_shape { dim: 2 dim: 3 }
        input: "y" input_shape { dim: 2 dim: 3 }
        layer { type: "EuclideanLoss" name: "one" bottom: "x" bottom: "y" }
        layer { type: "EuclideanLoss" name: "two" bottom: "x" bottom: "y" loss_weight: 10 }
        """
    )
    net.blobs["x"].data[...] = 2
    net.forward()
    assert net._forward(0, len(net.layers) - 1) == pytest.approx(6 + 60)
    assert net.outputs == [] and net._blob_names[-2:] == ["(automatic)", "(automatic)"]


def test_forward_returns_the_outputs_or_the_end_layers_tops(learning) -> None:
    assert set(learning.forward()) == {"loss", "prob"}
    assert set(learning.forward(blobs=["conv"])) == {"loss", "prob", "conv"}
    assert set(learning.forward(end="ip")) == {"scores"}
    assert set(learning.forward(start="ip", blobs=["data"])) == {"loss", "prob", "data"}
    assert set(learning.backward()) == {"data", "label"}
    assert set(learning.backward(end="ip", diffs=["loss"])) == {"conv", "loss"}


def test_forward_requires_all_inputs_or_none(learning) -> None:
    data, label = np.ones((5, 2, 3, 4)), np.zeros(5)
    assert learning.forward(data=data, label=label)["loss"] > 0
    assert (learning.blobs["data"].data == 1).all()
    with pytest.raises(NetError, match="the arguments are data, but the net expects data, label"):
        learning.forward(data=data)
    with pytest.raises(NetError, match="'data' has shape"):
        learning.forward(data=data[:3], label=label)


def test_unknown_names_are_errors(learning) -> None:
    with pytest.raises(NetError, match="no layer 'fc'"):
        learning.forward(start="fc")
    with pytest.raises(NetError, match="no blob 'fc'"):
        learning.forward(blobs=["fc"])
    with pytest.raises(NetError, match="layers 0 to 9 don't exist"):
        learning._forward(0, 9)


def test_the_next_layer_reads_values_that_were_written_to_a_blob(learning) -> None:
    learning.forward()
    values = np.random.default_rng(1).standard_normal(learning.blobs["conv"].shape, np.float32)
    learning.blobs["conv"].data[...] = values
    scores = learning.forward(start="ip", end="ip")["scores"]
    weight, bias = (blob.data for blob in learning.params["ip"])
    np.testing.assert_allclose(scores, values.reshape(5, -1) @ weight.T + bias, rtol=1e-4, atol=1e-5)


def test_backward_starts_from_existing_diffs_even_without_a_forward_pass(learning) -> None:
    diff = np.random.default_rng(1).standard_normal((5, 6), np.float32)
    learning.blobs["scores"].diff[...] = diff
    found = learning.backward(start="ip", end="ip")["conv"]
    wanted = (diff @ learning.params["ip"][0].data).reshape(found.shape)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_a_partial_backward_pass_continues_an_earlier_one(learning) -> None:
    learning.forward()
    learning.backward()
    whole = learning.params["conv"][0].diff.copy()
    learning.clear_param_diffs()
    learning.backward(end="ip")
    learning.blobs["conv"].diff[...] *= 2
    learning.backward(start="relu")
    np.testing.assert_allclose(learning.params["conv"][0].diff, 2 * whole, rtol=1e-5)


def test_gradients_of_parameters_add_up_and_those_of_blobs_do_not(learning) -> None:
    learning.forward()
    learning.backward()
    weight, blob = learning.params["conv"][0].diff.copy(), learning.blobs["scores"].diff.copy()
    assert abs(weight).max() > 0 and abs(blob).max() > 0
    learning.backward()
    np.testing.assert_allclose(learning.params["conv"][0].diff, 2 * weight, rtol=1e-6)
    np.testing.assert_array_equal(learning.blobs["scores"].diff, blob)
    learning.clear_param_diffs()
    assert not learning.params["conv"][0].diff.any()


def test_the_gradient_of_a_loss_is_its_weight(make_net) -> None:
    net = make_net(
        """
        input: "x" input_shape { dim: 2 dim: 3 }
        layer { type: "InnerProduct" name: "ip" bottom: "x" top: "ip" loss_weight: 3
          inner_product_param { num_output: 4 weight_filler { type: "constant" value: 1 } } }
        """
    )
    net.blobs["x"].data[...] = 1
    assert (net.blobs["ip"].diff == 3).all()
    assert net._forward(0, 1) == 3 * 2 * 4 * 3
    net.blobs["ip"].diff[...] = 1
    assert net._forward(0, 1) == 2 * 4 * 3
    net.backward()
    assert (net.params["ip"][1].diff == 2).all()
    net.blobs["x"].reshape(7, 3)
    net.forward()
    assert (net.blobs["ip"].diff == 3).all()


def test_only_the_losses_of_the_layers_that_run_are_counted(learning) -> None:
    learning.forward()
    assert learning._forward(0, 4) == 0
    assert learning._forward(5, 5) == pytest.approx(float(learning.blobs["loss"].data))


def test_the_diff_of_an_in_place_blob_is_the_one_before_the_layer(learning) -> None:
    learning.blobs["data"].data[...] = np.random.default_rng(2).standard_normal((5, 2, 3, 4))
    learning.forward()
    learning.backward(end="ip")
    after = learning.blobs["conv"].diff.copy()
    learning.backward(start="relu", end="relu")
    np.testing.assert_array_equal(learning.blobs["conv"].diff, after * (learning.blobs["conv"].data > 0))
    assert (learning.blobs["conv"].data == 0).any() and (learning.blobs["conv"].data >= 0).all()


def test_callbacks_run_layer_by_layer_and_can_change_later_values(learning) -> None:
    calls: list[tuple[str, int]] = []
    learning.before_forward(lambda index: calls.append(("before", index)))
    learning.after_forward(lambda index: calls.append(("after", index)))
    learning.before_backward(lambda index: calls.append(("back", index)))
    learning.after_backward(lambda index: learning.blobs["scores"].diff.fill(0) if index == 4 else None)
    learning.forward(end="conv")
    assert calls == [(when, index) for index in range(2) for when in ("before", "after")]
    learning.forward()
    calls.clear()
    learning.backward()
    assert calls == [("back", index) for index in range(6, -1, -1)]
    assert not learning.params["ip"][0].diff.any()


def test_products_are_not_rounded_to_tf32(learning) -> None:
    allowed: list[bool] = []

    def look(index: int) -> None:
        allowed.extend((torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32))

    learning.before_forward(look)
    learning.before_backward(look)
    before = torch.backends.cudnn.allow_tf32
    learning.forward()
    learning.backward()
    assert not any(allowed) and len(allowed) == 4 * len(learning.layers)
    assert torch.backends.cudnn.allow_tf32 == before


def test_dummy_data_is_filled_at_once_and_constants_are_writable(make_net) -> None:
    net = make_net(
        """
        layer { type: "DummyData" name: "d" top: "drawn" top: "label" dummy_data_param { shape { dim: 5 }
          data_filler { type: "gaussian" std: 1 } data_filler { type: "constant" value: 2 } } }
        layer { type: "Eltwise" name: "sum" bottom: "drawn" bottom: "label" top: "sum" }
        """
    )
    before = net.blobs["drawn"].data.copy()
    assert before.any() and (net.blobs["label"].data == 2).all()
    net.blobs["label"].data[...] = range(5)
    net.blobs["drawn"].data[...] = 0
    net.forward()
    np.testing.assert_allclose(net.blobs["sum"].data, net.blobs["drawn"].data + np.arange(5))
    assert net.blobs["drawn"].data.any() and not np.array_equal(net.blobs["drawn"].data, before)


def test_a_parameters_blob_shares_the_parameters_memory(make_net) -> None:
    net = make_net(
        """
        layer { type: "Parameter" name: "p" top: "p" parameter_param { shape { dim: 3 } } }
        layer { type: "Power" name: "twice" bottom: "p" top: "twice" power_param { scale: 2 } }
        """
    )
    net.forward()
    net.blobs["p"].data[...] = 4
    assert (net.params["p"][0].data == 4).all()
    net.params["p"][0].data[...] = 5
    assert (net.forward()["twice"] == 10).all()


def test_a_reshaped_input_reshapes_the_net(make_net) -> None:
    net = make_net(
        """
        input: "data" input_shape { dim: 1 dim: 3 dim: 8 dim: 6 }
        layer { type: "Convolution" name: "conv" bottom: "data" top: "conv"
          convolution_param { num_output: 2 kernel_size: 3 } }
        layer { type: "BatchNorm" name: "norm" bottom: "conv" top: "conv" }
        layer { type: "Pooling" name: "pool" bottom: "conv" top: "pool" pooling_param { kernel_size: 2 stride: 2 } }
        """
    )
    net.blobs["data"].reshape(4, 3, 10, 8)
    net.reshape()
    assert net.blobs["conv"].shape == (4, 2, 8, 6) and net.blobs["pool"].data.shape == (4, 2, 4, 3)
    assert (net.blobs["data"].num, net.blobs["data"].channels) == (4, 3)
    net.blobs["data"].reshape(2, 3, 8, 8)
    assert net.forward()["pool"].shape == net.blobs["pool"].diff.shape == (2, 2, 3, 3)
    net.blobs["data"].reshape(2, 3, 2, 2)
    with pytest.raises(NetError, match="layer 'conv'"):
        net.reshape()


def test_arrays_outlive_the_net(learning) -> None:
    learning.forward()
    blobs, params = learning.blobs, learning.params
    wanted = blobs["prob"].data.sum()
    del learning
    assert blobs["prob"].data.sum() == wanted and np.isfinite(params["ip"][0].data).all()


MEMORY = """
layer { type: "MemoryData" name: "m" top: "data" top: "label"
  memory_data_param { batch_size: 2 channels: 1 height: 1 width: 3 } }
layer { type: "Power" name: "p" bottom: "data" top: "p" power_param { scale: 2 } }
"""


def test_batches_are_read_in_turn_and_repeat(make_net) -> None:
    net = make_net(MEMORY)
    data = np.arange(18, dtype=np.float32).reshape(6, 1, 1, 3)
    net.set_input_arrays(data, np.arange(6, dtype=np.float32))
    for first in (0, 2, 4, 0):
        assert net.forward()["p"].ravel().tolist() == (2 * data[first : first + 2]).ravel().tolist()
        assert net.blobs["label"].data.tolist() == [first, first + 1]
    net.forward(start="p")
    assert net.blobs["label"].data.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("data", "labels", "why"),
    [
        (np.zeros((2, 1, 1, 3)), np.zeros(2, np.float32), "data must be float32"),
        (np.zeros((2, 3, 1, 1), np.float32).T.copy().T, np.zeros(2, np.float32), "C-contiguous"),
        (np.zeros((2, 1, 1, 4), np.float32), np.zeros(2, np.float32), "N x 1 x 1 x 3"),
        (np.zeros((2, 1, 1, 3), np.float32), np.zeros((2, 3), np.float32), "labels must have"),
        (np.zeros((2, 1, 1, 3), np.float32), np.zeros(4, np.float32), "2 items but 4 labels"),
        (np.zeros((3, 1, 1, 3), np.float32), np.zeros(3, np.float32), "can't be divided into batches of 2"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(make_net, data, labels, why: str) -> None:
    with pytest.raises(NetError, match=why):
        make_net(MEMORY).set_input_arrays(data, labels)


def test_only_a_memory_data_layer_accepts_arrays(learning) -> None:
    with pytest.raises(NetError, match="MemoryData"):
        learning.set_input_arrays(np.zeros((2, 1, 1, 3), np.float32), np.zeros(2, np.float32))


@pytest.fixture
def reading(make_net, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Return a function that makes a net. The net reads rows of 3 x 2 numbers, all equal to the row's label."""
    h5py = pytest.importorskip("h5py")
    monkeypatch.chdir(tmp_path)
    with h5py.File("rows.h5", "w") as file:
        file["data"] = np.arange(30, dtype=np.float32).repeat(6).reshape(30, 3, 2)
        file["label"] = np.arange(30, dtype=np.float32)
    Path("files.txt").write_text("rows.h5\n")
    text = """
    layer {{ type: "HDF5Data" name: "d" top: "data" top: "label"
      hdf5_data_param {{ source: "files.txt" batch_size: 4 {} }} }}
    layer {{ type: "Power" name: "p" bottom: "data" top: "p" power_param {{ scale: 2 }} }}
    """
    return lambda settings="", phase=pycaffe.TEST: make_net(text.format(settings), phase)


def test_a_net_reads_a_batch_whenever_its_data_layer_runs(reading) -> None:
    net = reading()
    assert {name: blob.shape for name, blob in net.blobs.items()} == {"data": (4, 3, 2), "label": (4,), "p": (4, 3, 2)}
    assert net.inputs == []
    held = net.blobs["label"].data
    for first in (0, 4, 8):
        assert net.forward()["p"][:, 2, 1].tolist() == [2 * (first + at) for at in range(4)]
        assert held.tolist() == [first + at for at in range(4)]
    net.forward(start="p")
    net.forward(end="d")
    assert held.tolist() == [12, 13, 14, 15]


def test_set_random_seed_makes_nets_repeatable(reading) -> None:
    orders = []
    for seed in (3, 3, 4):
        pycaffe.set_random_seed(seed)
        net = reading("shuffle: true")
        net.forward()
        orders.append(net.blobs["label"].data.tolist())
    assert orders[0] == orders[1] != orders[2]


def test_solvers_share_their_training_data(reading, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pycaffe.process._mode, "solver_count", 3)
    monkeypatch.setattr(pycaffe.process._mode, "solver_rank", 1)
    for phase, wanted in ((pycaffe.TRAIN, [1, 4, 7, 10]), (pycaffe.TEST, [0, 1, 2, 3])):
        net = reading(phase=phase)
        net.forward()
        assert net.blobs["label"].data.tolist() == wanted


def test_a_net_needs_its_files(make_net) -> None:
    text = 'layer { type: "Data" name: "d" top: "x" data_param { source: "nowhere" backend: LMDB batch_size: 2 } }'
    with pytest.raises(DataError, match="layer 'd': nowhere"):
        make_net(text)


TWICE = """force_backward: true
input: "x" input_shape { dim: 4 dim: 3 }
layer { type: "Power" name: "twice" bottom: "x" top: "y" power_param { scale: 2 } }"""


@pytest.mark.parametrize("count", [1, 4, 10])
def test_forward_all_runs_all_items_and_returns_no_padding(make_net, count: int) -> None:
    x = np.random.default_rng(1).standard_normal((count, 3))
    found = make_net(TWICE).forward_all(blobs=["x"], x=x)
    np.testing.assert_allclose(found["y"], 2 * x, rtol=1e-6)
    np.testing.assert_allclose(found["x"], x, rtol=1e-6)


def test_backward_all_runs_all_items(make_net) -> None:
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((10, 3)), rng.standard_normal((10, 3))
    found, gradients = make_net(TWICE).forward_backward_all(diffs=["y"], x=x, y=y)
    np.testing.assert_allclose(found["y"], 2 * x, rtol=1e-6)
    np.testing.assert_allclose(gradients["x"], 2 * y, rtol=1e-6)
    np.testing.assert_allclose(gradients["y"], y, rtol=1e-6)


def test_running_without_items_is_an_error(make_net) -> None:
    with pytest.raises(NetError, match="pass the net's inputs"):
        make_net(TWICE).forward_all()
