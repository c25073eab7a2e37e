"""Which nets a solver names, and in which state each is."""

from __future__ import annotations

from pathlib import Path

import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import CaffeError
from netdsl.errors import SolverError
from netdsl.solver import nets
from netdsl.solver.settings import read_settings

NET = 'name: "%s" layer { name: "d" type: "Input" top: "d" input_param { shape { dim: 2 } } }'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("one", "two", "three"):
        (tmp_path / f"{name}.prototxt").write_text(NET % name)
    return tmp_path


def names_of(folder: Path, **settings: object) -> list[str]:
    return [net.name for net in nets.test_nets(pb.SolverParameter(test_interval=5, **settings), folder)]


def test_files_are_found_beside_the_solver(folder: Path) -> None:
    assert nets.train_net(pb.SolverParameter(net="one.prototxt"), folder).name == "one"
    assert nets.train_net(pb.SolverParameter(train_net=str(folder / "two.prototxt")), None).name == "two"


def test_the_rest_of_the_tests_use_the_net_itself(folder: Path) -> None:
    assert names_of(folder, net="one.prototxt", test_net=["two.prototxt"], test_iter=[1, 2, 3]) == ["two", "one", "one"]
    assert names_of(folder, train_net="one.prototxt", test_net=["two.prototxt"], test_iter=[1]) == ["two"]
    assert names_of(folder, net="one.prototxt") == []


def test_states_are_merged_in_caffes_order(folder: Path) -> None:
    (folder / "one.prototxt").write_text('state { level: 3 stage: "own" }' + NET % "one")
    param = pb.SolverParameter(net="one.prototxt", train_state=pb.NetState(level=7, stage=["more"]))
    state = nets.train_net(param, folder).state
    assert (state.phase, state.level, list(state.stage)) == (pb.TRAIN, 7, ["own", "more"])
    param = pb.SolverParameter(net="one.prototxt", test_iter=[1], test_interval=1, test_state=[pb.NetState(level=1)])
    state = nets.test_nets(param, folder)[0].state
    assert (state.phase, state.level, list(state.stage)) == (pb.TEST, 1, ["own"])


def test_what_a_solver_must_say(folder: Path) -> None:
    with pytest.raises(SolverError, match="names no net to train"):
        nets.train_net(pb.SolverParameter())
    with pytest.raises(SolverError, match="names net and train_net"):
        nets.train_net(pb.SolverParameter(net="one.prototxt", train_net="two.prototxt"))
    with pytest.raises(SolverError, match="0 test_iter for 1 test nets"):
        names_of(folder, train_net="one.prototxt", test_net=["two.prototxt"])
    with pytest.raises(SolverError, match="2 test_iter for 1 test nets"):
        names_of(folder, train_net="one.prototxt", test_net=["two.prototxt"], test_iter=[1, 1])
    with pytest.raises(SolverError, match="1 test_state for 2 test nets"):
        names_of(folder, net="one.prototxt", test_iter=[1, 1], test_state=[pb.NetState()])
    with pytest.raises(SolverError, match="needs a test_interval above 0"):
        nets.test_nets(pb.SolverParameter(net="one.prototxt", test_iter=[1]), folder)


def test_snapshots_are_called_as_the_solver_unless_it_says_otherwise(folder: Path) -> None:
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
        ('net: "gone.prototxt" lr_policy: "fixed"', "net: there is no file 'gone.prototxt', here or beside the solver"),
        ('train_net: "one.prototxt" test_net: "gone" lr_policy: "fixed"', "test_net: there is no file 'gone'"),
        ('net: "one.prototxt" lr_policy: "stpe"', "unknown lr_policy 'stpe'"),
        ('net: "one.prototxt" lr_policy: "step"', "lr_policy 'step' needs a stepsize above 0"),
        ('net: "one.prototxt" lr_policy: "fixed" test_iter: -3', "test_iter is -3; it must be 1 or more"),
        ('net: "one.prototxt" lr_policy: "fixed" iter_size: 0', "iter_size is 0; it must be 1 or more"),
    ],
)
def test_a_wrong_setting_is_told_with_the_solvers_file(folder: Path, settings: str, why: str) -> None:
    (folder / "quick.prototxt").write_text(settings)
    with pytest.raises(CaffeError, match=f"^{folder}/quick.prototxt: {why}"):
        read_settings(folder / "quick.prototxt")


def test_several_files_of_weights() -> None:
    assert list(nets.split_names(["a, b", "c"])) == ["a", "b", "c"]
