"""The device that tests of numbers run on, which NETDSL_DEVICE names: by default the CPU."""

from __future__ import annotations

import os

import torch

DEVICE = torch.device(os.environ.get("NETDSL_DEVICE", "cpu"))
if DEVICE.type == "cuda":  # cuBLAS reads this once, with a process's first product, which may not be a repeatable one
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
