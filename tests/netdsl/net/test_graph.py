"""Resolving a net: which layers belong to a state, and how blobs connect them."""

from __future__ import annotations

import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl.errors import GraphError, NetError
from netdsl.net.graph import (
    Phase,
    connect,
    filter_layers,
    matches_rule,
    phase_of,
    resolve,
    resolve_all,
    state_of,
    without_layers,
)


def message(text: str) -> pb.NetParameter:
    return from_text(text, pb.NetParameter)


def names(graph) -> list[str]:
    return [node.layer.name for node in graph.nodes]


RULED = message("""state { level: 2 stage: "own" }
    layer { name: "always" }
    layer { name: "train" include { phase: TRAIN } }
    layer { name: "test" include { phase: TEST } }
    layer { name: "not test" exclude { phase: TEST } }
    layer { name: "high" include { min_level: 2 } }
    layer { name: "low" include { max_level: 1 } }
    layer { name: "deploy" include { stage: "deploy" } }
    layer { name: "own" include { stage: "own" } }
    layer { name: "both" include { stage: "own" stage: "deploy" } }
    layer { name: "either" include { stage: "other" } include { not_stage: "deploy" } }""")


def test_a_net_gets_the_callers_phase_and_level_and_all_stages():
    assert names(resolve(RULED)) == ["always", "test", "low", "own", "either"]
    assert names(resolve(RULED, Phase.TRAIN, level=3, stages=["deploy"])) == [
        *("always", "train", "not test", "high"),
        *("deploy", "own", "both"),
    ]


def test_a_solvers_net_has_the_solvers_state():
    state = pb.NetState(phase=pb.TRAIN)
    state.MergeFrom(RULED.state)
    graph = connect(filter_layers(RULED, state))
    assert graph.phase is Phase.TRAIN
    assert names(graph) == ["always", "train", "not test", "high", "own", "either"]


def test_a_single_stage_may_be_a_string():
    assert state_of(RULED, Phase.TEST, stages="deploy").stage == ["own", "deploy"]
    assert RULED.state.stage == ["own"]


@pytest.mark.parametrize(
    ("rule", "met"),
    [
        ("", True),
        ("phase: TEST min_level: 1 max_level: 1 stage: 'a' not_stage: 'c'", True),
        ("min_level: 2", False),
        ("max_level: 0", False),
        ("stage: 'a' stage: 'c'", False),
        ("not_stage: 'c' not_stage: 'b'", False),
        ("phase: TRAIN", False),
    ],
)
def test_every_part_of_a_rule_counts(rule, met):
    state = pb.NetState(phase=pb.TEST, level=1, stage=["a", "b"])
    assert matches_rule(state, from_text(rule, pb.NetStateRule)) is met


@pytest.mark.parametrize("phase", ["TRAIN", "train", 0, Phase.TRAIN])
def test_a_phase_is_given_by_name_or_number(phase):
    assert phase_of(phase) is Phase.TRAIN


@pytest.mark.parametrize("phase", ["training", "", 7])
def test_an_unknown_phase_is_refused(phase):
    with pytest.raises(NetError, match=f"phase {phase!r} is unknown; use TRAIN or TEST"):
        phase_of(phase)


IN_PLACE = """layer { name: "in" top: "x" top: "z" }
    layer { name: "one" bottom: "x" top: "x" }
    layer { name: "reader" bottom: "x" top: "y" }
    layer { name: "two" bottom: "x" top: "x" }
    layer { name: "sum" bottom: "y" bottom: "x" top: "sum" }"""


def test_every_in_place_layer_makes_its_own_edge():
    graph = resolve(message(IN_PLACE))
    assert graph.blobs == ["x", "z", "x", "y", "x", "sum"]
    assert [(node.bottoms, node.tops) for node in graph.nodes] == [
        *(((), (0, 1)), ((0,), (2,)), ((2,), (3,))),
        *(((2,), (4,)), ((3, 4), (5,))),
    ]
    assert graph.outputs == [1, 5]


def test_unnamed_layers_and_layers_with_the_same_name_are_all_kept():
    graph = resolve(message('layer { name: "a" top: "x" } layer { name: "a" bottom: "x" top: "y" } layer { top: "z" }'))
    assert names(graph) == ["a", "a", ""]
    assert [graph.blobs[edge] for edge in graph.outputs] == ["y", "z"]


def test_the_given_net_is_unchanged():
    net = message('layer { name: "a" top: "x" } layer { name: "b" top: "y" include { phase: TRAIN } }')
    before = net.SerializeToString()
    resolve(net, Phase.TEST, level=1, stages=["s"])
    for node in connect(net).nodes:
        node.layer.top.append("more")
    assert net.SerializeToString() == before


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            'layer { name: "b" bottom: "x" top: "y" } layer { name: "a" top: "x" }',
            "layer 'b': bottom 'x' isn't a top of",
        ),
        ('layer { name: "a" top: "data" } layer { name: "b" bottom: "date" }', "did you mean 'data'"),
        ('layer { name: "a" bottom: "y" top: "x" } layer { name: "b" bottom: "x" top: "y" }', "layer 'a': bottom 'y'"),
        (
            'layer { name: "a" top: "x" } layer { name: "b" top: "x" }',
            "layer 'b': top 'x' is also a top of layer 'a'",
        ),
        # A top is in place only if it is the bottom at the same position.
        (
            'layer { name: "a" top: "x" top: "y" } layer { name: "b" bottom: "x" bottom: "y" top: "y" }',
            "layer 'b': top 'y' is also a top of layer 'a'",
        ),
        ('layer { name: "a" top: "x" top: "x" }', "layer 'a': top 'x' is also a top of the same layer"),
        (
            'layer { name: "a" top: "x" } layer { name: "b" bottom: "x" propagate_down: true propagate_down: false }',
            "layer 'b': there are 2 propagate_down values for 1 bottoms",
        ),
        (
            'layer { name: "a" include { phase: TEST } exclude { stage: "s" } }',
            "layer 'a': there are include and exclude",
        ),
    ],
)
def test_an_unconnected_bottom_is_reported_with_its_layer(text, why):
    with pytest.raises(GraphError, match=why):
        resolve(message(text))


TRAINED = """layer { name: "data" top: "x" include { phase: TRAIN } } layer { name: "a" bottom: "x" top: "y" }"""


def test_a_net_without_data_for_a_phase_is_not_for_that_phase():
    assert [graph.phase for graph in resolve_all(message(TRAINED))] == [Phase.TRAIN]
    assert [graph.phase for graph in resolve_all(message(IN_PLACE))] == [Phase.TEST, Phase.TRAIN]
    with pytest.raises(GraphError, match="layer 'a': bottom 'x'"):
        resolve_all(message(TRAINED.replace("phase: TRAIN", "stage: 'never'")))
    assert resolve_all(message("")) == []


def test_leaving_out_a_layer_leaves_out_the_readers_of_its_tops():
    net = message("""input: "x"
        layer { name: "a" bottom: "x" top: "a" } layer { name: "b" bottom: "x" top: "b" }
        layer { name: "of a" bottom: "a" top: "of a" } layer { name: "of both" bottom: "b" bottom: "of a" top: "both" }
        layer { name: "of b" bottom: "b" top: "b" }""")
    assert [layer.name for layer in without_layers(net, lambda layer: layer.name == "a").layer] == ["b", "of b"]
    assert len(net.layer) == 5
