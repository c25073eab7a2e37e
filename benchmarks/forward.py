"""The forward pass of five nets beside the same nets written by hand in torch, with the same weights, in one run.

The two are timed in turn, and their outputs are compared first. The target is a ratio of 1.03.
"""

from __future__ import annotations

import argparse
import statistics
import time

import torch
from torch import Tensor, nn

from benchmarks.nets import PAIRS, ConvBN, Pair
from netdsl import Net


def load_by_hand(net: Net, module: nn.Module) -> None:
    """Give the module by hand the weights of ours; both call their layers alike."""
    weights = net.get_weights()
    for path, part in module.named_modules():
        name = path.rpartition(".")[2]
        if isinstance(part, ConvBN):
            _load_conv_bn(
                part, [torch.from_numpy(array) for key in ("", "bn_", "scale_") for array in weights[key + name]]
            )
        elif name in weights:
            for target, array in zip(part.parameters(), weights[name], strict=True):
                target.data.copy_(torch.from_numpy(array))


def _load_conv_bn(part: ConvBN, arrays: list[Tensor]) -> None:
    weight, mean, variance, factor, gamma, beta = arrays
    part.conv.weight.data.copy_(weight)
    divisor = factor if factor.item() else torch.ones(1)
    part.norm.running_mean.copy_(mean / divisor)
    part.norm.running_var.copy_(variance / divisor)
    part.norm.weight.data.copy_(gamma)
    part.norm.bias.data.copy_(beta)


def randomise_statistics(net: Net) -> None:
    """Batch normalisation with sums as after training; fresh ones would divide by nothing."""
    for layer in net.module.built.layers:
        for buffer in layer.buffers():
            buffer.copy_(torch.ones_like(buffer) if buffer.numel() == 1 else torch.rand_like(buffer) + 0.5)


def seconds(module: nn.Module, x: Tensor) -> float:
    """One forward pass."""
    synchronise(x)
    start = time.perf_counter()
    module(x)
    synchronise(x)
    return time.perf_counter() - start


def synchronise(x: Tensor) -> None:
    """Wait for a GPU."""
    if x.is_cuda:
        torch.cuda.synchronize()


def compare(pair: Pair, device: str, rounds: int) -> tuple[float, float, float]:
    """Median seconds of ours and of the one by hand, and how far their outputs are apart."""
    net = Net(pair.params(pair.batch))
    randomise_statistics(net)
    by_hand = pair.by_hand().eval()
    load_by_hand(net, by_hand)
    ours, by_hand = net.to(device).module, by_hand.to(device)
    x = torch.randn(pair.batch, *pair.image, device=device)
    with torch.inference_mode():
        gap = (next(iter(ours(x).values())) - by_hand(x)).abs().max().item()
        runs = [(seconds(ours, x), seconds(by_hand, x)) for _ in range(rounds)]
    return statistics.median(run[0] for run in runs), statistics.median(run[1] for run in runs), gap


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("nets", nargs="*")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    print(f"{'net':<12}{'batch':>6}{'ours, ms':>10}{'by hand':>10}{'ratio':>8}{'outputs differ by':>20}")
    for pair in PAIRS:
        if not arguments.nets or pair.name in arguments.nets:
            ours, by_hand, gap = compare(pair, arguments.device, arguments.rounds)
            times = f"{ours * 1000:>10.1f}{by_hand * 1000:>10.1f}{ours / by_hand:>8.2f}"
            print(f"{pair.name:<12}{pair.batch:>6}{times}{gap:>20.1e}", flush=True)


if __name__ == "__main__":
    main()
