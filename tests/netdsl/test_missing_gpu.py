"""On a machine without a GPU, every way to name one means the CPU, with the same sentence."""

from __future__ import annotations

import pytest
import torch

from caffe_proto import caffe_pb2 as pb
from netdsl.missing_gpu import names_gpu, sees_gpu


def test_words_that_name_a_gpu_mean_the_cpu_without_one(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    assert not sees_gpu("-gpu 3", said.append)
    assert said == ["torch sees no GPU here, so -gpu 3 means the CPU"]
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    assert sees_gpu("-gpu 0", said.append) and len(said) == 1


def test_only_a_solver_that_says_so_names_the_gpu() -> None:
    assert [names_gpu(pb.SolverParameter(solver_mode=mode)) for mode in (None, 0, 1)] == [False, False, True]
