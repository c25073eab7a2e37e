"""The forward pass of six nets beside the same nets written by hand in torch with the same weights, in one run.

Both are timed alternately, and their outputs are compared first. The target is a ratio of 1.03.
"""

from __future__ import annotations

import argparse

import torch
from torch import Tensor

from benchmarks.nets import PAIRS, NetPair
from benchmarks.nets.by_hand import load_by_hand
from benchmarks.timing import max_difference, time_alternately
from netdsl import Net


def take_statistics(net: Net, x: Tensor) -> None:
    """Give batch normalisations the statistics of a batch, as after training; initial ones would divide by zero."""
    net.module.train()
    with torch.no_grad():
        net.module(x)
    net.module.eval()


def compare(pair: NetPair, device: str, rounds: int) -> tuple[float, float, float]:
    """The median seconds of netdsl's net and of the one by hand, and the difference of their outputs."""
    net = Net(pair.params(pair.batch))
    take_statistics(net, torch.randn(pair.batch, *pair.image))
    by_hand = pair.by_hand().eval()
    load_by_hand(net, by_hand)
    ours, by_hand = net.to(device).module, by_hand.to(device)
    x = torch.randn(pair.batch, *pair.image, device=device)
    with torch.inference_mode():
        difference = max_difference(ours(x)["prob"], by_hand(x))
        return *time_alternately(lambda: ours(x), lambda: by_hand(x), rounds), difference


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=16)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("nets", nargs="*")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    print(f"{'net':<12}{'batch':>6}{'ours, ms':>10}{'by hand':>10}{'ratio':>8}{'outputs differ by':>20}")
    for pair in PAIRS:
        if not arguments.nets or pair.name in arguments.nets:
            ours, by_hand, difference = compare(pair, arguments.device, arguments.rounds)
            times = f"{ours * 1000:>10.1f}{by_hand * 1000:>10.1f}{ours / by_hand:>8.2f}"
            print(f"{pair.name:<12}{pair.batch:>6}{times}{difference:>20.1e}", flush=True)


if __name__ == "__main__":
    main()
