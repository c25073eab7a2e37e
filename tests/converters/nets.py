"""Small nets for the tests of converters, and helpers that inspect the results."""

from __future__ import annotations

import torch

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl import Net
from netdsl.model.model import Model

# For inputs of both signs, some sums are almost 0, so their inverses depend on how the sums were rounded.
INVERSE_OF_SUMS = """
    layer { name: "data" type: "Input" top: "data" input_param { shape { dim: [1, 64] } } }
    layer { name: "sums" type: "InnerProduct" bottom: "data" top: "sums"
            inner_product_param { num_output: 4096 bias_term: false weight_filler { type: "uniform" min: 0 max: 1 } } }
    layer { name: "inverse" type: "Power" bottom: "sums" top: "inverse" power_param { power: -1 } }
"""

# A detector that finds nothing in random images, because the background always wins.
DETECTOR = """
layer { name: "x" type: "Input" top: "x" input_param { shape { dim: [1, 1, 2, 4] } } }
layer { name: "l" type: "InnerProduct" bottom: "x" top: "l"
  inner_product_param { num_output: 12 weight_filler { type: "gaussian" std: 0.01 } } }
layer { name: "s" type: "InnerProduct" bottom: "x" top: "s"
  inner_product_param { num_output: 9 weight_filler { type: "gaussian" std: 0.01 } } }
layer { name: "c" type: "Convolution" bottom: "x" top: "c" convolution_param { num_output: 2 kernel_size: 2 } }
layer { name: "p" type: "PriorBox" bottom: ["c", "x"] top: "p" prior_box_param { min_size: 2 offset: 0.5 step: 1 } }
layer { name: "d" type: "DetectionOutput" bottom: ["l", "s", "p"] top: "d" detection_output_param {
  num_classes: 3 share_location: true code_type: CENTER_SIZE confidence_threshold: 0.9 keep_top_k: 5
  nms_param { nms_threshold: 0.5 top_k: 5 } } }
"""


def net_of(text: str, *, phase: str = "TEST", dialect: str | None = None) -> Net:
    """Return a net whose initial values are always the same."""
    torch.manual_seed(0)
    return Net(from_text(text, pb.NetParameter), phase=phase, dialect=dialect)


def layer_types(model: Model) -> list[str]:
    """Return the types of a model's layers without its inputs."""
    return [layer.type for layer in model.net.layer if layer.type != "Input"]


def layer_names(model: Model) -> list[str]:
    return [layer.name for layer in model.net.layer]
