"""AlexNet, so small that ten of it train on one machine, on digits."""

from __future__ import annotations

from dataclasses import dataclass

from caffe_proto import caffe_pb2 as pb
from zoo.simulating.digits import digits_settings

_NET = """
name: "small AlexNet"
layer {
  name: "conv1" type: "Convolution" bottom: "data" top: "conv1"
  convolution_param { num_output: 12 kernel_size: 3 pad: 1 weight_filler { type: "msra" } }
}
layer { name: "relu1" type: "ReLU" bottom: "conv1" top: "conv1" }
layer { name: "norm1" type: "LRN" bottom: "conv1" top: "norm1" lrn_param { alpha: 0.0001 beta: 0.75 } }
layer {
  name: "conv2" type: "Convolution" bottom: "norm1" top: "conv2"
  convolution_param { num_output: 32 kernel_size: 3 pad: 1 group: 2 weight_filler { type: "msra" } }
}
layer { name: "relu2" type: "ReLU" bottom: "conv2" top: "conv2" }
layer { name: "norm2" type: "LRN" bottom: "conv2" top: "norm2" lrn_param { alpha: 0.0001 beta: 0.75 } }
layer { name: "pool2" type: "Pooling" bottom: "norm2" top: "pool2" pooling_param { kernel_size: 3 stride: 2 } }
layer {
  name: "conv3" type: "Convolution" bottom: "pool2" top: "conv3"
  convolution_param { num_output: 48 kernel_size: 3 pad: 1 weight_filler { type: "msra" } }
}
layer { name: "relu3" type: "ReLU" bottom: "conv3" top: "conv3" }
layer {
  name: "conv4" type: "Convolution" bottom: "conv3" top: "conv4"
  convolution_param { num_output: 48 kernel_size: 3 pad: 1 group: 2 weight_filler { type: "msra" } }
}
layer { name: "relu4" type: "ReLU" bottom: "conv4" top: "conv4" }
layer {
  name: "conv5" type: "Convolution" bottom: "conv4" top: "conv5"
  convolution_param { num_output: 32 kernel_size: 3 pad: 1 group: 2 weight_filler { type: "msra" } }
}
layer { name: "relu5" type: "ReLU" bottom: "conv5" top: "conv5" }
layer { name: "pool5" type: "Pooling" bottom: "conv5" top: "pool5" pooling_param { kernel_size: 3 stride: 2 } }
layer {
  name: "fc6" type: "InnerProduct" bottom: "pool5" top: "fc6"
  inner_product_param { num_output: 128 weight_filler { type: "msra" } }
}
layer { name: "relu6" type: "ReLU" bottom: "fc6" top: "fc6" }
layer { name: "drop6" type: "Dropout" bottom: "fc6" top: "fc6" }
layer {
  name: "fc7" type: "InnerProduct" bottom: "fc6" top: "fc7"
  inner_product_param { num_output: 128 weight_filler { type: "msra" } }
}
layer { name: "relu7" type: "ReLU" bottom: "fc7" top: "fc7" }
layer { name: "drop7" type: "Dropout" bottom: "fc7" top: "fc7" }
layer {
  name: "fc8" type: "InnerProduct" bottom: "fc7" top: "fc8"
  inner_product_param { num_output: 10 weight_filler { type: "msra" } }
}
layer {
  name: "accuracy" type: "Accuracy" bottom: "fc8" bottom: "label" top: "accuracy" include { phase: TEST }
}
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "fc8" bottom: "label" top: "loss" }
"""


@dataclass(frozen=True)
class AlexNetTask:
    """The settings of training: AlexNet's momentum and weight decay, and batches that leave its steps noisy."""

    batch: int = 4
    rate: float = 0.003
    iterations: int = 1500

    def settings(self, seed: int, test_interval: int) -> pb.SolverParameter:
        """The settings of a solver, including the net."""
        param = digits_settings(_NET, self.batch, self.rate, self.iterations, seed, test_interval)
        param.momentum, param.weight_decay = 0.9, 0.0005
        return param
