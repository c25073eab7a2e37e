"""pycaffe's solvers, as scripts written for Caffe use them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from netdsl import pycaffe
from netdsl.errors import SolverError

NET = """
layer { type: "DummyData" name: "data" top: "data" top: "label"
  dummy_data_param { shape { dim: 5 dim: 3 dim: 4 dim: 2 } shape { dim: 5 } data_filler { type: "gaussian" std: 1 }
    data_filler { type: "constant" } } }
layer { type: "Convolution" name: "conv" bottom: "data" top: "conv"
  convolution_param { num_output: 7 kernel_size: 2 weight_filler { type: "gaussian" std: 1 } } }
layer { type: "InnerProduct" name: "ip" bottom: "conv" top: "ip"
  inner_product_param { num_output: 6 weight_filler { type: "gaussian" std: 1 } } }
layer { type: "SoftmaxWithLoss" name: "loss" bottom: "ip" bottom: "label" top: "loss" }
layer { type: "Accuracy" name: "accuracy" bottom: "ip" bottom: "label" top: "accuracy" include { phase: TEST } }
"""
SETTINGS = """
net: "net.prototxt" test_iter: 3 test_interval: 4 base_lr: 0.01 momentum: 0.9 weight_decay: 0.0005
lr_policy: "inv" gamma: 0.0001 power: 0.75 max_iter: 12 snapshot_after_train: false snapshot_prefix: "model"
"""


@pytest.fixture
def solver_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.prototxt").write_text(NET)
    path = tmp_path / "solver.prototxt"
    path.write_text(SETTINGS)
    return path


def test_it_trains_to_the_end(solver_file: Path) -> None:
    solver = pycaffe.SGDSolver(str(solver_file))
    assert (solver.iter, len(solver.test_nets), solver.lr) == (0, 1, pytest.approx(0.01))
    before = solver.net.params["ip"][0].data.copy()
    solver.solve()
    assert solver.iter == 12
    assert solver.lr == pytest.approx(0.01 * (1 + 0.0001 * 12) ** -0.75)
    assert not np.array_equal(solver.net.params["ip"][0].data, before)
    assert np.array_equal(solver.test_nets[0].params["ip"][0].data, solver.net.params["ip"][0].data)


def test_an_array_that_a_script_keeps_shows_changed_weights(solver_file: Path) -> None:
    solver = pycaffe.SGDSolver(str(solver_file))
    weights, bias = solver.net.params["conv"][0].data, solver.net.layers[2].blobs[1].data
    weights[...], bias[...] = 0, 0
    solver.net.params["conv"][0].diff[...] = 1
    solver.apply_update()
    np.testing.assert_allclose(weights, -0.01, rtol=1e-6)
    assert solver.iter == 1


def test_values_that_a_script_writes_before_a_step_count(solver_file: Path) -> None:
    solver = pycaffe.SGDSolver(str(solver_file))
    for blob in solver.net.params["conv"]:
        blob.data[...] = 0
    for blob in solver.net.params["ip"]:
        blob.data[...] = 0
    solver.step(1)
    assert solver.net.blobs["loss"].data == pytest.approx(np.log(6), rel=1e-6)  # six equally likely classes


def test_the_solver_type_is_the_files_or_the_classs(solver_file: Path) -> None:
    assert type(pycaffe.get_solver(str(solver_file))) is pycaffe.SGDSolver
    solver_file.write_text(SETTINGS + 'type: "Adam"')
    assert type(pycaffe.get_solver(str(solver_file))) is pycaffe.AdamSolver
    assert pycaffe.NesterovSolver(str(solver_file)).param.type == "Nesterov"


def test_a_snapshot_can_be_restored(solver_file: Path) -> None:
    solver = pycaffe.AdamSolver(str(solver_file))
    solver.step(3)
    solver.snapshot()
    assert {"model_iter_3.caffemodel", "model_iter_3.solverstate"} <= {path.name for path in Path().iterdir()}
    weights = [blob.data.copy() for blobs in solver.net.params.values() for blob in blobs]
    again = pycaffe.get_solver(str(solver_file))
    with pytest.raises(SolverError, match="solver type SGD"):
        again.restore("model_iter_3.solverstate")
    again = pycaffe.AdamSolver(str(solver_file))
    again.restore("model_iter_3.solverstate")
    assert again.iter == 3
    found = [blob.data for blobs in again.net.params.values() for blob in blobs]
    assert all(map(np.array_equal, found, weights))
    again.solve("model_iter_3.solverstate")
    assert again.iter == 12


def test_callbacks_and_shared_weights_work(solver_file: Path) -> None:
    solver = pycaffe.SGDSolver(str(solver_file))
    called: list[str] = []
    solver.add_callback(lambda: called.append("start"), lambda: called.append("gradients"))
    solver.step(2)
    assert called == ["start", "gradients"] * 2
    other = pycaffe.Net("net.prototxt", pycaffe.TEST)
    solver.share_weights(other)
    solver.step(1)
    assert np.array_equal(other.params["ip"][0].data, solver.net.params["ip"][0].data)


def test_weights_in_the_settings_are_loaded(solver_file: Path, caplog: pytest.LogCaptureFixture) -> None:
    first = pycaffe.SGDSolver(str(solver_file))
    first.net.save("start.caffemodel")
    solver_file.write_text(SETTINGS + 'weights: "start.caffemodel"')
    again = pycaffe.SGDSolver(str(solver_file))
    assert caplog.messages == ["Finetuning from start.caffemodel"]
    for net in (again.net, again.test_nets[0]):
        assert np.array_equal(net.params["conv"][0].data, first.net.params["conv"][0].data)


def logged(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the log messages, with dots for numbers that depend on random weights or on time."""
    return [re.sub(r"(?<=[=(] )[\d.e+-]+|\(.* iters\)", ".", message) for message in caplog.messages]


def test_it_logs_displays_and_tests_as_caffe_does(solver_file: Path, caplog: pytest.LogCaptureFixture) -> None:
    solver_file.write_text(SETTINGS + "display: 4")
    solver = pycaffe.SGDSolver(str(solver_file))
    solver.step(5)
    test = ["    Test net output #0: accuracy = .", "    Test net output #1: loss = . (* 1 = . loss)"]
    train = "    Train net output #0: loss = . (* 1 = . loss)"
    assert logged(caplog) == [
        *("Iteration 0, Testing net (#0)", *test, "Iteration 0 ., loss = .", train, "Iteration 0, lr = ."),
        *("Iteration 4, Testing net (#0)", *test, "Iteration 4 ., loss = .", train, "Iteration 4, lr = ."),
    ]
    caplog.clear()
    solver.solve()
    assert logged(caplog)[:3] == ["Solving ", "Learning Rate Policy: inv", "Iteration 8, Testing net (#0)"]
    assert logged(caplog)[-5:] == [
        "Iteration 12, loss = .",
        "Iteration 12, Testing net (#0)",
        *test,
        "Optimization Done.",
    ]


def test_the_log_can_be_silenced(solver_file: Path, caplog: pytest.LogCaptureFixture) -> None:
    pycaffe.init_log(2)
    pycaffe.SGDSolver(str(solver_file)).solve()
    pycaffe.init_log()
    assert not caplog.messages


def test_only_the_first_of_several_solvers_logs(
    solver_file: Path, caplog: pytest.LogCaptureFixture, request: pytest.FixtureRequest
) -> None:
    request.addfinalizer(lambda: pycaffe.set_solver_rank(0))
    pycaffe.set_solver_rank(1)
    pycaffe.SGDSolver(str(solver_file)).solve()
    assert not caplog.messages
