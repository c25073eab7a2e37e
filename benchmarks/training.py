"""Compares training steps of nets with hand-written torch versions with the same weights, in one run.

A step is a forward pass in the TRAIN phase, a backward pass, and an update of the weights with momentum and decay.
netdsl runs an iteration of its solver, as users run it. It also runs a plain one, without the rule for the layout of
images on a CPU and without a CUDA graph on a GPU. The hand-written nets are timed in both layouts, and the ratio is to
the faster one. All take turns. The loss and the gradients of a step without dropout are compared first. The target is a
ratio of 1.03. With `--compiled`, torch compiles the hand-written nets. The share of the roofline is the least time that
the step could take, relative to its time. The least time follows from the machine's speed in a product of large
matrices and in a long copy.
"""

from __future__ import annotations

import argparse
import copy
from dataclasses import dataclass, replace
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.nets import NetPair, chosen_pairs
from benchmarks.nets.by_hand import LAYOUTS, ByHand, in_layout, load_by_hand
from benchmarks.roofline import Ceiling, least_seconds, measure_ceiling
from benchmarks.timing import max_difference, time_in_turn
from caffe_proto import caffe_pb2 as pb
from netdsl import Net, NetParams, RDDLayer, SoftmaxWithLoss
from netdsl.net.compute_precision import ComputePrecision, products_of
from netdsl.net.graph import Phase
from netdsl.net.module import NetModule
from netdsl.solver.solver import Solver
from netdsl.solver.trainable_net import Compute, ModuleNet

_UNTIL_RECORDED = 4  # steps; a GPU repeats later ones from a recording
RATE, MOMENTUM, DECAY = 1e-6, 0.9, 5e-4  # the rate is small because the data are noise


def train_val(params: NetParams, batch: int) -> pb.NetParameter:
    """Return the net with a loss in place of its probabilities."""
    net = copy.deepcopy(params.message)
    scores = net.layer.pop().bottom[0]
    net.layer.insert(0, RDDLayer("label", shape=[batch]))
    net.layer.append(SoftmaxWithLoss("loss", [scores, "label"]))
    return net


class NetdslTraining:
    """A net with netdsl's solver, which iterates as it does for users."""

    def __init__(self, module: NetModule, batch: dict[str, Tensor], compute: Compute) -> None:
        self.module, self._channels_last = module, module.channels_last
        net = ModuleNet(module, lambda: module.edges_of(**batch), compute)
        param = pb.SolverParameter(
            type="SGD", base_lr=RATE, lr_policy="fixed", momentum=MOMENTUM, weight_decay=DECAY, max_iter=10**9
        )
        self.solver = Solver(param, net)

    def step(self, *, plain: bool) -> None:
        """Train for one iteration."""
        self.module.channels_last = self._channels_last and not plain
        self.solver.on_gradients_ready[:] = [_nothing] if plain else []  # a listener prevents the use of a CUDA graph
        self.solver.iterate()

    def loss(self) -> Tensor:
        """Return the loss. Its gradients are stored in the blobs."""
        self.solver.updater.gradients.clear()
        return self.solver.net.forward_backward()


class TorchTraining:
    """A hand-written net with a hand-written loop and torch's optimizer."""

    def __init__(self, module: ByHand, batch: dict[str, Tensor], compute: Compute) -> None:
        self.module, self._batch, self._compute = module, batch, compute
        self._forward = torch.compile(self._loss, dynamic=False) if compute.compiled else self._loss
        self._optimizer = torch.optim.SGD(module.parameters(), RATE, MOMENTUM, weight_decay=DECAY, fused=True)

    def _loss(self) -> Tensor:
        return F.cross_entropy(self.module.scores(self._batch["data"]).flatten(1), self._batch["label"])

    def step(self) -> None:
        """Train for one iteration."""
        self.loss()
        self._optimizer.step()

    def loss(self) -> Tensor:
        """Return the loss. Its gradients are stored in the parameters."""
        half = self._compute.precision.half
        self._optimizer.zero_grad()
        with products_of(self._compute.precision):
            with torch.autocast(self._compute.device.type, half or torch.bfloat16, enabled=half is not None):
                loss = self._forward()
            loss.backward()
        return loss.detach()


def _nothing() -> None:
    """Do nothing. A registered listener prevents the use of a CUDA graph."""


def gradient_norm(module: nn.Module) -> Tensor:
    """Return the Euclidean norm of all gradients."""
    gradients = [parameter.grad for parameter in module.parameters() if parameter.grad is not None]
    return torch.stack([gradient.double().square().sum() for gradient in gradients]).sum().sqrt()


@dataclass(frozen=True)
class TrainingTimes:
    """The median seconds of a step of netdsl's net and of the hand-written ones, one for each of `LAYOUTS`.

    `plain` is the time of netdsl's net without its rule for layouts and without a CUDA graph. `least` is the least time
    on this machine. `difference` is the largest difference of losses and relative difference of gradient norms.
    """

    ours: float
    plain: float
    by_hand: tuple[float, ...]
    least: float
    difference: float


def compare(pair: NetPair, compute: Compute, ceiling: Ceiling, rounds: int) -> TrainingTimes:
    """Time all nets in turn. If the hand-written nets are compiled, netdsl still runs as users run it."""
    net = Net(train_val(pair.params(pair.training_batch), pair.training_batch), phase=Phase.TRAIN)
    batch = {
        "data": torch.randn(pair.training_batch, *pair.image),
        "label": torch.randint(10, (pair.training_batch,)),
    }
    with torch.no_grad():
        net.module(**batch)  # so that batch normalizations have statistics
    batch = {name: values.to(compute.device) for name, values in batch.items()}
    theirs = [_by_hand(pair, net, batch, compute, layout) for layout in LAYOUTS]
    module = net.to(compute.device).module
    least = least_seconds(module.built, str(compute.device), ceiling)
    ours = NetdslTraining(module, batch, replace(compute, compiled=False))
    difference = max(_difference(ours, each) for each in theirs)

    own = [partial(ours.step, plain=plain) for plain in (False, True)]
    for _ in range(_UNTIL_RECORDED):
        ours.step(plain=False)
    seconds, plain, *others = time_in_turn([*own, *(each.step for each in theirs)], rounds)
    return TrainingTimes(seconds, plain, tuple(others), least, difference)


def _by_hand(
    pair: NetPair, net: Net, batch: dict[str, Tensor], compute: Compute, layout: torch.memory_format
) -> TorchTraining:
    module = pair.by_hand().train()
    load_by_hand(net, module)
    module = module.to(compute.device, memory_format=layout)
    return TorchTraining(module, {**batch, "data": in_layout(batch["data"], layout)}, compute)


def _difference(ours: NetdslTraining, theirs: TorchTraining) -> float:
    """Return the difference in evaluation mode, in which nothing is random."""
    ours.module.eval()
    theirs.module.eval()
    losses = ours.loss(), theirs.loss()
    scale = 1.0 if ours.solver.net.loss_scale is None else ours.solver.net.loss_scale.numbers()[0]
    lengths = gradient_norm(ours.module) / scale, gradient_norm(theirs.module)
    ours.module.train()
    theirs.module.train()
    return max(max_difference(losses[0], losses[1]), max_difference(lengths[0], lengths[1]) / lengths[1].item())


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", choices=[each.value for each in ComputePrecision], default="exact")
    parser.add_argument("--compiled", action="store_true", help="compile the hand-written nets with torch")
    parser.add_argument("nets", nargs="*")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    compute = Compute(torch.device(arguments.device), ComputePrecision(arguments.precision), arguments.compiled)
    with products_of(compute.precision):
        ceiling = measure_ceiling(arguments.device, compute.precision.half or torch.float32)
    rates = f"{ceiling.flops / 1e12:,.3f} TFLOP/s and {ceiling.bandwidth / 1e9:,.0f} GB/s"
    print(f"{arguments.precision}, at most {rates}")
    by_hand = "compiled" if compute.compiled else "by hand"
    columns = f"{'ours, ms':>10}{'plain':>10}{by_hand:>10}{'last':>10}{'ratio':>8}{'of roofline':>12}{'differ by':>12}"
    print(f"{'net':<12}{'batch':>6}{columns}{'images/s':>10}")
    for pair in chosen_pairs(arguments.nets):
        try:
            row = _row(pair, compare(pair, compute, ceiling, arguments.rounds))
        except RuntimeError as problem:
            if not compute.compiled:
                raise
            row = f"{pair.name:<12}torch can't compile this net here: {str(problem).splitlines()[0]}"
        print(row, flush=True)


def _row(pair: NetPair, times: TrainingTimes) -> str:
    milliseconds = "".join(f"{1000 * each:>10.1f}" for each in (times.ours, times.plain, *times.by_hand))
    shares = f"{times.ours / min(times.by_hand):>8.2f}{times.least / times.ours:>12.0%}{times.difference:>12.1e}"
    return f"{pair.name:<12}{pair.training_batch:>6}{milliseconds}{shares}{pair.training_batch / times.ours:>10.1f}"


if __name__ == "__main__":
    main()
