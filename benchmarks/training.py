"""Training steps of nets beside the same nets written by hand in torch with the same weights, in one run.

A step is a forward pass in the TRAIN phase, a backward pass, and an update of the weights with momentum and decay.
netdsl's net is timed with and without its rule for the layout of images, those by hand in both layouts; the ratio is to
the quicker one. All take turns; the loss and the gradients of a step without dropout are compared first. The target is
a ratio of 1.03.
"""

from __future__ import annotations

import argparse
import copy
from dataclasses import dataclass
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.nets import PAIRS, NetPair
from benchmarks.nets.by_hand import LAYOUTS, ByHand, in_layout, load_by_hand
from benchmarks.timing import max_difference, time_in_turn
from caffe_proto import caffe_pb2 as pb
from netdsl import Net, NetParams, RDDLayer, SoftmaxWithLoss
from netdsl.net.graph import Phase
from netdsl.net.module import NetModule
from netdsl.solver.flat import FlatWeights
from netdsl.solver.update import Updater

RATE, MOMENTUM, DECAY = 1e-6, 0.9, 5e-4  # a small rate, since the data are noise


def train_val(params: NetParams, batch: int) -> pb.NetParameter:
    """The net with a loss in place of its probabilities."""
    net = copy.deepcopy(params.message)
    scores = net.layer.pop().bottom[0]
    net.layer.insert(0, RDDLayer("label", shape=[batch]))
    net.layer.append(SoftmaxWithLoss("loss", [scores, "label"]))
    return net


@dataclass
class Ours:
    """A net with netdsl's update rule."""

    module: NetModule
    updater: Updater

    def step(self, x: Tensor, labels: Tensor, *, learn: bool = True) -> Tensor:
        """Run a step and return its loss."""
        self.updater.gradients.clear()
        loss: Tensor = self.module(data=x, label=labels)["loss"]
        loss.backward()
        if learn:
            self.updater.apply(RATE, 0)
        return loss.detach()


@dataclass
class Theirs:
    """A net by hand with torch's optimiser."""

    module: ByHand
    optimizer: torch.optim.Optimizer

    def step(self, x: Tensor, labels: Tensor, *, learn: bool = True) -> Tensor:
        """Run a step and return its loss."""
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.module.scores(x).flatten(1), labels)
        loss.backward()
        if learn:
            self.optimizer.step()
        return loss.detach()


def gradient_norm(module: nn.Module) -> Tensor:
    """The norm of all gradients."""
    gradients = [parameter.grad for parameter in module.parameters() if parameter.grad is not None]
    return torch.stack([gradient.double().square().sum() for gradient in gradients]).sum().sqrt()


@dataclass(frozen=True)
class TrainingTimes:
    """The median seconds of netdsl's net and of those by hand, one for each of `LAYOUTS`.

    `channels_first` are those of netdsl's net without its rule for layouts. `difference` is that of losses and of the
    norms of gradients, relative.
    """

    ours: float
    channels_first: float
    by_hand: tuple[float, ...]
    difference: float


def compare(pair: NetPair, device: str, rounds: int) -> TrainingTimes:
    """Time a net and the same by hand in turn."""
    net = Net(train_val(pair.params(pair.training_batch), pair.training_batch), phase=Phase.TRAIN)
    x, labels = torch.randn(pair.training_batch, *pair.image), torch.randint(10, (pair.training_batch,))
    with torch.no_grad():
        net.module(data=x, label=labels)  # so that batch normalisations have statistics
    x, labels = x.to(device), labels.to(device)
    theirs = [_by_hand(pair, net, device, layout) for layout in LAYOUTS]
    param = pb.SolverParameter(type="SGD", momentum=MOMENTUM, weight_decay=DECAY)
    module = net.to(device).module
    ours = Ours(module, Updater(param, FlatWeights(module.built)))
    tasks = [partial(each.step, in_layout(x, layout), labels) for each, layout in zip(theirs, LAYOUTS, strict=True)]
    difference = max(_difference(ours, each, x, labels) for each in theirs)

    def step(channels_last: bool) -> None:
        module.channels_last = channels_last
        ours.step(x, labels)

    own = [partial(step, channels_last) for channels_last in (module.channels_last, False)]
    seconds, first, *others = time_in_turn([*own, *tasks], rounds)
    return TrainingTimes(seconds, first, tuple(others), difference)


def _by_hand(pair: NetPair, net: Net, device: str, layout: torch.memory_format) -> Theirs:
    module = pair.by_hand().train()
    load_by_hand(net, module)
    module = module.to(device, memory_format=layout)
    return Theirs(module, torch.optim.SGD(module.parameters(), RATE, MOMENTUM, weight_decay=DECAY))


def _difference(ours: Ours, theirs: Theirs, x: Tensor, labels: Tensor) -> float:
    """The difference in evaluation mode, where nothing is random."""
    ours.module.eval()
    theirs.module.eval()
    losses = ours.step(x, labels, learn=False), theirs.step(x, labels, learn=False)
    lengths = gradient_norm(ours.module), gradient_norm(theirs.module)
    ours.module.train()
    theirs.module.train()
    return max(max_difference(losses[0], losses[1]), max_difference(lengths[0], lengths[1]) / lengths[1].item())


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("nets", nargs="*")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    columns = f"{'ours, ms':>10}{'first':>10}{'by hand':>10}{'last':>10}{'ratio':>8}{'differ by':>12}"
    print(f"{'net':<12}{'batch':>6}{columns}")
    for pair in PAIRS:
        if not arguments.nets or pair.name in arguments.nets:
            times = compare(pair, arguments.device, arguments.rounds)
            milliseconds = "".join(
                f"{1000 * each:>10.1f}" for each in (times.ours, times.channels_first, *times.by_hand)
            )
            ratio = f"{times.ours / min(times.by_hand):>8.2f}"
            print(f"{pair.name:<12}{pair.training_batch:>6}{milliseconds}{ratio}{times.difference:>12.1e}", flush=True)


if __name__ == "__main__":
    main()
