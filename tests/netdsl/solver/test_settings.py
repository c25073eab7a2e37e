"""The nets that a solver names, the state of each, and learning-rate policies by their formulas."""

from __future__ import annotations

import math
import pickle
from pathlib import Path

import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import CaffeError
from netdsl.errors import SolverError
from netdsl.solver.settings import next_step, open_settings, rate_at, read_settings, split_names

NET = 'name: "%s" layer { name: "d" type: "Input" top: "d" input_param { shape { dim: 2 } } }'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("one", "two", "three"):
        (tmp_path / f"{name}.prototxt").write_text(NET % name)
    return tmp_path


def names_of(folder: Path, **settings: object) -> list[str]:
    opened = open_settings(pb.SolverParameter(test_interval=5, **settings), folder)
    return [model.net.name for model in opened.tested]


def test_files_are_found_next_to_the_solver(folder: Path) -> None:
    assert open_settings(pb.SolverParameter(net="one.prototxt"), folder).trained.net.name == "one"
    assert open_settings(pb.SolverParameter(train_net=str(folder / "two.prototxt"))).trained.net.name == "two"


def test_the_remaining_tests_use_the_training_net(folder: Path) -> None:
    assert names_of(folder, net="one.prototxt", test_net=["two.prototxt"], test_iter=[1, 2, 3]) == ["two", "one", "one"]
    assert names_of(folder, train_net="one.prototxt", test_net=["two.prototxt"], test_iter=[1]) == ["two"]
    assert names_of(folder, net="one.prototxt") == []


def test_states_are_merged_in_caffes_order(folder: Path) -> None:
    (folder / "one.prototxt").write_text('state { level: 3 stage: "own" }' + NET % "one")
    param = pb.SolverParameter(net="one.prototxt", train_state=pb.NetState(level=7, stage=["more"]))
    state = open_settings(param, folder).trained.net.state
    assert (state.phase, state.level, list(state.stage)) == (pb.TRAIN, 7, ["own", "more"])
    param = pb.SolverParameter(net="one.prototxt", test_iter=[1], test_interval=1, test_state=[pb.NetState(level=1)])
    state = open_settings(param, folder).tested[0].net.state
    assert (state.phase, state.level, list(state.stage)) == (pb.TEST, 1, ["own"])


def test_a_net_that_is_trained_and_tested_is_opened_once(folder: Path) -> None:
    opened = open_settings(pb.SolverParameter(net="one.prototxt", test_iter=[1, 1], test_interval=1), folder)
    (folder / "one.prototxt").unlink()
    assert [model.net.name for model in (opened.trained, *opened.tested)] == ["one"] * 3
    assert opened.sources() == ("net file: one.prototxt", ["net file: one.prototxt"] * 2)


def test_settings_are_changed_in_a_copy(folder: Path) -> None:
    param = pb.SolverParameter(net="one.prototxt", test_iter=[1], test_interval=1, max_iter=3)
    opened = open_settings(param, folder)
    changed = opened.with_fields(max_iter=5, test_iter=[2, 3])
    assert (changed.param.max_iter, list(changed.param.test_iter), changed.net) == (5, [2, 3], opened.net)
    assert opened.param == param == open_settings(param, folder).param
    assert opened.without_tests().tested == ()
    other = opened.with_net(open_settings(pb.SolverParameter(net="two.prototxt"), folder).net_to_train)
    assert (other.message.net_param.name, other.message.HasField("net")) == ("two", False)
    assert other.sources() == ("net_param", ["net_param"])


def test_settings_are_sent_to_other_processes_with_their_nets(folder: Path) -> None:
    opened = open_settings(pb.SolverParameter(train_net="one.prototxt", max_iter=3), folder)
    again = pickle.loads(pickle.dumps(opened))
    assert again == opened and again.trained.net.name == "one"


def test_required_solver_settings_are_checked(folder: Path) -> None:
    with pytest.raises(SolverError, match="names no net to train"):
        _ = open_settings(pb.SolverParameter()).trained
    with pytest.raises(SolverError, match="names net and train_net"):
        open_settings(pb.SolverParameter(net="one.prototxt", train_net="two.prototxt"))
    with pytest.raises(SolverError, match="0 test_iter for 1 test nets"):
        names_of(folder, train_net="one.prototxt", test_net=["two.prototxt"])
    with pytest.raises(SolverError, match="2 test_iter for 1 test nets"):
        names_of(folder, train_net="one.prototxt", test_net=["two.prototxt"], test_iter=[1, 1])
    with pytest.raises(SolverError, match="1 test_state for 2 test nets"):
        names_of(folder, net="one.prototxt", test_iter=[1, 1], test_state=[pb.NetState()])
    with pytest.raises(SolverError, match="set test_interval to 1 or more"):
        _ = open_settings(pb.SolverParameter(net="one.prototxt", test_iter=[1]), folder).tested


def test_snapshots_are_named_after_the_solver_by_default(folder: Path) -> None:
    path = folder / "quick.prototxt"
    path.write_text('net: "one.prototxt" lr_policy: "fixed" solver_type: ADAM')
    param = read_settings(path)
    assert (param.type, param.snapshot_prefix) == ("Adam", str(folder / "quick"))
    path.write_text(f'net: "one.prototxt" lr_policy: "fixed" snapshot_prefix: "{folder}"')
    assert read_settings(path).snapshot_prefix == str(folder / "quick")
    path.write_text('net: "one.prototxt" lr_policy: "fixed" snapshot_prefix: "runs/a"')
    assert read_settings(path).snapshot_prefix == "runs/a"


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ('net: "gone.prototxt" lr_policy: "fixed"', "net: the file 'gone.prototxt' doesn't exist, neither here nor in"),
        ('train_net: "one.prototxt" test_net: "gone" lr_policy: "fixed"', "test_net: the file 'gone' doesn't exist"),
        ('net: "one.prototxt" lr_policy: "stpe"', "unknown lr_policy 'stpe'"),
        ('net: "one.prototxt" lr_policy: "step"', "lr_policy 'step' needs a stepsize above 0"),
        ('net: "one.prototxt" lr_policy: "fixed" test_iter: -3', "test_iter is -3; set it to 1 or more"),
        ('net: "one.prototxt" lr_policy: "fixed" iter_size: 0', "iter_size is 0; set it to 1 or more"),
    ],
)
def test_a_wrong_setting_is_reported_with_the_solvers_file(folder: Path, settings: str, why: str) -> None:
    (folder / "quick.prototxt").write_text(settings)
    with pytest.raises(CaffeError, match=f"^{folder}/quick.prototxt: {why}"):
        read_settings(folder / "quick.prototxt")


def test_several_weight_files_are_accepted() -> None:
    assert list(split_names(["a, b", "c"])) == ["a", "b", "c"]


def rates(count: int, **settings: object) -> list[float]:
    param, step, found = pb.SolverParameter(base_lr=0.5, **settings), 0, []
    for iteration in range(count):
        step = next_step(param, iteration, step)
        found.append(rate_at(param, iteration, step))
    return found


def test_policies_equal_their_formulas() -> None:
    assert rates(3, lr_policy="fixed") == [0.5] * 3
    assert rates(5, lr_policy="step", stepsize=2, gamma=0.5) == [0.5, 0.5, 0.25, 0.25, 0.125]
    assert rates(3, lr_policy="exp", gamma=0.5) == [0.5, 0.25, 0.125]
    assert rates(3, lr_policy="inv", gamma=2, power=0.5) == pytest.approx([0.5, 0.5 / 3**0.5, 0.5 / 5**0.5])
    assert rates(5, lr_policy="multistep", stepvalue=[1, 3], gamma=0.5) == [0.5, 0.25, 0.25, 0.125, 0.125]
    assert rates(5, lr_policy="poly", max_iter=4, power=2) == pytest.approx([0.5, 0.28125, 0.125, 0.03125, 0])
    sigmoid = [0.5 / (1 + math.exp(-0.5 * (iteration - 2))) for iteration in range(4)]
    assert rates(4, lr_policy="sigmoid", gamma=0.5, stepsize=2) == pytest.approx(sigmoid)


def test_multistep_uses_one_step_value_per_iteration_and_resumes() -> None:
    assert rates(4, lr_policy="multistep", stepvalue=[1, 1, 2], gamma=0.5) == [0.5, 0.25, 0.125, 0.0625]
    param = pb.SolverParameter(lr_policy="multistep", stepvalue=[5, 6, 7])
    assert next_step(param, 100, 1) == 2
    assert next_step(param, 100, 3) == 3


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"lr_policy": "stpe"}, "unknown lr_policy 'stpe'; set it to one of fixed, step"),
        ({}, "lr_policy isn't set"),
        ({"lr_policy": "step", "gamma": 0.1}, "needs a stepsize above 0"),
        ({"lr_policy": "exp", "gamma": -1}, "gamma is -1"),
        ({"lr_policy": "poly"}, "needs a max_iter above 0"),
    ],
)
def test_settings_without_a_valid_rate_are_refused(settings: dict[str, object], says: str) -> None:
    with pytest.raises(SolverError, match=says):
        rates(1, **settings)
