"""The task of the experiments: a small net that learns to classify digits in noisy steps."""

from __future__ import annotations

from dataclasses import dataclass

from google.protobuf import text_format

from caffe_proto import caffe_pb2 as pb
from netdsl.solver.settings import SolverSettings, open_settings

_DATA = """
layer {
  name: "data" type: "Data" top: "data" top: "label" transform_param { scale: 0.00390625 }
  data_param { source: "digits:train" shuffle: true } include { phase: TRAIN }
}
layer {
  name: "data" type: "Data" top: "data" top: "label" transform_param { scale: 0.00390625 }
  data_param { source: "digits:test" batch_size: 355 } include { phase: TEST }
}
"""
_NET = """
name: "digits"
layer {
  name: "ip1" type: "InnerProduct" bottom: "data" top: "ip1"
  inner_product_param { num_output: 64 weight_filler { type: "xavier" } }
}
layer { name: "relu1" type: "ReLU" bottom: "ip1" top: "ip1" }
layer { name: "drop1" type: "Dropout" bottom: "ip1" top: "ip1" }
layer {
  name: "ip2" type: "InnerProduct" bottom: "ip1" top: "ip2"
  inner_product_param { num_output: 10 weight_filler { type: "xavier" } }
}
layer {
  name: "accuracy" type: "Accuracy" bottom: "ip2" bottom: "label" top: "accuracy" include { phase: TEST }
}
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip2" bottom: "label" top: "loss" }
"""


@dataclass(frozen=True)
class DigitsTask:
    """The settings of training: plain SGD with a fixed rate, which is near the best rate for a single machine.

    Batches are small, so that steps are noisy and averaging, which reduces noise, has an effect.
    """

    batch: int = 4
    rate: float = 0.2
    iterations: int = 4000

    def settings(self, seed: int, test_interval: int) -> SolverSettings:
        """Return the settings of a solver, including the net."""
        return digits_settings(_NET, self.batch, self.rate, self.iterations, seed, test_interval)


def whole_rounds(iterations: int, tau: int) -> int:
    """Return the smallest multiple of `tau` with at least this number of iterations, since a test within a round would
    end the round."""
    return -(-iterations // tau) * tau


def digits_settings(
    net: str, batch: int, rate: float, iterations: int, seed: int, test_interval: int
) -> SolverSettings:
    """Return the settings of plain SGD with a fixed rate, for a net that reads digits in batches."""
    param = pb.SolverParameter(type="SGD", base_lr=rate, lr_policy="fixed", max_iter=iterations)
    param.random_seed, param.test_interval = seed, test_interval
    param.test_iter.append(1)
    text_format.Parse(_DATA + net, param.net_param)
    param.net_param.layer[0].data_param.batch_size = batch
    return open_settings(param)
