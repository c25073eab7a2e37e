"""The shared code of convolutions with one group for each channel."""

from __future__ import annotations

from caffe_proto.copies import copy_of
from netdsl.layer.deploying import ComputedByOthers, NewLayer
from netdsl.layers.convolution import Convolution


class Depthwise(Convolution, ComputedByOthers):
    """A convolution of each channel with its own filters."""

    origin = "MobileNets"
    depthwise = True

    def in_other_layers(self) -> list[NewLayer]:
        made = copy_of(self.layer)
        made.type, made.convolution_param.group = "Convolution", self.group
        made.convolution_param.num_output = len(self.weight)
        return [(made, list(self.parameters()))]
