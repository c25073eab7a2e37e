"""Fields that several requests share, and how their texts are read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Literal

from netdsl.allowed_modules import PYTHON_LAYERS, in_folder
from zoo.requests.events import Listen
from zoo.requests.request import Request, RequestError, option, request

Shape = tuple[int, ...]
StoredType = Literal["float32", "float16", "bfloat16"]
ComputeType = Literal["exact", "tf32", "bf16", "fp16"]

DATA_HELP = "Data to read instead of the net's: digits, mnist:FOLDER, folder:PATH, parquet:PATH, ..."
SKIP_BAD_HELP = "Leave out items that can't be read, and say so."


def modules_of(values: Iterable[str], field: str) -> dict[str, str]:
    """Return the modules that texts with commas name, which may be in the current folder."""
    names = [name.strip() for value in values for name in value.split(",")]
    for name in names:
        if not all(part.isidentifier() for part in name.split(".")):
            raise RequestError(f"'{name}' isn't the name of a module, such as voc_layers", field)
    return in_folder(names, Path.cwd())


def shapes_of(texts: Iterable[str]) -> dict[str, Shape]:
    """Shapes by the names of blobs, of texts such as data=3x224x224."""
    shapes: dict[str, Shape] = {}
    for text in texts:
        name, _, sizes = text.rpartition("=")
        numbers = sizes.split("x")
        if not name or not all(number.isdecimal() and int(number) for number in numbers):
            raise ValueError(f"'{text}' isn't like data=3x224x224")
        shapes[name] = tuple(map(int, numbers))
    return shapes


def columns_of(texts: Iterable[str]) -> dict[str, str]:
    """Columns by their blobs, of texts such as data=pixels."""
    columns = {}
    for text in texts:
        blob, _, column = text.partition("=")
        if not (blob and column):
            raise ValueError(f"'{text}' isn't like data=pixels, a blob and its column")
        columns[blob] = column
    return columns


def numbers_of(text: str) -> tuple[int, ...]:
    """Numbers with commas between them, each of which counts once."""
    words = text.split(",")
    if not all(word.isdecimal() and int(word) for word in words):
        raise ValueError(f"'{text}' isn't like 1,2,5, whole numbers above 0")
    return tuple(dict.fromkeys(map(int, words)))


def dialect_of(name: str) -> str:
    """Return the dialect of a name; an error for one that no fork has, before any file is opened."""
    from caffe_proto.dialects import dialect_named  # needs protobuf, for which nobody should wait to read the help

    return dialect_named(name).name


@request
class OfDialect(Request):
    """A request about files of any kind, which may be of a fork of Caffe."""

    dialect: str | None = option(
        "The fork of Caffe that a net or a binary file is for, such as ssd; guessed if not given.",
        default=None, metavar="NAME", parse=dialect_of,
    )  # fmt: skip


@request
class Lenient(Request):
    """A request about files whose unknown fields may be skipped."""

    lenient: bool = option("Skip fields that no known Caffe has, with a warning for each.", default=False)


@request
class WithPython(Request):
    """A request in which Python layers may run."""

    allow_python: tuple[str, ...] = option(
        "Run the code of Python layers in these modules, which are installed or in the current folder.",
        default=(), metavar="MODULE,...",
    )  # fmt: skip

    def meanwhile(self) -> AbstractContextManager[object]:
        """Let the code of the named modules run."""
        return PYTHON_LAYERS.allowing(modules_of(self.allow_python, "allow_python"))


@request
class AboutNet(WithPython):
    """A request about a net, whose Python layers may run."""

    dialect: str | None = option(
        "The fork of Caffe that the net is for, such as ssd; guessed from the net if not given.",
        default=None, metavar="NAME", parse=dialect_of,
    )  # fmt: skip


@request
class AssumesShapes(Request):
    """A request about nets whose data may have no known shape."""

    assume: Mapping[str, Shape] = option(
        "The shape of a blob whose data layer doesn't say it, without the batch: data=3x224x224.",
        default_factory=dict, metavar="BLOB=SHAPE", parse=shapes_of, repeatedly=True,
    )  # fmt: skip

    def tell_of_unused(self, used: Collection[str], listen: Listen) -> None:
        """Warn about assumed shapes of blobs that no data layer brings, which are typos."""
        from netdsl.solver.events import Notice

        for name in self.assume:
            if name not in used:
                listen(Notice(f"warning: --assume {name}: no data layer brings this blob"))


@request
class InStages(Request):
    """A request about nets with include rules for stages."""

    stages: tuple[str, ...] = option(
        "A stage that the net is in, for include rules.", default=(), name="stage", metavar="NAME"
    )


@request
class AtLevel(Request):
    """A request about nets with include rules for levels."""

    level: int = option("The level that the net is in, for include rules.", default=0, metavar="N")


@request
class StubsUnknown(Request):
    """A request about nets that may have layers of unknown types."""

    stub_unknown: bool = option(
        "Let layers of unknown types hand on what they get, so that the rest is seen.", default=False
    )


@request
class WithWeights(Request):
    """A request about a net that needs weights."""

    weights: tuple[str, ...] = option("Its weights, if NET is a net without any.", default=(), metavar="FILE")


@request
class OnDevice(Request):
    """A request that one device answers."""

    device: str | None = option("cpu or cuda:0.", default=None, metavar="NAME")


@request
class NamesColumns(Request):
    """A request about tables."""

    columns: Mapping[str, str] = option(
        "The column of a blob, if not that of its name.",
        default_factory=dict, name="column", metavar="BLOB=COLUMN", parse=columns_of, repeatedly=True,
    )  # fmt: skip


@request
class OnSpark(Request):
    """A request about the rows of tables, which tasks of Spark may answer."""

    backend: Literal["local", "spark"] | None = option(
        "The place to compute: this process, or tasks of Spark.", default=None
    )
    master: str | None = option(
        "Spark's master: spark://host:7077, yarn, ...; by default this machine.", default=None, metavar="URL"
    )
    workers: int | None = option("Tasks at once, if Spark runs on this machine.", default=None, least=1, metavar="K")

    def check(self) -> None:
        """Refuse settings of Spark for another backend."""
        super().check()
        if self.backend == "spark":
            if self.master is not None and self.workers is not None:
                raise RequestError("--workers is for Spark on this machine; the one at --master knows its tasks.")
        elif self.master is not None or self.workers is not None:
            raise RequestError("--master and --workers are about Spark; give --backend spark too.")


@request
class OfSolver(Request):
    """A request about what a solver's settings train."""

    model: str | None = option("", default=None, is_argument=True, metavar="[MODEL]")
    solver: str | None = option(
        "The solver's settings, which name the net; instead of MODEL.", default=None, metavar="FILE"
    )

    def check_model_or_solver(self) -> None:
        """Raise a RequestError unless one of both says what is trained."""
        if (self.model is None) == (self.solver is None):
            raise RequestError("Give a MODEL of the zoo, or --solver FILE.")
