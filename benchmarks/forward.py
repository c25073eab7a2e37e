"""Compares the forward pass of six nets with hand-written torch versions with the same weights, in one run.

netdsl is timed with and without its rule for the layout of images. The hand-written nets are timed with channels first
and with channels last, and the ratio is to the faster one. All take turns, and their outputs are compared first. The
target is a ratio of 1.03.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from benchmarks.nets import NetPair, chosen_pairs
from benchmarks.nets.by_hand import LAYOUTS, in_layout, load_by_hand
from benchmarks.timing import max_difference, time_in_turn
from netdsl import Net
from netdsl.net.compute_precision import ComputePrecision, products_of


def take_statistics(net: Net, x: Tensor) -> None:
    """Set the statistics of batch normalizations to those of a batch, as after training. The initial ones would divide
    by zero."""
    net.module.train()
    with torch.no_grad():
        net.module(x)
    net.module.eval()


@dataclass(frozen=True)
class ForwardTimes:
    """The median seconds of netdsl's net and of the hand-written ones, one for each of `LAYOUTS`, and the outputs'
    difference.

    `channels_first` is the time of netdsl's net without its rule for layouts.
    """

    ours: float
    channels_first: float
    by_hand: tuple[float, ...]
    difference: float


def compare(pair: NetPair, device: torch.device, precision: ComputePrecision, rounds: int) -> ForwardTimes:
    """Time a net and its hand-written versions in turn."""
    net = Net(pair.params(pair.batch))
    take_statistics(net, torch.randn(pair.batch, *pair.image))
    peers = [pair.by_hand().eval() for _ in LAYOUTS]
    for peer in peers:
        load_by_hand(net, peer)
    ours, x = net.to(device).module, torch.randn(pair.batch, *pair.image, device=device)
    tasks = [
        partial(peer.to(device, memory_format=layout), in_layout(x, layout))
        for peer, layout in zip(peers, LAYOUTS, strict=True)
    ]

    def run(channels_last: bool) -> Tensor:
        ours.channels_last = channels_last
        return ours(x)["prob"]

    own = [partial(run, channels_last) for channels_last in (ours.channels_last, False)]
    half = precision.half
    halves = torch.autocast(device.type, half or torch.bfloat16, enabled=half is not None)
    with torch.inference_mode(), products_of(precision), halves:
        difference = max(max_difference(own[0](), task()) for task in tasks)
        seconds, first, *others = time_in_turn([*own, *tasks], rounds)
    return ForwardTimes(seconds, first, tuple(others), difference)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=16)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", choices=[each.value for each in ComputePrecision], default="exact")
    parser.add_argument("nets", nargs="*")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    device, precision = torch.device(arguments.device), ComputePrecision(arguments.precision)
    columns = f"{'ours, ms':>10}{'first':>10}{'by hand':>10}{'last':>10}{'ratio':>8}{'outputs differ by':>20}"
    print(f"{precision.value}\n{'net':<12}{'batch':>6}{columns}")
    for pair in chosen_pairs(arguments.nets):
        times = compare(pair, device, precision, arguments.rounds)
        milliseconds = "".join(f"{1000 * each:>10.1f}" for each in (times.ours, times.channels_first, *times.by_hand))
        ratio = f"{times.ours / min(times.by_hand):>8.2f}"
        print(f"{pair.name:<12}{pair.batch:>6}{milliseconds}{ratio}{times.difference:>20.1e}", flush=True)


if __name__ == "__main__":
    main()
