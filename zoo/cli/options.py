"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from netdsl.allowed_modules import PLUGINS, PYTHON_LAYERS, in_folder
from netdsl.distributed.worker_count import WorkerCount

if TYPE_CHECKING:
    from netdsl.solver.settings import SolverSettings

# What these name needs torch, for which nobody should wait to read the help, or that an option is wrong.
PRECISIONS = ("float32", "float16", "bfloat16")
EXPORT_TARGETS = ("caffe", "onnx", "torch")
STRATEGIES = ("averaging", "allreduce", "outer", "elastic", "elastic-sync", "mpca")
TEST_BATCHES = 50
COMPUTE_PRECISIONS = ("exact", "tf32", "bf16", "fp16")

DATA_HELP = "Data to read instead of the net's: digits, mnist:FOLDER, folder:PATH, parquet:PATH, ..."
SKIP_BAD_HELP = "Leave out items that can't be read, and say so."

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

as_json: Decorator = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
lenient: Decorator = click.option(
    "--lenient", is_flag=True, help="Skip fields that no known Caffe has, with a warning for each."
)
_PLUGIN_HELP = """Import a plug-in, a module that is installed or in the current folder, for what it registers; may be
given more than once, before or after the name of a command."""


def _known_dialect(ctx: click.Context, parameter: click.Parameter, name: str | None) -> str | None:
    """The dialect of a name; an error for one that no fork has, before any file is opened."""
    if name is None:
        return None
    from caffe_proto.dialects import dialect_named  # needs protobuf, for which nobody should wait to read the help

    return dialect_named(name).name


dialect: Decorator = click.option(
    "--dialect",
    metavar="NAME",
    callback=_known_dialect,
    help="The fork of Caffe that a net or a binary file is for, such as ssd; guessed if not given.",
)
net_dialect: Decorator = click.option(
    "--dialect",
    metavar="NAME",
    callback=_known_dialect,
    help="The fork of Caffe that the net is for, such as ssd; guessed from the net if not given.",
)


def _allow_python(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> None:
    """Allow modules of Python layers while a command runs."""
    ctx.with_resource(PYTHON_LAYERS.allowing(modules_of(values)))


def _allow_plugins(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> None:
    """Allow plug-ins while a command runs."""
    ctx.with_resource(PLUGINS.allowing(modules_of(values)))


def modules_of(values: Iterable[str]) -> dict[str, str]:
    """The modules that an option names, which may be in the current folder."""
    names = [name.strip() for value in values for name in value.split(",")]
    for name in names:
        if not all(part.isidentifier() for part in name.split(".")):
            raise click.BadParameter(f"'{name}' is no name of a module, such as voc_layers")
    return in_folder(names, Path.cwd())


def workers(help_text: str) -> Decorator:
    """The number of workers, or a range of it, as a `WorkerCount`."""
    return click.option("--workers", metavar="K", callback=_worker_count, help=help_text)


def _worker_count(ctx: click.Context, parameter: click.Parameter, value: str | None) -> WorkerCount | None:
    return None if value is None else WorkerCount.parse(value)


def plugin(*, hidden: bool = False) -> click.Option:
    """The option of the command group, and of every command."""
    return click.Option(
        ["--plugin"],
        multiple=True,
        metavar="MODULE",
        is_eager=True,  # since it may bring values of others
        expose_value=False,
        callback=_allow_plugins,
        hidden=hidden,
        help=_PLUGIN_HELP,
    )


class RegisteredName(click.Choice[str]):
    """One of netdsl's own names, which are listed, or a name that a plug-in registered."""

    def __init__(self, names: Iterable[str], registry: Mapping[str, object]) -> None:
        super().__init__(list(names))
        self._registry = registry

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name; a usage error lists those of plug-ins too."""
        if value in self.choices:
            return value
        return click.Choice([*self.choices, *self._registry]).convert(value, param, ctx)


allow_python: Decorator = click.option(
    "--allow-python",
    multiple=True,
    metavar="MODULE,...",
    expose_value=False,
    callback=_allow_python,
    help="Run the code of Python layers in these modules, which are installed or in the current folder.",
)


def check_model_or_solver(model: str | None, solver: str | None) -> None:
    """Raise a usage error unless one of both says what is trained."""
    if (model is None) == (solver is None):
        raise click.UsageError("Give a MODEL of the zoo, or --solver FILE.")


def solver_settings(model: str | None, solver: str | None, dialect: str | None = None) -> tuple[SolverSettings, Path]:
    """The settings of a solver by its file, or of a MODEL of the zoo, and the folder that they are in."""
    from netdsl.solver.settings import open_settings
    from zoo.names import solver_of

    if solver is None:
        return solver_of(model or "", dialect)
    return open_settings(solver, dialect=dialect), Path(solver).parent
