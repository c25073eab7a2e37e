"""Training steps of nets beside the same nets written by hand in torch with the same weights, in one run.

A step is a forward pass in the TRAIN phase, a backward pass, and an update of the weights with momentum and decay.
Both are timed alternately; the loss and the gradients of a step without dropout are compared first. If pycaffe is
installed, Caffe's own solver is timed too.
"""

from __future__ import annotations

import argparse
import copy
import statistics
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.nets import PAIRS, NetPair
from benchmarks.nets.by_hand import ByHand, load_by_hand
from benchmarks.timing import max_difference, seconds, time_alternately
from caffe_proto import caffe_pb2 as pb
from caffe_proto.text.prototxt import text_of
from netdsl import Net, NetParams, RDDLayer, SoftmaxWithLoss
from netdsl.net.graph import Phase
from netdsl.net.module import NetModule
from netdsl.solver.flat import FlatWeights
from netdsl.solver.update import Updater

RATE, MOMENTUM, DECAY = 1e-6, 0.9, 5e-4  # a small rate, since the data are noise
DEFAULT_NETS = ("LeNet", "AlexNet", "CaffeNet", "GoogLeNet")


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
        loss = F.cross_entropy(self.module.scores(x), labels)
        loss.backward()
        if learn:
            self.optimizer.step()
        return loss.detach()


def gradient_norm(module: nn.Module) -> Tensor:
    """The norm of all gradients."""
    gradients = [parameter.grad for parameter in module.parameters() if parameter.grad is not None]
    return torch.stack([gradient.double().square().sum() for gradient in gradients]).sum().sqrt()


def compare(pair: NetPair, device: str, rounds: int) -> tuple[float, float, float]:
    """The median seconds of netdsl's net and of the one by hand, and the relative difference of their gradients."""
    net = Net(train_val(pair.params(pair.training_batch), pair.training_batch), phase=Phase.TRAIN)
    by_hand = pair.by_hand().train()
    load_by_hand(net, by_hand)
    module, by_hand = net.to(device).module, by_hand.to(device)
    param = pb.SolverParameter(type="SGD", momentum=MOMENTUM, weight_decay=DECAY)
    ours = Ours(module, Updater(param, FlatWeights(module.built)))
    sgd = torch.optim.SGD(by_hand.parameters(), RATE, MOMENTUM, weight_decay=DECAY)
    theirs = Theirs(by_hand, sgd)
    x = torch.randn(pair.training_batch, *pair.image, device=device)
    labels = torch.randint(10, (pair.training_batch,), device=device)
    difference = _difference(ours, theirs, x, labels)
    times = time_alternately(lambda: ours.step(x, labels), lambda: theirs.step(x, labels), rounds)
    return *times, difference


def _difference(ours: Ours, theirs: Theirs, x: Tensor, labels: Tensor) -> float:
    """The difference in evaluation mode, where nothing is random."""
    ours.module.eval()
    theirs.module.eval()
    losses = ours.step(x, labels, learn=False), theirs.step(x, labels, learn=False)
    lengths = gradient_norm(ours.module), gradient_norm(theirs.module)
    ours.module.train()
    theirs.module.train()
    return max(max_difference(losses[0], losses[1]), max_difference(lengths[0], lengths[1]) / lengths[1].item())


def caffe_seconds(pair: NetPair, rounds: int) -> float | None:
    """The median seconds of a step of Caffe's own solver, or None if Caffe isn't installed."""
    try:
        caffe = import_module("caffe")
    except ImportError:
        return None
    net = train_val(pair.params(pair.training_batch), pair.training_batch)
    settings = f"base_lr: {RATE} lr_policy: 'fixed' momentum: {MOMENTUM} weight_decay: {DECAY} max_iter: 1000"
    with TemporaryDirectory() as folder:
        Path(folder, "net.prototxt").write_text(text_of(net))
        Path(folder, "solver.prototxt").write_text(
            f"net: '{folder}/net.prototxt' {settings} snapshot_after_train: false"
        )
        solver = caffe.SGDSolver(f"{folder}/solver.prototxt")
        return statistics.median(seconds(lambda: solver.step(1)) for _ in range(rounds + 1))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("nets", nargs="*", default=DEFAULT_NETS)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    columns = f"{'ours, images/s':>16}{'by hand':>10}{'speed ratio':>12}{'differ by':>12}{'Caffe':>10}"
    print(f"{'net':<12}{'batch':>6}{columns}")
    for pair in PAIRS:
        if pair.name in arguments.nets:
            ours, by_hand, difference = compare(pair, arguments.device, arguments.rounds)
            caffe = caffe_seconds(pair, arguments.rounds)
            rates = f"{pair.training_batch / ours:>16.1f}{pair.training_batch / by_hand:>10.1f}{by_hand / ours:>12.2f}"
            caffe_rate = f"{pair.training_batch / caffe:>10.1f}" if caffe else f"{'-':>10}"
            print(f"{pair.name:<12}{pair.training_batch:>6}{rates}{difference:>12.1e}{caffe_rate}", flush=True)


if __name__ == "__main__":
    main()
