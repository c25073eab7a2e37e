"""The device for tests of numbers, which NETDSL_DEVICE names. The default is the CPU."""

from __future__ import annotations

import os

import torch

DEVICE = torch.device(os.environ.get("NETDSL_DEVICE", "cpu"))
if DEVICE.type == "cuda":  # cuBLAS reads this once, at a process's first product; its default may not be repeatable
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
