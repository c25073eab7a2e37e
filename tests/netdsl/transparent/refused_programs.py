"""Programs that several ranks can't run together, because each would compute different results."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader

from tests.netdsl.transparent.programs import Curve, items, loader

RANK = int(sys.argv[1]) if sys.argv[1:2] and sys.argv[1].isdigit() else 0


def learn(data: Tensor, labels: Tensor, model: nn.Module, optimizer: torch.optim.Optimizer) -> float:
    optimizer.zero_grad()
    loss = functional.cross_entropy(model(data.flatten(1)), labels)
    loss.backward()
    optimizer.step()
    return loss.item()


def learner() -> tuple[nn.Module, torch.optim.Optimizer]:
    model = nn.Linear(36, 3)
    return model, torch.optim.SGD(model.parameters(), 0.1)


def steps_of_one_rank() -> Curve:
    model, optimizer = learner()
    curve = []
    for data, labels in loader():
        curve.append(learn(data, labels, model, optimizer))
        if RANK == 1:
            optimizer.step()
    return curve


def other_items() -> Curve:
    model, optimizer = learner()
    draw = torch.Generator().manual_seed(RANK)
    return [learn(*batch, model, optimizer) for batch in DataLoader(items(), 12, shuffle=True, generator=draw)]


def other_random_numbers() -> Curve:
    torch.manual_seed(int.from_bytes(os.urandom(4), "little"))
    model, optimizer = learner()
    return [learn(*batch, model, optimizer) for batch in DataLoader(items(), 12)]


def other_batches_by_hand() -> Curve:
    model, optimizer = learner()
    data, labels = items()[:]
    order = torch.randperm(50, generator=torch.Generator().manual_seed(RANK))
    return [learn(data[order[:20]], labels[order[:20]], model, optimizer)]


def other_weights() -> Curve:
    weights = torch.randn(36, 3, generator=torch.Generator().manual_seed(RANK)).requires_grad_()
    data, labels = next(iter(loader()))
    functional.cross_entropy(data.flatten(1) @ weights, labels).backward()
    return []


def one_rank_reads_the_loss() -> Curve:
    model, optimizer = learner()
    for data, labels in loader():
        loss = functional.cross_entropy(model(data.flatten(1)), labels)
        if RANK == 1:
            loss.item()
        loss.backward()
        optimizer.step()
    return []


def a_batch_changed_in_place() -> Curve:
    data, _ = next(iter(loader()))
    data[0] = 0.0
    return [data.sum().item()]


def a_hook_on_a_batch() -> Curve:
    data, _ = next(iter(loader()))
    data.requires_grad_().register_hook(lambda gradient: None)
    return []


def backward_of_items() -> Curve:
    model, _ = learner()
    data, _ = next(iter(loader()))
    scores = model(data.flatten(1))
    scores.backward(torch.ones_like(scores))
    return []


PROGRAMS: dict[str, tuple[Callable[[], Curve], str]] = {
    program.__name__: (program, sentence)
    for program, sentence in (
        (steps_of_one_rank, "the optimizers of rank 0 have taken 1 steps, but those of rank 1 have taken 2"),
        (other_items, "the batches of rank 0 and rank 1 contain different items"),
        (other_random_numbers, "rank 0 and rank 1 have drawn different random numbers"),
        (other_batches_by_hand, "so their batches differ"),
        (other_weights, "start with different values"),
        (one_rank_reads_the_loss, "rank 0 begins a backward pass while rank 1 reads a value of the whole batch"),
        (a_batch_changed_in_place, "changes a batch in place with '__setitem__'"),
        (a_hook_on_a_batch, "registers a hook on a tensor of a batch"),
        (backward_of_items, "calls backward() on values of single items"),
    )
}
