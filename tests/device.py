"""The device that tests of numbers run on, which NETDSL_DEVICE names: by default the CPU."""

from __future__ import annotations

import os

import torch

DEVICE = torch.device(os.environ.get("NETDSL_DEVICE", "cpu"))
