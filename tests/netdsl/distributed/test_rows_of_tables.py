"""Workers whose nets read tables, compared with workers that read the same data from databases."""

from __future__ import annotations

import pytest
import torch
from google.protobuf import text_format

from caffe_proto import caffe_pb2 as pb
from netdsl.data.tables.table import Table
from netdsl.net.graph import Phase
from tests.netdsl.distributed.conftest import Simulate

TABLES = {Phase.TRAIN: Table("digits:train"), Phase.TEST: Table("digits:test")}
INPUTS = """
layer { name: "data" type: "Input" top: "data" include { phase: TRAIN } transform_param { scale: 0.00390625 }
  input_param { shape { dim: 6 dim: 1 dim: 8 dim: 8 } } }
layer { name: "data" type: "Input" top: "data" include { phase: TEST } transform_param { scale: 0.00390625 }
  input_param { shape { dim: 20 dim: 1 dim: 8 dim: 8 } } }
layer { name: "label" type: "Input" top: "label" include { phase: TRAIN } input_param { shape { dim: 6 dim: 1 } } }
layer { name: "label" type: "Input" top: "label" include { phase: TEST } input_param { shape { dim: 20 dim: 1 } } }
"""


@pytest.mark.parametrize("strategy", ["averaging:tau=4", "allreduce"])
def test_a_table_leads_to_the_same_bits_as_data_layers(run: Simulate, param: pb.SolverParameter, strategy: str) -> None:
    own = run(strategy)
    inputs = text_format.Parse(INPUTS, pb.NetParameter())
    layers = [*inputs.layer, *param.net_param.layer[2:]]
    del param.net_param.layer[:]
    param.net_param.layer.extend(layers)
    given = run(strategy, tables=TABLES)
    for one, other in zip(own.weights, given.weights, strict=True):
        assert torch.equal(one, other)
    assert [record.accuracy for record in own.records] == [record.accuracy for record in given.records]
