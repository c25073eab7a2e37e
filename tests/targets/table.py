"""A table of nets and targets: whether each target takes a net's export, and computes the same outputs.

python -m tests.targets.table                             nets of the catalogue with made-up weights, in all targets
python -m tests.targets.table --targets opencv5 lenet     some of both
python -m tests.targets.table --files FOLDER              nets below a folder: a prototxt with a caffemodel of its name
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from caffe_proto import CaffeFile, write
from caffe_proto.errors import CaffeError, LimitError
from converters.running import unreported
from converters.targets.environment import install_target
from converters.targets.target import TARGETS
from netdsl import Net
from netdsl.model.deploy.deploy_net import deploy_model
from netdsl.model.opening import open_model
from zoo.exporting import export

# Nets of the catalogue whose made-up weights compute in seconds.
NETS = (
    "lenet", "shapes", "mnist-autoencoder", "mnist-siamese", "cifar10-quick", "cifar10-full", "nin", "googlenet",
    "squeezenet-1.0", "squeezenet-1.1", "hed", "ssd-shapes", "ssd-300-mobilenet", "openpose-body", "char-rnn",
    "resnet-18", "resnet-34", "resnet-50", "cifar-resnet-20", "cifar-resnet-56", "densenet-121", "mobilenet-v1",
    "mobilenet-v2", "shufflenet",
)  # fmt: skip
_SHOWN = 160  # characters of a reason


def write_net(name: str, folder: Path) -> tuple[str, str]:
    """Write a net of the catalogue with made-up weights whose outputs aren't constant. Returns its two files."""
    deployed = deploy_model(open_model(name, deployed=True), batch=1)
    net = Net(deployed.net, phase="TEST")
    random, weights = np.random.default_rng(0), net.get_weights()
    for blob in (blob for blobs in weights.values() for blob in blobs):
        if blob.size == max(blob.shape, default=1):  # a bias, a factor or a statistic
            blob[...] = random.uniform(0.3, 0.7, blob.shape)
        else:
            spread = (1.6 if blob.ndim > 2 else 0.2) / np.prod(blob.shape[1:])
            blob[...] = random.normal(0, spread**0.5, blob.shape)
    net.set_weights(weights)
    files = str(folder / f"{name}.prototxt"), str(folder / f"{name}.caffemodel")
    net.save(files[1])
    write(CaffeFile(deployed.net), files[0])
    return files


def nets_below(folder: Path) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield the names and files of the nets below a folder."""
    for weights in sorted(folder.rglob("*.caffemodel")):
        if weights.with_suffix(".prototxt").is_file():
            yield (
                str(weights.relative_to(folder).with_suffix("")),
                (str(weights.with_suffix(".prototxt")), str(weights)),
            )


def outcome_of(files: tuple[str, str], target: str, folder: Path) -> tuple[str, str]:
    """Export a net for a target. Returns what a cell of the table says, and the reason if the target doesn't agree."""
    output = folder / ("out" if TARGETS[target].format == "caffe" else "out.onnx")
    try:
        exported = export(net=files[0], weights=(files[1],), runtime=target, output=str(output))
    except CaffeError as problem:
        reason = " ".join(str(problem).split()).partition(": ")[2]
        differ = re.search(r"differ by (\S+) of their spread", reason)
        if differ:
            return f"differs: {differ[1]}", reason[:_SHOWN]
        return ("too slow" if isinstance(problem, LimitError) else "refused"), reason[:_SHOWN]
    own = " with its own operators" if exported.notes else ""
    return f"agrees: {exported.proofs[-1].difference:.0e}{own}", ""


def _print_table(nets: dict[str, Callable[[], tuple[str, str]]], targets: Sequence[str]) -> None:
    """Print a line for each net when it is known, and the reasons at the end."""
    print(f"| Net | {' | '.join(targets)} |\n|---|{'---|' * len(targets)}", flush=True)
    reasons = []
    for name, make in nets.items():
        with TemporaryDirectory() as folder:
            cells = []
            files = make()
            for target in targets:
                cell, reason = outcome_of(files, target, Path(folder))
                if reason:
                    reasons.append(f"{len(reasons) + 1}. {name} in {target}: {reason}")
                    cell += f" ({len(reasons)})"
                cells.append(cell)
            print(f"| {name} | {' | '.join(cells)} |", flush=True)
    print("\n" + "\n".join(reasons))


def main() -> int:
    """Install the targets, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nets", nargs="*", help="by default all that compute in seconds")
    parser.add_argument("--targets", nargs="+", default=sorted(TARGETS), choices=sorted(TARGETS))
    parser.add_argument("--files", type=Path, help="a folder of nets, in place of the catalogue's")
    options = parser.parse_args()
    for name in options.targets:
        versions = install_target(TARGETS[name], unreported).versions
        print(
            f"{name}: {', '.join(f'{package} {version}' for package, version in sorted(versions.items()))}",
            file=sys.stderr,
        )
    with TemporaryDirectory() as folder:
        if options.files is not None:
            found = {name: (lambda files=files: files) for name, files in nets_below(options.files)}
        else:
            found = {name: (lambda name=name: write_net(name, Path(folder))) for name in options.nets or NETS}
        _print_table(found, options.targets)
    return 0


if __name__ == "__main__":
    sys.exit(main())
