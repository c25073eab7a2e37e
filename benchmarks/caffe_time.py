"""Compares passes of nets with those of a Caffe program, in one run: `make bench CAFFE=/path/to/caffe`.

Both run the same net forward and backward in the TRAIN phase, without an update, and take turns. The program runs as
`caffe time`, each time in a separate process that prints the mean time of some passes. The time that Caffe needs to
start isn't counted. The target is a ratio of 0.5 for LeNet, AlexNet and GoogLeNet. The last column is the ratio that
netdsl would reach if its products ran at the speed of large matrices and all else took no time.
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from benchmarks.nets import NetPair, chosen_pairs
from benchmarks.roofline import Ceiling, least_product_seconds, measure_ceiling
from benchmarks.timing import seconds
from benchmarks.training import train_val
from caffe_proto import caffe_pb2 as pb
from caffe_proto.text.prototxt import text_of
from netdsl import Net
from netdsl.net.graph import Phase

ITERATIONS = 5  # the number of passes in each run of `caffe time`


def caffe_seconds(caffe: str, net: pb.NetParameter) -> float:
    """Return the seconds that a Caffe program reports for a forward and a backward pass."""
    with TemporaryDirectory() as folder:
        file = Path(folder, "net.prototxt")
        file.write_text(text_of(net))
        command = [caffe, "time", f"--model={file}", f"--iterations={ITERATIONS}"]
        ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    passes = re.findall(r"Average (?:Forward|Backward) pass: (\S+) ms", ended.stdout)
    if ended.returncode or len(passes) != 2:
        raise SystemExit(f"'{' '.join(command)}' doesn't print the time of a pass:\n{ended.stdout[-2000:]}")
    return sum(map(float, passes)) / 1000


def compare(pair: NetPair, caffe: str, rounds: int, ceiling: Ceiling) -> tuple[float, float, float]:
    """Return the median seconds of netdsl's passes and of Caffe's, and the least seconds that netdsl's products
    need."""
    message = train_val(pair.params(pair.training_batch), pair.training_batch)
    net = Net(message, phase=Phase.TRAIN)
    inputs = {"data": torch.randn(pair.training_batch, *pair.image), "label": torch.randint(10, (pair.training_batch,))}

    def run() -> None:
        net.module.zero_grad()
        net.module(**inputs)["loss"].backward()

    run()
    ours, theirs = [], []
    for _ in range(rounds):
        ours += [seconds(run) for _ in range(ITERATIONS)]
        theirs.append(caffe_seconds(caffe, message))
    least = least_product_seconds(net.module.built, "cpu", ceiling)
    return statistics.median(ours), statistics.median(theirs), least


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("caffe", help="the Caffe program")
    parser.add_argument("nets", nargs="*")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    ceiling = measure_ceiling("cpu", torch.float32)
    print(f"at most {ceiling.flops / 1e12:.3f} TFLOP/s")
    print(f"{'net':<12}{'batch':>6}{'ours, ms':>10}{'Caffe':>10}{'ratio':>8}{'at least':>10}")
    for pair in chosen_pairs(arguments.nets):
        ours, theirs, least = compare(pair, arguments.caffe, arguments.rounds, ceiling)
        times = f"{1000 * ours:>10.1f}{1000 * theirs:>10.1f}{ours / theirs:>8.2f}{least / theirs:>10.2f}"
        print(f"{pair.name:<12}{pair.training_batch:>6}{times}", flush=True)


if __name__ == "__main__":
    main()
