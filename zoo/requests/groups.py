"""Fields that several requests share, and the parsers of their texts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Literal

from caffe_proto.whole_numbers import whole_number
from netdsl.allowed_modules import PYTHON_LAYERS, in_folder
from netdsl.distributed.transports import CONNECTIONS
from netdsl.distributed.transports.transport import Transport
from zoo.requests.events import Listen
from zoo.requests.request import Request, RequestError, RequestField, option, request

Shape = tuple[int, ...]
StoredType = Literal["float32", "float16", "bfloat16"]
ComputeType = Literal["exact", "tf32", "bf16", "fp16"]

DATA_HELP = "Data to read instead of the net's own: digits, mnist:FOLDER, folder:PATH, parquet:PATH, ..."
ONE_SPARK = "--master and --remote name two different Sparks; remove one of them."
ALLOW_PYTHON = "NETDSL_ALLOW_PYTHON"
SKIP_BAD_HELP = "Skip items that can't be read, and report them."


def target_names() -> tuple[tuple[str, ...], Mapping[str, object]]:
    """Return the names of netdsl's own targets, and the targets of plug-ins too."""
    from converters.targets.target import TARGETS

    return tuple(TARGETS.own()), TARGETS


def transport_names() -> tuple[tuple[str, ...], Mapping[str, object]]:
    """Return the names of netdsl's own transports, and those of plug-ins."""
    return tuple(transport.value for transport in Transport), CONNECTIONS


def modules_of(values: Iterable[str], field: str) -> dict[str, str]:
    """Return the modules that comma-separated texts name. They may be in the current folder."""
    names = [name.strip() for value in values for name in value.split(",")]
    for name in names:
        if not all(part.isidentifier() for part in name.split(".")):
            raise RequestError(f"'{name}' isn't the name of a module; give a name such as voc_layers", field)
    return in_folder(names, Path.cwd())


def shapes_of(texts: Iterable[str]) -> dict[str, Shape]:
    """Return shapes by blob name from texts such as data=3x224x224."""
    shapes: dict[str, Shape] = {}
    for text in texts:
        name, _, sizes = text.rpartition("=")
        shape = [whole_number(size, 1) for size in sizes.split("x")]
        if not name or None in shape:
            raise ValueError(f"'{text}' isn't a blob and its shape; write them as in data=3x224x224")
        shapes[name] = tuple(size for size in shape if size is not None)
    return shapes


def columns_of(texts: Iterable[str]) -> dict[str, str]:
    """Return columns by blob name from texts such as data=pixels."""
    columns = {}
    for text in texts:
        blob, _, column = text.partition("=")
        if not (blob and column):
            raise ValueError(f"'{text}' isn't a blob and its column; write them as in data=pixels")
        columns[blob] = column
    return columns


def numbers_of(text: str) -> tuple[int, ...]:
    """Return the different numbers in a comma-separated text, in the order of their first appearance."""
    numbers = [whole_number(word, 1) for word in text.split(",")]
    if None in numbers:
        raise ValueError(f"'{text}' isn't a list of whole numbers above 0; write it as in 1,2,5")
    return tuple(dict.fromkeys(number for number in numbers if number is not None))


def dialect_of(name: str) -> str:
    """Return the dialect with this name. Raises an error for an unknown dialect, before any file is opened."""
    from caffe_proto.dialects import dialect_named  # imports protobuf, which would slow down --help

    return dialect_named(name).name


@request
class OfDialect(Request):
    """A request about files of any kind, from Caffe or a fork of it."""

    dialect: str | None = option(
        "Fork of Caffe that a net or a binary file is for, such as ssd; guessed by default.",
        default=None, metavar="NAME", parse=dialect_of,
    )  # fmt: skip


@request
class Lenient(Request):
    """A request about files whose unknown fields may be skipped."""

    lenient: bool = option("Skip fields that no supported Caffe defines, with a warning for each.", default=False)


@request
class WithPython(Request):
    """A request that may run Python layers."""

    allow_python: tuple[str, ...] = option(
        "Modules whose Python layers may run; they are installed or in the current folder.",
        default=(), metavar="MODULE,...", environment=ALLOW_PYTHON,
    )  # fmt: skip

    def meanwhile(self) -> AbstractContextManager[object]:
        """Allow the code of the named modules to run."""
        return PYTHON_LAYERS.allowing(modules_of(self.allow_python, "allow_python"))


@request
class AboutNet(WithPython):
    """A request about a net, which may contain Python layers."""

    dialect: str | None = option(
        "Fork of Caffe that the net is for, such as ssd; guessed from the net by default.",
        default=None, metavar="NAME", parse=dialect_of,
    )  # fmt: skip


@request
class AssumesShapes(Request):
    """A request about nets whose data shapes may be unknown."""

    assume: Mapping[str, Shape] = option(
        "Shape of a blob, without the batch, if the data layer doesn't set it: data=3x224x224.",
        default_factory=dict, metavar="BLOB=SHAPE", parse=shapes_of, repeatedly=True,
    )  # fmt: skip

    def warn_of_unused(self, used: Collection[str], listen: Listen) -> None:
        """Warn about assumed shapes of blobs that no data layer produces. These are probably typos."""
        from netdsl.solver.events import Notice

        for name in self.assume:
            if name not in used:
                listen(Notice(f"warning: --assume {name}: no data layer produces this blob"))


@request
class InStages(Request):
    """A request about nets with include rules for stages."""

    stages: tuple[str, ...] = option("Stage for the net's include rules.", default=(), name="stage", metavar="NAME")


@request
class AtLevel(Request):
    """A request about nets with include rules for levels."""

    level: int = option("Level for the net's include rules.", default=0, metavar="N")


@request
class StubsUnknown(Request):
    """A request about nets that may contain layers of unknown types."""

    stub_unknown: bool = option(
        "Treat layers of unknown types as pass-through, so that the rest of the net can be examined.", default=False
    )


@request
class WithWeights(Request):
    """A request about a net that needs weights."""

    weights: tuple[str, ...] = option(
        "Weights, if NET is a net without weights.", default=(), metavar="FILE", address="read"
    )


@request
class OnDevice(Request):
    """A request that runs on one device."""

    device: str | None = option("Device: cpu or cuda:0.", default=None, metavar="NAME")


@request
class NamesColumns(Request):
    """A request about tables."""

    columns: Mapping[str, str] = option(
        "Column of a blob; by default the column with the blob's name.",
        default_factory=dict, name="column", metavar="BLOB=COLUMN", parse=columns_of, repeatedly=True,
    )  # fmt: skip


@request
class OnSpark(Request):
    """A request about the rows of tables, which Spark tasks may process."""

    backend: Literal["local", "spark"] | None = option("Place to compute: this process or Spark tasks.", default=None)
    master: str | None = option(
        "Spark master: spark://host:7077, yarn, ...; by default this machine.",
        default=None,
        metavar="URL",
        address="other",
    )
    remote: str | None = option(
        "Server of Spark Connect: sc://host:15002; by default the one in SPARK_REMOTE, if it is set.",
        default=None,
        metavar="URL",
        address="other",
    )
    workers: int | None = option(
        "Number of parallel tasks, if Spark runs on this machine.", default=None, least=1, metavar="K"
    )

    def passes_addresses(self, field: RequestField) -> bool:
        """Return whether Spark or another program uses the addresses in a field."""
        by_spark = self.backend == "spark" and field.said.get("address") in ("table", "result")
        return by_spark or super().passes_addresses(field)

    def check(self) -> None:
        """Refuse Spark settings for another backend."""
        super().check()
        if self.backend == "spark":
            if self.master is not None and self.remote is not None:
                raise RequestError(ONE_SPARK)
            if (self.master or self.remote) is not None and self.workers is not None:
                raise RequestError(
                    "--workers is for Spark on this machine; remove it, since the cluster at --master or --remote sets "
                    "its own number of tasks."
                )
        elif (self.master, self.remote, self.workers) != (None, None, None):
            raise RequestError("--master, --remote and --workers need --backend spark; add --backend spark.")


@request
class OfSolver(Request):
    """A request to use a solver's settings for training."""

    model: str | None = option("", default=None, is_argument=True, metavar="[MODEL]", address="read")
    solver: str | None = option(
        "Solver settings, which name the net; use them instead of MODEL.",
        default=None,
        metavar="FILE",
        address="read",
    )

    def check_model_or_solver(self) -> None:
        """Raise a RequestError unless exactly one of MODEL and --solver is given."""
        if (self.model is None) == (self.solver is None):
            raise RequestError("Give a MODEL of the zoo, or --solver FILE, but not both.")
