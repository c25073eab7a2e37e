"""Checks everything that a solver's file names, with a verdict on each part."""

from __future__ import annotations

from pathlib import Path

import pytest

from netdsl import Net
from netdsl.checking.solver_chain import ChainLink, check_chain, is_solver

SOLVER = 'net: "net.prototxt" base_lr: 0.1 lr_policy: "fixed" max_iter: 9 snapshot_prefix: "saved/few" snapshot: 3 '
NET = """
layer { name: "data" type: "Data" top: "data" top: "label" data_param { source: "digits:train" batch_size: 2 } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
        inner_product_param { num_output: 10 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
"""


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Return a function that checks a solver with its net in the current folder."""
    monkeypatch.chdir(tmp_path)

    def check(solver: str = SOLVER, net: str = NET) -> list[ChainLink]:
        Path("net.prototxt").write_text(net)
        Path("solver.prototxt").write_text(solver)
        return list(check_chain("solver.prototxt"))

    return check


def problems(links: list[ChainLink]) -> list[str]:
    return [link.reason for link in links if not link.good]


def test_every_part_that_training_needs_has_a_verdict(check) -> None:
    check()
    Net("net.prototxt").save("start.caffemodel")
    links = check(SOLVER + 'weights: "start.caffemodel" test_iter: 1 test_interval: 5')
    assert problems(links) == []
    assert [(link.part, link.name, link.note) for link in links] == [
        ("solver", "solver.prototxt", "SGD for 9 iterations"),
        ("net", "net.prototxt", "good for TRAIN"),
        ("data", "digits:train", "1,442 items of 1x8x8"),
        ("net", "net.prototxt", "good for TEST"),
        ("weights", "start.caffemodel", "fills 1 layers"),
        ("snapshots", "saved/few", "in saved, which training makes"),
    ]


def test_missing_data_and_means_are_named_with_their_layer(check) -> None:
    net = NET.replace("digits:train", "gone_lmdb")
    assert problems(check(net=net)) == [
        "net.prototxt:2: layer 'data': gone_lmdb: there is no such folder; name a LevelDB"
    ]
    net = NET.replace("data_param", 'transform_param { mean_file: "mean.binaryproto" } data_param')
    assert problems(check(net=net)) == ["net.prototxt:2: layer 'data': mean.binaryproto: No such file or directory"]


def test_missing_nets_weights_and_folders_are_named(check) -> None:
    Path("saved").write_text("")
    found = problems(check(SOLVER + 'weights: "gone.caffemodel"'))
    assert found == [
        "gone.caffemodel: can't be opened: No such file or directory; check the path and its permissions",
        "saved/few: 'saved' isn't a folder; change snapshot_prefix",
    ]
    (problem,) = problems(check(SOLVER.replace("net.", "other.")))
    assert "the file 'other.prototxt' doesn't exist" in problem
    assert "unknown layer type 'Inner'" in problems(check(net=NET.replace("InnerProduct", "Inner")))[0]


def test_nets_are_checked_in_the_states_of_the_solver(check) -> None:
    net = NET.replace('name: "ip"', 'name: "ip" include { stage: "learn" }')
    assert "'ip'" in problems(check(net=net))[0]
    assert problems(check(SOLVER + 'train_state { stage: "learn" }', net)) == []


def test_solvers_are_told_from_nets_by_their_fields(check) -> None:
    check()
    assert is_solver("solver.prototxt") and not is_solver("net.prototxt") and not is_solver("gone.prototxt")
