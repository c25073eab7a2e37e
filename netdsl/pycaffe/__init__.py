"""A drop-in for `import caffe`: pycaffe's own interface over our nets."""

from __future__ import annotations

from netdsl.graph import Phase
from netdsl.pycaffe.modes import set_device, set_mode_cpu, set_mode_gpu, set_random_seed
from netdsl.pycaffe.net import Net

TRAIN, TEST = int(Phase.TRAIN), int(Phase.TEST)

__all__ = ["TEST", "TRAIN", "Net", "set_device", "set_mode_cpu", "set_mode_gpu", "set_random_seed"]
