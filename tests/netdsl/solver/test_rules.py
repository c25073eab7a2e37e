"""The factor of a rule, as a number and as a tensor."""

from __future__ import annotations

import pytest
import torch

from caffe_proto import caffe_pb2 as pb
from netdsl.solver.rules import TYPES, rule_of


@pytest.mark.parametrize("kind", TYPES)
def test_a_factor_as_a_tensor_has_the_bits_of_a_number(kind: str) -> None:
    momentum = 0.0 if kind in ("AdaGrad", "RMSProp") else 0.9
    rule = rule_of(pb.SolverParameter(type=kind, momentum=momentum, rms_decay=0.9))
    found = []
    for memory in (False, True):
        random = torch.Generator().manual_seed(1)
        weights, *histories = (torch.rand(1003, generator=random) for _ in range(1 + rule.histories))
        for iteration in range(5):
            factor = rule.factor(0.0123, iteration)
            gradient = torch.randn(1003, generator=random)
            rule(weights, gradient, histories, torch.tensor(factor) if memory else factor)
        found.append([weights, *histories])
    assert all(map(torch.equal, *found))
