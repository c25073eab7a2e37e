"""Requests to show, check and repair Caffe's files."""

from __future__ import annotations

from typing import Literal

from zoo.requests.groups import (
    AboutNet,
    AssumesShapes,
    InStages,
    Lenient,
    OfDialect,
    StubsUnknown,
    WithPython,
    target_names,
)
from zoo.requests.request import RequestError, argument, option, request


@request
class ShowRequest(AssumesShapes, InStages, StubsUnknown, WithPython, Lenient, OfDialect):
    """Show the contents of files: the layers of a net with their settings, shapes and parameters; the blobs of weights,
    of a solver state or of a mean; the settings of a solver.

    With --shapes, show the shapes of a net's blobs in each of the net's phases. The options about nets need --shapes.
    """

    files: tuple[str, ...] = argument("FILE...", address="read")
    shapes: bool = option("Show the shapes of a net's blobs instead.", default=False)

    def check(self) -> None:
        """Refuse options about shapes without --shapes."""
        if not self.shapes and (self.assume or self.stages or self.stub_unknown):
            raise RequestError("--assume, --stage and --stub-unknown need --shapes; add it, or leave them out")


@request
class DrawRequest(AboutNet):
    """Draw a net as a graph. Each layer is a box with its settings and the shapes of its tops, colored by kind; a
    legend explains the colors. A layer that could work in place, such as ReLU or BatchNorm, is drawn inside the box of
    the layer before it, unless another layer needs the values before the change.

    For nets with thousands of layers, choose SVG: any browser can show and search it.
    """

    net: str = argument("NET", address="read")
    output: str | None = option(
        "File to write, .svg or .png; by default NET.svg in the current folder.",
        default=None,
        short="o",
        metavar="FILE",
        address="write",
    )
    phase: Literal["TEST", "TRAIN"] | None = option(
        "Phase to draw; by default TEST, or TRAIN for a net without a TEST phase.", default=None
    )
    direction: Literal["down", "right"] = option("Direction of the data flow.", default="down")


@request
class CheckRequest(AssumesShapes, InStages, StubsUnknown, AboutNet):
    """Check nets: each must parse, use only known layer types, be connected in all of its phases, and have shapes that
    fit. The exit code is 1 if a net fails.

    For a solver's file, check all that its training needs, each with its own verdict: the settings, the nets with their
    data and means, the weights, and the folder for snapshots. The exit code is 1 if a part is missing or wrong.

    If a net doesn't set the shape of its data, the command tries typical shapes and prints the one that fits. It does
    the same for batch sizes if a net accepts only multiples of some number. Settings that mean different things in
    different forks of Caffe are reported. Only the first item of the data is read. A net whose data can't be found here
    isn't called good, but doesn't change the exit code. Neither do parts that work here and that Caffe refuses or
    computes differently; the command reports them too.

    Several files are checked in a separate process. A file that exceeds its limits of time and memory, or that ends the
    process, fails alone. NETDSL_LIMITS sets the limit of memory, as in process-memory=16G.

    With --for, a net that is good is also exported for a program such as OpenCV, with made-up weights, and run there.
    So you know before a training whether the program takes the net.

    With --data, the data layers of each net's TRAIN phase get made-up files to read, in a temporary folder: databases,
    lists of images, whole data sets. The command reads a batch as training does, and computes its loss and gradients. A
    folder then stands for all nets in it and below. The exit code is 1 if a net with a loss doesn't get that far.
    """

    files: tuple[str, ...] = argument("FILE...", address="read")
    run: bool = option("Also run each net forward once, on small random input.", default=False)
    data: bool = option("Try each net's training on made-up data instead.", default=False)
    runtime: str | None = option(
        "Also export the nets with made-up weights, and run them in this target, as `zoo export --for` does.",
        default=None, name="for", names=target_names,
    )  # fmt: skip
    forward_only: bool = option("With --data: don't compute gradients.", default=False)
    batch: int = option(
        "With --data: maximum number of items in a batch, if the net accepts that many.",
        default=2,
        least=1,
        metavar="N",
    )
    seconds: float = option(
        "With --data, or several files: time limit for one file.", default=600, above=0, metavar="S"
    )

    def check(self) -> None:
        """Refuse a target together with training."""
        if self.data and self.runtime is not None:
            raise RequestError("--for runs deployed nets, and --data trains; leave one of them out")


@request
class DiffRequest(Lenient, OfDialect):
    """Compare A and B: their layers, their settings and the values of every blob. Old files are upgraded to the current
    format first. The exit code is 1 if anything differs."""

    first: str = argument("A", address="read")
    second: str = argument("B", address="read")
    as_written: bool = option("Compare old files without an upgrade.", default=False)


@request
class FormatRequest(Lenient):
    """Format prototxt files with two spaces of indentation, one field per line and double quotes. The order of fields
    and the comments are kept. With `-`, format standard input and print it."""

    files: tuple[str, ...] = argument("FILE...")
    check_only: bool = option("Change nothing; exit with 1 if a file would change.", default=False, name="check")


@request
class UpgradeRequest(Lenient, OfDialect):
    """Upgrade an old net or solver to the current format, as Caffe's own tools do: V0 and V1 layers, data
    transformations, inputs, BatchNorm's parameters, solver types. If a part can't be upgraded, nothing is written.

    Without OUTPUT, a prototxt is printed. The list of changes goes to standard error.
    """

    file: str = argument("FILE", address="read")
    output: str | None = argument("[OUTPUT]", default=None, address="write")
    in_place: bool = option("Replace FILE with the result.", default=False)

    def check(self) -> None:
        """Refuse two destinations for the result, and an address as a destination."""
        if self.in_place and "://" in self.file:
            raise RequestError("--in-place replaces only files on this machine; give OUTPUT instead", "file")
        if self.in_place and self.output:
            raise RequestError("OUTPUT and --in-place both name the result's file; remove OUTPUT, or remove --in-place")
