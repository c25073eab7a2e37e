"""Training steps that are replayed as a CUDA graph on the device in NETDSL_DEVICE: the bits equal those of normal
steps."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from netdsl.net.compute_precision import ComputePrecision, repeatable
from netdsl.solver.events import Event, Notice
from tests.device import DEVICE
from tests.netdsl.solver.test_step_graph import POLICIES, SOLVERS, STEPS, WARM_UP, batches, bits, solver_on

pytestmark = pytest.mark.skipif(DEVICE.type != "cuda", reason="only a GPU has CUDA graphs")


@pytest.mark.parametrize("policy", ["step", "inv"])
@pytest.mark.parametrize("kind", SOLVERS)
def test_a_cuda_graph_has_the_bits_of_normal_steps(kind: str, policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check_the_same(monkeypatch, type=kind, **SOLVERS[kind], **POLICIES[policy])


@pytest.mark.parametrize("precision", [ComputePrecision.BF16, ComputePrecision.FP16])
@pytest.mark.parametrize("more", [{}, {"clip_gradients": 0.1, "iter_size": 2}], ids=str)
def test_a_cuda_graph_has_the_bits_of_normal_steps_in_half_precision(
    precision: ComputePrecision, more: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    check_the_same(monkeypatch, precision=precision, momentum=0.9, **more)


def check_the_same(monkeypatch: pytest.MonkeyPatch, **how: Any) -> None:
    replays, events = list[torch.cuda.CUDAGraph](), list[Event]()
    replay = torch.cuda.CUDAGraph.replay
    monkeypatch.setattr(torch.cuda.CUDAGraph, "replay", lambda graph: (replays.append(graph), replay(graph)))
    found = []
    for graph in (False, True):
        with repeatable(DEVICE, ComputePrecision.EXACT):
            solver = solver_on(DEVICE, batches(), graph=graph, events=events, **how)
            torch.manual_seed(5)  # for dropout
            solver.step(STEPS)
        found.append([*bits(solver), torch.cuda.get_rng_state(DEVICE)])
    assert len(replays) == STEPS - WARM_UP
    assert [event.text for event in events if isinstance(event, Notice)] == []
    assert all(map(torch.equal, *found))
