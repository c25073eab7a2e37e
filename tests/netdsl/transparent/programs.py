"""Small programs for one process, each of which returns its loss curve."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset, TensorDataset

Curve = list[float]


def items(count: int = 50) -> TensorDataset:
    """Return items of three classes, in batches of 16 and a last one of 2, or in a batch of 12 and one of 2."""
    draw = torch.Generator().manual_seed(1)
    data = torch.randn(count, 1, 6, 6, generator=draw)
    return TensorDataset(data, (data.mean(dim=(1, 2, 3)) * 12).long().clamp(-1, 1) + 1)


def loader(batch: int = 12, **settings: object) -> DataLoader[tuple[Tensor, ...]]:
    return DataLoader(items(), batch, shuffle=True, **settings)  # type: ignore[arg-type]


def net(*more: nn.Module) -> nn.Module:
    torch.manual_seed(2)
    return nn.Sequential(
        nn.Conv2d(1, 4, 3), *more, nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16, 3)
    )


def train(model: nn.Module, step: Callable[[Tensor, Tensor], Tensor], epochs: int = 2, **settings: int) -> Curve:
    """Return the losses of all steps, and at the end the loss of all items and how many predictions are right."""
    curve = [step(data, labels).item() for _ in range(epochs) for data, labels in loader(**settings)]
    model.eval()
    right, total, loss = 0, 0, 0.0
    with torch.no_grad():
        for data, labels in loader(16):
            scores = model(data)
            loss += functional.cross_entropy(scores, labels, reduction="sum").item()
            right += (scores.argmax(1) == labels).sum().item()
            total += labels.size(0)
    return [*curve, loss / total, right / total, total]


def sgd() -> Curve:
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)

    def step(data: Tensor, labels: Tensor) -> Tensor:
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(data), labels)
        loss.backward()
        optimizer.step()
        return loss

    return train(model, step)


def adam_with_a_schedule_and_clipping() -> Curve:
    model = net()
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 3, 0.5)
    norms = []

    def step(data: Tensor, labels: Tensor) -> Tensor:
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(data), labels)
        loss.backward()
        norms.append(nn.utils.clip_grad_norm_(model.parameters(), 0.3).item())
        optimizer.step()
        schedule.step()
        return loss

    return train(model, step) + norms


def accumulated_gradients() -> Curve:
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    count = 0

    def step(data: Tensor, labels: Tensor) -> Tensor:
        nonlocal count
        count += 1
        loss = functional.cross_entropy(model(data), labels) / 3
        loss.backward()
        if count % 3 == 0:
            optimizer.step()
            optimizer.zero_grad()
        return loss

    return train(model, step)


def batch_norm() -> Curve:
    model = net(nn.BatchNorm2d(4))
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.5)

    def step(data: Tensor, labels: Tensor) -> Tensor:
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(data), labels)
        loss.backward()
        optimizer.step()
        return loss

    return train(model, step) + model[1].running_var.tolist() + model[1].running_mean.tolist()


def dropout() -> Curve:
    model = net(nn.Dropout(0.4))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)

    def step(data: Tensor, labels: Tensor) -> Tensor:
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(data), labels)
        loss.backward()
        optimizer.step()
        return loss

    return train(model, step)


def several_optimizers() -> Curve:
    """Train two nets against each other, as in a GAN, with noise as large as the batch."""
    torch.manual_seed(3)
    maker, judge = nn.Linear(4, 36), nn.Sequential(nn.Linear(36, 5), nn.Tanh(), nn.Linear(5, 1))
    optimizers = [torch.optim.Adam(model.parameters(), 0.01) for model in (maker, judge)]
    curve = []
    for data, _ in loader():
        real = data.view(data.size(0), -1)
        false = maker(torch.randn(data.size(0), 4))
        optimizers[1].zero_grad()
        right, wrong = judge(real), judge(false.detach())
        judging = functional.binary_cross_entropy_with_logits(right, torch.ones(len(data), 1))
        judging = judging + functional.binary_cross_entropy_with_logits(wrong, torch.zeros_like(wrong))
        judging.backward()
        optimizers[1].step()
        optimizers[0].zero_grad()
        making = functional.softplus(-judge(false)).mean()
        making.backward()
        optimizers[0].step()
        curve += [judging.item(), making.item()]
    return curve


def items_of_one_batch_compared() -> Curve:
    """Train with a loss that compares each item of a batch with all others."""
    torch.manual_seed(4)
    model = nn.Linear(36, 5)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    curve = []
    for data, labels in loader():
        codes = functional.normalize(model(data.flatten(1)))
        alike = codes @ codes.T
        loss = ((alike - (labels[:, None] == labels[None, :]).float()) ** 2).mean() + (codes - codes.mean(0)).std()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        curve.append(loss.item())
    return curve


def mixed_items() -> Curve:
    """Train with mixup, weighted classes, ignored labels, and a summed loss."""
    model = net()
    weight = torch.tensor([0.2, 1.0, 3.0])
    optimizer = torch.optim.SGD(model.parameters(), 0.05)

    def step(data: Tensor, labels: Tensor) -> Tensor:
        order = torch.randperm(data.size(0))
        mixed = 0.7 * data + 0.3 * data[order]
        scores = model(mixed)
        few = torch.where(torch.arange(len(labels)) % 3 == 0, -100, labels)
        loss = functional.cross_entropy(scores, few, weight=weight)
        loss = loss + 0.3 * functional.cross_entropy(scores, labels[order], weight, label_smoothing=0.1)
        loss = loss + functional.mse_loss(scores, functional.one_hot(labels, 3).float(), reduction="sum") / len(data)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return train(model, step)


def sequences() -> Curve:
    """Train a recurrent net on rows of time steps, and read values in many ways."""
    torch.manual_seed(5)
    recurrent, last = nn.LSTM(6, 5, batch_first=True), nn.Linear(5, 3)
    optimizer = torch.optim.Adam([*recurrent.parameters(), *last.parameters()], 0.02)
    curve = []
    for data, labels in loader():
        rows = data.squeeze(1)
        outputs, _ = recurrent(rows)
        scores = last(outputs)
        every = functional.cross_entropy(scores.reshape(-1, 3), labels.repeat_interleave(6))
        chosen = -functional.log_softmax(scores[:, -1], 1).gather(1, labels.unsqueeze(1)).mean()
        loss = every + chosen
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        curve += [float(loss), scores[0, 0].tolist()[0], scores.amax(dim=(1, 2)).detach().numpy().sum().item()]
    return curve


def gradients_of_the_batch() -> Curve:
    """Train on adversarial items, which are computed from the gradients of a batch."""
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)

    def step(data: Tensor, labels: Tensor) -> Tensor:
        data.requires_grad_()
        functional.cross_entropy(model(data), labels).backward()
        worse = data.detach() + 0.1 * data.grad.sign()
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(worse), labels)
        loss.backward()
        optimizer.step()
        (slope,) = torch.autograd.grad(model(data.detach()).square().mean(), [model[0].bias])
        return loss + slope.sum()

    return train(model, step)


class RandomItems(Dataset[tuple[Tensor, int]]):
    """Items with noise that is drawn when they are read."""

    def __len__(self) -> int:
        return 30

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        return torch.randn(1, 6, 6) + index % 3, index % 3


def random_items() -> Curve:
    model = net()
    torch.manual_seed(6)
    return [
        functional.cross_entropy(model(data), labels).item()
        for data, labels in DataLoader(RandomItems(), 8, shuffle=True)
    ]


def batches_by_hand() -> Curve:
    """Train on slices of a tensor, which all ranks compute completely."""
    model, (data, labels) = net(), items()[:]
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    curve = []
    for start in range(0, 50, 20):
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(data[start : start + 20]), labels[start : start + 20])
        loss.backward()
        optimizer.step()
        curve.append(loss.item())
    return curve


class Cube(torch.autograd.Function):
    """A function whose gradient depends on the number of items."""

    @staticmethod
    def forward(ctx: Any, values: Tensor) -> Tensor:
        ctx.save_for_backward(values)
        return values**3 / len(values)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        (values,) = ctx.saved_tensors
        return gradients[0] * 3 * values**2 / len(values)


def custom_functions() -> Curve:
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    curve = []
    for data, labels in loader():
        loss = functional.cross_entropy(Cube.apply(model(data)), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        curve += torch.tensor([loss, loss.detach() * 2]).tolist()
        curve.append(torch.as_tensor(labels).float().mean().item())
    return curve


def compiled() -> Curve:
    model = torch.compile(net(), backend="eager")
    optimizer = torch.optim.SGD(model.parameters(), 0.1)

    def step(data: Tensor, labels: Tensor) -> Tensor:
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(data), labels)
        loss.backward()
        optimizer.step()
        return loss

    return train(model, step)


PROGRAMS: dict[str, Callable[[], Curve]] = {
    program.__name__: program
    for program in (
        sgd,
        adam_with_a_schedule_and_clipping,
        accumulated_gradients,
        batch_norm,
        dropout,
        several_optimizers,
        items_of_one_batch_compared,
        mixed_items,
        sequences,
        gradients_of_the_batch,
        random_items,
        batches_by_hand,
        custom_functions,
        compiled,
    )
}
