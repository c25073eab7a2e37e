"""Training steps of nets beside the same nets written by hand in torch with the same weights, in one run.

A step is a forward pass in the TRAIN phase, a backward pass, and an update of the weights with momentum and decay.
Both are timed alternately; the loss and the gradients of a step without dropout are compared first. With `--compiled`
torch compiles the nets by hand. The share of the roofline is the time that the step would take at least, by what the
machine reaches in a product of large matrices and in a long copy. If pycaffe is installed, Caffe's own solver is timed
too.
"""

from __future__ import annotations

import argparse
import copy
import statistics
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.nets import PAIRS, NetPair
from benchmarks.nets.by_hand import ByHand, load_by_hand
from benchmarks.roofline import Ceiling, least_seconds, measure_ceiling
from benchmarks.timing import max_difference, seconds, time_alternately
from caffe_proto import caffe_pb2 as pb
from caffe_proto.text.prototxt import text_of
from netdsl import Net, NetParams, RDDLayer, SoftmaxWithLoss
from netdsl.net.compute_precision import ComputePrecision, products_of
from netdsl.net.graph import Phase
from netdsl.net.module import NetModule
from netdsl.solver.module_net import Compute, ModuleOnBatches
from netdsl.solver.solver import Solver

RATE, MOMENTUM, DECAY = 1e-6, 0.9, 5e-4  # a small rate, since the data are noise
DEFAULT_NETS = ("LeNet", "AlexNet", "CaffeNet", "GoogLeNet")


def train_val(params: NetParams, batch: int) -> pb.NetParameter:
    """The net with a loss in place of its probabilities."""
    net = copy.deepcopy(params.message)
    scores = net.layer.pop().bottom[0]
    net.layer.insert(0, RDDLayer("label", shape=[batch]))
    net.layer.append(SoftmaxWithLoss("loss", [scores, "label"]))
    return net


class Ours:
    """A net with netdsl's solver, whose iterations are what users run."""

    def __init__(self, module: NetModule, batch: dict[str, Tensor], compute: Compute) -> None:
        self.module = module
        net = ModuleOnBatches(module, lambda: module.edges_of(**batch), compute)
        param = pb.SolverParameter(
            type="SGD", base_lr=RATE, lr_policy="fixed", momentum=MOMENTUM, weight_decay=DECAY, max_iter=10**9
        )
        self.solver = Solver(param, net)

    def step(self) -> None:
        """Train for an iteration."""
        self.solver.iterate()

    def loss(self) -> Tensor:
        """The loss, whose gradients are in the blobs."""
        self.solver.updater.gradients.clear()
        return self.solver.net.forward_backward()


class Theirs:
    """A net by hand with a loop by hand and torch's optimiser."""

    def __init__(self, module: ByHand, batch: dict[str, Tensor], compute: Compute) -> None:
        self.module, self._batch, self._compute = module, batch, compute
        self._forward = torch.compile(self._loss) if compute.compiled else self._loss
        self._optimizer = torch.optim.SGD(module.parameters(), RATE, MOMENTUM, weight_decay=DECAY, fused=True)

    def _loss(self) -> Tensor:
        return F.cross_entropy(self.module.scores(self._batch["data"]), self._batch["label"])

    def step(self) -> None:
        """Train for an iteration."""
        self.loss()
        self._optimizer.step()

    def loss(self) -> Tensor:
        """The loss, whose gradients are in the parameters."""
        half = self._compute.precision.half
        self._optimizer.zero_grad()
        with products_of(self._compute.precision):
            with torch.autocast(self._compute.device.type, half or torch.bfloat16, enabled=half is not None):
                loss = self._forward()
            loss.backward()
        return loss.detach()


def gradient_norm(module: nn.Module) -> Tensor:
    """The norm of all gradients."""
    gradients = [parameter.grad for parameter in module.parameters() if parameter.grad is not None]
    return torch.stack([gradient.double().square().sum() for gradient in gradients]).sum().sqrt()


@dataclass(frozen=True)
class Comparison:
    """The median seconds of a step of netdsl's net and of the one by hand, and the least that the machine could take.

    `difference` is the relative one of their gradients.
    """

    ours: float
    theirs: float
    least: float
    difference: float


def compare(pair: NetPair, compute: Compute, ceiling: Ceiling, rounds: int) -> Comparison:
    """Time both nets. If the net by hand is compiled, netdsl's is run as users run it."""
    net = Net(train_val(pair.params(pair.training_batch), pair.training_batch), phase=Phase.TRAIN)
    by_hand = pair.by_hand().train()
    load_by_hand(net, by_hand)
    module, by_hand = net.to(compute.device).module, by_hand.to(compute.device)
    half = compute.precision.half
    least = least_seconds(module.built, str(compute.device), ceiling, 0.5 if half is not None else 1.0)
    batch = {
        "data": torch.randn(pair.training_batch, *pair.image, device=compute.device),
        "label": torch.randint(10, (pair.training_batch,), device=compute.device),
    }
    ours, theirs = Ours(module, batch, replace(compute, compiled=False)), Theirs(by_hand, batch, compute)
    difference = _difference(ours, theirs)
    return Comparison(*time_alternately(ours.step, theirs.step, rounds), least, difference)


def _difference(ours: Ours, theirs: Theirs) -> float:
    """The difference in evaluation mode, where nothing is random."""
    ours.module.eval()
    theirs.module.eval()
    losses = ours.loss(), theirs.loss()
    scale = 1.0 if ours.solver.net.loss_scale is None else ours.solver.net.loss_scale.numbers()[0]
    lengths = gradient_norm(ours.module) / scale, gradient_norm(theirs.module)
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
    parser.add_argument("--precision", choices=[each.value for each in ComputePrecision], default="exact")
    parser.add_argument("--compiled", action="store_true", help="let torch compile the nets by hand")
    parser.add_argument("nets", nargs="*", default=DEFAULT_NETS)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    compute = Compute(torch.device(arguments.device), ComputePrecision(arguments.precision), arguments.compiled)
    with products_of(compute.precision):
        ceiling = measure_ceiling(arguments.device, compute.precision.half or torch.float32)
    rates = f"{ceiling.flops / 1e12:,.3f} TFLOP/s and {ceiling.bandwidth / 1e9:,.0f} GB/s"
    print(f"{arguments.precision}, at most {rates}")
    by_hand = "compiled" if compute.compiled else "by hand"
    columns = f"{'ours, images/s':>16}{by_hand:>10}{'speed ratio':>12}{'of roofline':>12}{'differ by':>12}{'Caffe':>10}"
    print(f"{'net':<12}{'batch':>6}{columns}")
    for pair in PAIRS:
        if pair.name in arguments.nets:
            try:
                row = _row(pair, compare(pair, compute, ceiling, arguments.rounds), arguments.rounds)
            except RuntimeError as problem:
                if not compute.compiled:
                    raise
                row = f"{pair.name:<12}torch can't compile it here: {str(problem).splitlines()[0]}"
            print(row, flush=True)


def _row(pair: NetPair, found: Comparison, rounds: int) -> str:
    images, caffe = pair.training_batch, caffe_seconds(pair, rounds)
    rates = f"{images / found.ours:>16.1f}{images / found.theirs:>10.1f}{found.theirs / found.ours:>12.2f}"
    caffe_rate = f"{images / caffe:>10.1f}" if caffe else f"{'-':>10}"
    return f"{pair.name:<12}{images:>6}{rates}{found.least / found.ours:>12.0%}{found.difference:>12.1e}{caffe_rate}"


if __name__ == "__main__":
    main()
