"""Requests to see files of Caffe's, and to mend them."""

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
)
from zoo.requests.request import RequestError, argument, option, request


@request
class ShowRequest(AssumesShapes, InStages, StubsUnknown, WithPython, Lenient, OfDialect):
    """Show what files hold: the layers of a net with their settings, shapes and parameters; the blobs of weights, of a
    solver state or of a mean; the settings of a solver.

    With --shapes, show the shapes of a net's blobs, in each phase that it is for. The options about nets need it.
    """

    files: tuple[str, ...] = argument("FILE...")
    shapes: bool = option("Show the shapes of a net's blobs instead.", default=False)

    def check(self) -> None:
        """Refuse options about shapes without them."""
        if not self.shapes and (self.assume or self.stages or self.stub_unknown):
            raise RequestError("--assume, --stage and --stub-unknown go with --shapes")


@request
class DrawRequest(AboutNet):
    """Draw a net as a graph: a box for each layer with its settings and the shapes of its tops, coloured by what the
    layer does; the legend says which. Layers that could work in place, such as ReLU and BatchNorm, are written into the
    box of the layer that they follow, unless somebody else needs what was there before.

    A picture with thousands of layers is best as SVG, which any browser shows and searches.
    """

    net: str = argument("NET")
    output: str | None = option(
        "An .svg or .png to write; by default NET.svg, in this folder.", default=None, short="o", metavar="FILE"
    )
    phase: Literal["TEST", "TRAIN"] | None = option(
        "The phase that is drawn; by default TEST, or TRAIN if it has no other.", default=None
    )
    direction: Literal["down", "right"] = option("The way that data take.", default="down")


@request
class CheckRequest(AssumesShapes, InStages, StubsUnknown, AboutNet):
    """Check that each net can be parsed, has only known layer types, is connected in the phases that it is for, and has
    shapes that fit. The exit code is 1 if one doesn't.

    Where a net doesn't say the shape of its data, typical shapes are tried, and the one that fits is printed; so are
    batches, for nets that take only multiples of some number. What means something else in some forks of Caffe is told.
    Of the data only the first item is read: a net whose data aren't here isn't called good, but the exit code stays the
    same. What works here but Caffe refuses, or computes otherwise, is said, and doesn't change the exit code either.

    With --data, the data layers of each net's TRAIN phase make up the files that they read, in a temporary folder:
    databases, lists of images, whole data sets. A batch of them is read as in training, and its loss is computed with
    the gradients. A folder then stands for all nets below it. The exit code is 1 if a net with a loss doesn't come that
    far.
    """

    files: tuple[str, ...] = argument("FILE...")
    run: bool = option("Also run each net once, forward, on small random input.", default=False)
    data: bool = option("Instead try each net's training on data that are made up for it.", default=False)
    forward_only: bool = option("With --data: compute no gradients.", default=False)
    batch: int = option(
        "With --data: the most items in a batch, if the net takes that many.", default=2, least=1, metavar="N"
    )
    seconds: float = option("With --data: how long one net may take.", default=600, above=0, metavar="S")


@request
class DiffRequest(Lenient, OfDialect):
    """Show how B differs from A: in its layers, its settings, and the values of every blob. Old files are brought to
    today's form first. The exit code is 1 if anything differs.
    """

    first: str = argument("A")
    second: str = argument("B")
    as_written: bool = option("Compare old files without upgrading them.", default=False)


@request
class FormatRequest(Lenient):
    """Put prototxt files into one layout: two spaces, one field a line, double quotes. The order of fields and the
    comments stay. With `-` standard input is formatted and printed.
    """

    files: tuple[str, ...] = argument("FILE...")
    check_only: bool = option("Change nothing; the exit code is 1 if a file would change.", default=False, name="check")


@request
class UpgradeRequest(Lenient, OfDialect):
    """Bring an old net or solver to today's form, as Caffe's own upgrade tools do: V0 and V1 layers, data
    transformations, inputs, BatchNorm's parameters, solver types. If a part can't be upgraded, nothing is written.

    A prototxt is printed if there is no OUTPUT. The list of changes goes to standard error.
    """

    file: str = argument("FILE")
    output: str | None = argument("[OUTPUT]", default=None)
    in_place: bool = option("Write the result to FILE itself.", default=False)

    def check(self) -> None:
        """Refuse two places for the result."""
        if self.in_place and self.output:
            raise RequestError("name OUTPUT or use --in-place, not both")
