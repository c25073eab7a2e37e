"""A table of nets and targets: whether each target takes a net's export, and how much the outputs differ.

A cell is the largest difference of an output relative to its spread. A number in parentheses is that of a reason below
the table: why the target refuses the net, or would without what the export rewrites for it.

python -m tests.targets.table                             nets of the catalogue with made-up weights, in all targets
python -m tests.targets.table --targets opencv5 lenet     some of both
python -m tests.targets.table --files FOLDER              nets below a folder: a prototxt with a caffemodel of its name
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from caffe_proto.errors import CaffeError
from converters.caffe import write_net as write_caffe
from converters.onnx.export import export_onnx
from converters.onnx.files import load_onnx
from converters.running import unreported, with_made_up_weights
from converters.targets.environment import install_target
from converters.targets.proving import prove_in_target, reader_of
from converters.targets.session import TOLERANCE
from converters.targets.target import TARGETS, Target
from netdsl.model.deploy.deploy_net import deploy_model
from netdsl.model.opening import open_model
from zoo.catalogue import names
from zoo.exporting import export

# Smaller images than the catalogue's, for nets that read images of any size.
_SIZES = {
    **dict.fromkeys(("fcn-32s", "fcn-16s", "fcn-8s", "hed"), (3, 160, 160)),
    "faster-rcnn-vgg16": (3, 240, 320),
}
_BATCHES = {"lrcn": 16}  # the frames of a clip
_SHOWN = 160  # characters of a reason
_TOOLS = ("pip", "setuptools")


def write_net(name: str, folder: Path) -> tuple[str, str]:
    """Write a net of the catalogue with made-up weights whose outputs aren't constant. Returns its two files."""
    sizes = {"data": _SIZES[name]} if name in _SIZES else {}
    deployed = deploy_model(open_model(name, deployed=True), shapes=sizes, batch=_BATCHES.get(name, 1))
    model = with_made_up_weights(deployed)
    net, weights = write_caffe(model, folder / f"{name}.prototxt")
    return str(net), str(weights)


def nets_below(folder: Path) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield the names and files of the nets below a folder."""
    for weights in sorted(folder.rglob("*.caffemodel")):
        if weights.with_suffix(".prototxt").is_file():
            yield (
                str(weights.relative_to(folder).with_suffix("")),
                (str(weights.with_suffix(".prototxt")), str(weights)),
            )


@dataclass(frozen=True)
class Outcome:
    """What a target makes of a net: the largest difference of its outputs, or why it doesn't agree. `before` is why it
    wouldn't agree without what an export rewrites for it."""

    difference: str = ""
    problem: str = ""
    before: str = ""

    @property
    def agrees(self) -> bool:
        """Whether the target computes the same outputs."""
        return not self.problem


def outcome_of(files: tuple[str, str], target: str, folder: Path) -> Outcome:
    """Export a net for a target, which runs it."""
    output = folder / ("out" if TARGETS[target].format == "caffe" else "out.onnx")
    try:
        exported = export(net=files[0], weights=(files[1],), runtime=target, output=str(output))
    except CaffeError as problem:
        differ = re.search(r"differ by (\S+) of their spread|have another shape, or aren't finite", str(problem))
        return Outcome((differ[1] or "their shape") if differ else "", _reason(str(problem), target))
    if TARGETS[target].program is None:
        return Outcome("fits")
    worst = max(proof.difference or 0 for proof in exported.proofs if target in proof.what)
    return Outcome(f"{worst:.0e}", before=_problem_before(files, TARGETS[target], folder))


def _problem_before(files: tuple[str, str], target: Target, folder: Path) -> str:
    """Return why a target doesn't agree about ONNX's usual form of a net, or nothing if it does or gets that form."""
    usual = msgspec.structs.replace(target, caffe_layers=(), misreads=())
    if target.format == "caffe" or reader_of(target) == reader_of(usual):
        return ""
    model = deploy_model(open_model(files[0], (files[1],), deployed=True))
    try:
        export_onnx(model, folder / "usual.onnx", opset=target.opset, verify=False)
        if load_onnx(folder / "usual.onnx").graph != load_onnx(folder / "out.onnx").graph:
            prove_in_target(model, usual, [folder / "usual.onnx"], TOLERANCE)
    except CaffeError as problem:
        return _reason(str(problem), target.name)
    return ""


def _reason(problem: str, target: str) -> str:
    """Return the part of an error that says what the target can't do."""
    text = " ".join(problem.split()).partition("; use another target")[0].partition("; choose another")[0]
    text = re.split(f"{re.escape(TARGETS[target].title)} (?:can't run |doesn't take the net: )", text)[-1]
    text = re.sub(r"^\S+\.(prototxt|onnx): ", "", re.sub(r"/\S+/", "", text))
    text = re.sub(r"node (#\d+ \S+|\[[^]]*\]:\S+)", "a node", text)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _print_table(nets: Mapping[str, Callable[[], tuple[str, str]]], targets: Sequence[str]) -> None:
    """Print a line for each net when it is known, and the reasons at the end."""
    print(f"| Net | {' | '.join(f'`{target}`' for target in targets)} |\n|---|{'---|' * len(targets)}", flush=True)
    reasons, agreeing = dict[str, int](), dict.fromkeys(targets, 0)
    for name, make in nets.items():
        with TemporaryDirectory() as folder:
            cells, files = [], make()
            for target in targets:
                outcome = outcome_of(files, target, Path(folder))
                agreeing[target] += outcome.agrees
                cell = outcome.difference if outcome.agrees else f"differs by {outcome.difference}"
                before = f"before rewriting: {outcome.before}" if outcome.before else ""
                refused = outcome.problem if not outcome.difference else ""
                reason = f"`{target}`: {refused or before}"
                number = f" ({reasons.setdefault(reason, len(reasons) + 1)})" if refused or before else ""
                cells.append((cell if outcome.difference else "refused") + number)
            print(f"| {name} | {' | '.join(cells)} |", flush=True)
    print(f"| agree, of {len(nets)} | {' | '.join(map(str, agreeing.values()))} |", flush=True)
    print("\n" + "\n".join(f"{number}. {reason}" for reason, number in reasons.items()))


def main() -> int:
    """Install the targets, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nets", nargs="*", help="by default the whole catalogue")
    parser.add_argument("--targets", nargs="+", default=sorted(TARGETS), choices=sorted(TARGETS))
    parser.add_argument("--files", type=Path, help="a folder of nets, in place of the catalogue's")
    options = parser.parse_args()
    print("| Target | Program | Versions |\n|---|---|---|")
    for name in options.targets:
        runs = TARGETS[name].program is not None
        versions = sorted(install_target(TARGETS[name], unreported).versions.items()) if runs else []
        shown = ", ".join(f"{package} {version}" for package, version in versions if package not in _TOOLS)
        shown = shown if runs else "only its rules are known"
        print(f"| `{name}` | {TARGETS[name].title} | {shown} |")
    print()
    with TemporaryDirectory() as folder:
        if options.files is not None:
            found = {name: (lambda files=files: files) for name, files in nets_below(options.files)}
        else:
            found = {name: (lambda name=name: write_net(name, Path(folder))) for name in options.nets or names()}
        _print_table(found, options.targets)
    return 0


if __name__ == "__main__":
    sys.exit(main())
