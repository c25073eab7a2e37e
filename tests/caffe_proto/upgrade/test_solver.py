"""Solvers: `solver_type` becomes `type`."""

from __future__ import annotations

from pathlib import Path

import pytest
from google.protobuf import text_format

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import UpgradeError
from caffe_proto.upgrade import upgrade_solver

DATA = Path(__file__).parents[2] / "data" / "upgrade"


def parse(text: str) -> pb.SolverParameter:
    return text_format.Parse(text, pb.SolverParameter())


def test_equals_what_caffe_prints() -> None:
    upgraded = upgrade_solver(parse((DATA / "solver_old.prototxt").read_text()))
    assert upgraded.message == parse((DATA / "solver_old.upgraded.prototxt").read_text())
    assert upgraded.changes == ('solver_type: ADADELTA became type: "AdaDelta"',)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("SGD", "SGD"),
        ("NESTEROV", "Nesterov"),
        ("ADAGRAD", "AdaGrad"),
        ("RMSPROP", "RMSProp"),
        ("ADADELTA", "AdaDelta"),
        ("ADAM", "Adam"),
        ("SAG", "SAG"),
    ],
)
def test_each_type(old: str, new: str) -> None:
    assert upgrade_solver(parse(f"solver_type: {old}")).message == parse(f'type: "{new}"')


def test_every_value_of_the_enum_is_known() -> None:
    for name, _ in pb.SolverParameter.SolverType.items():
        assert upgrade_solver(parse(f"solver_type: {name}")).message.type.upper() == name


@pytest.mark.parametrize("text", ['net: "x.prototxt"', 'type: "Adam" net: "x.prototxt"'])
def test_a_new_solver_stays_as_it_is(text: str) -> None:
    upgraded = upgrade_solver(parse(text))
    assert upgraded.message == parse(text)
    assert upgraded.changes == ()


def test_the_given_solver_is_not_touched() -> None:
    solver = parse("solver_type: ADAM")
    upgrade_solver(solver)
    assert solver == parse("solver_type: ADAM")


def test_both_types_are_refused() -> None:
    with pytest.raises(UpgradeError, match='both solver_type: ADAM and type: "SGD" are set; remove solver_type'):
        upgrade_solver(parse('solver_type: ADAM type: "SGD"'))
