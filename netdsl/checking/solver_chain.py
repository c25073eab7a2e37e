"""Checks everything that a solver's file names: its settings, nets, data, means, weights and place for snapshots."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from google.protobuf.message import Message

from caffe_proto import caffe_pb2 as pb
from caffe_proto.addresses import address_in, shown_address
from caffe_proto.errors import CaffeError, in_file
from caffe_proto.files import read
from caffe_proto.locations import error_label
from netdsl.checking.lint import code_needed, without_files
from netdsl.errors import first_line, memory_shortage, user_code_problem
from netdsl.layer.data import DataOrigin
from netdsl.layers import data_layer_of
from netdsl.missing_gpu import SOLVERS_GPU, names_gpu, sees_gpu
from netdsl.model.model import Model
from netdsl.model.opening import add_weights
from netdsl.net.build import check_fillers, unknown_types
from netdsl.net.graph import Phase
from netdsl.net.placeholder_layer import unavailable_types
from netdsl.solver.settings import SolverSettings, find_file, find_weights, open_settings, read_settings
from netdsl.storage.schemes import writable_storage_of


@dataclass(frozen=True)
class ChainLink:
    """The verdict on one part of the chain that begins with a solver's file.

    `part` is the solver, a net, data, a mean, another file of a layer, weights, or the place for snapshots. `note`
    describes a good part. `reason` is empty for a good part, and otherwise begins with the place that names the part.
    """

    file: str  # the solver's file
    part: str
    name: str
    note: str = ""
    reason: str = ""
    needs_code: tuple[str, ...] = ()  # the Python layers that must be allowed before a net can be checked

    @property
    def good(self) -> bool:
        """Whether the part works."""
        return not self.reason


def is_solver(path: str | Path) -> bool:
    """Return whether a file contains a solver's settings."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return isinstance(read(path, lenient=True).message, pb.SolverParameter)
    except (CaffeError, OSError):
        return False


def check_chain(path: str | Path, dialect: str | None = None) -> Iterator[ChainLink]:
    """Yield the verdict on each part of the chain, in the order in which training needs the parts.

    No later part is checked if the settings or the nets can't be read.
    """
    chain = _Chain(Path(path))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        settings = chain.settings(dialect)
        yield from chain.found
        if settings is None:
            return
        yield from dict.fromkeys(chain.parts(settings))  # nets for training and testing share files


class _Chain:
    """The parts that one solver's file names."""

    def __init__(self, path: Path) -> None:
        self._path, self._folder = path, path.parent
        self.found: list[ChainLink] = []

    def settings(self, dialect: str | None) -> SolverSettings | None:
        """Return the settings with their nets, or `None` if they can't be opened."""
        opened: list[SolverSettings] = []

        def open_file() -> str:
            opened.append(open_settings(read_settings(self._path), self._folder, dialect))
            param, notes = opened[0].param, list[str]()
            if names_gpu(param):
                sees_gpu(SOLVERS_GPU, notes.append)
            return "; ".join([f"{param.type} for {param.max_iter:,} iterations", *notes])

        self.found.append(self._link("solver", str(self._path), open_file))
        return opened[0] if opened else None

    def parts(self, settings: SolverSettings) -> Iterator[ChainLink]:
        """Yield the verdicts on the nets with their files, the weights and the place for snapshots."""
        train, tests = settings.sources()
        models: list[tuple[str, Phase, Callable[[], Model]]] = [(train, Phase.TRAIN, lambda: settings.trained)]
        models += [(name, Phase.TEST, lambda n=n: settings.tested[n]) for n, name in enumerate(tests)]  # type: ignore[misc]
        for source, phase, model_of in models:
            yield from self._net(source.rpartition(": ")[2], phase, model_of)
        for weights in find_weights(settings.param.weights, self._folder):
            yield self._link("weights", str(weights), lambda path=weights: _fitting(settings.trained, path))  # type: ignore[misc]
        if settings.param.snapshot or settings.param.snapshot_after_train:
            yield self._link("snapshots", settings.param.snapshot_prefix, lambda: _place(settings.param))

    def _net(self, name: str, phase: Phase, model_of: Callable[[], Model]) -> Iterator[ChainLink]:
        """Yield the verdicts on a net in a phase, and on the files that its layers name."""

        def build() -> str:
            model = model_of()
            built = replace(model, net=without_files(model.net)).layers(phase)
            if phase is Phase.TRAIN:
                check_fillers(built)
            return f"good for {phase.name}"

        path = str(find_file(name, self._folder))
        try:
            graph = model_of().graph(phase)
        except CaffeError:  # building it explains why
            graph = None
        files = [link for node in graph.nodes for link in self._files_of(node.layer)] if graph else []
        private = tuple(unavailable_types([graph])) if graph and not unknown_types(graph) else ()
        if private:
            reason = f"{path}: {code_needed(private)}"
            net = ChainLink(str(self._path), "net", path, reason=reason, needs_code=private)
        else:
            net = self._link("net", path, build)
        if net.reason and not all(link.good for link in files):
            net = replace(net, reason=f"{net.reason} (the shapes of the missing data are guesses)")
        yield from (net, *files)

    def _files_of(self, layer: pb.LayerParameter) -> Iterator[ChainLink]:
        """Yield the verdicts on a layer's data and on the files that its settings name."""
        for part, name in files_of_settings(layer):
            link = self._link(part, name, lambda name=name: _readable(Path(name)), error_label(layer))  # type: ignore[misc]
            if not link.good:  # the data may be good without it
                layer = without_files(pb.NetParameter(layer=[layer])).layer[0]
            yield link
        for name in _source_names(layer):
            yield self._link("data", name, lambda: _first_item(layer), error_label(layer))

    def _link(self, part: str, name: str, check: Callable[[], str], place: str = "") -> ChainLink:
        """Return the verdict that follows from a check, which returns a note or raises an error."""
        try:
            return ChainLink(str(self._path), part, name, check())
        except CaffeError as problem:
            reason = in_file(self._path if part == "solver" else name, problem)
        except Exception as problem:  # of a file, of user code, or a lack of memory
            reason = f"{name}: {user_code_problem(problem) or memory_shortage(problem) or _sentence(problem)}"
        is_placed = part in ("solver", "net") or reason.startswith(place)
        return ChainLink(str(self._path), part, name, reason=reason if is_placed else f"{place}: {reason}")


def _sentence(problem: Exception) -> str:
    return problem.strerror if isinstance(problem, OSError) and problem.strerror else first_line(problem)


def files_of_settings(layer: pb.LayerParameter) -> Iterator[tuple[str, str]]:
    """Yield the files that a layer's settings name, such as means, each with a word for its part."""
    for value in (value for _, value in layer.ListFields() if isinstance(value, Message)):
        for setting, name in value.ListFields():
            if setting.name.endswith("_file") and isinstance(name, str):
                yield setting.name.removesuffix("_file").replace("_", " "), name


def source_of(layer: pb.LayerParameter) -> list[str]:
    """Return the source that a layer's settings name, or an empty list."""
    names = (getattr(value, "source", "") for _, value in layer.ListFields() if isinstance(value, Message))
    return [name for name in names if name][:1]


def _source_names(layer: pb.LayerParameter) -> Iterator[str]:
    """Yield the name of the source if the layer reads files."""
    try:
        kind = data_layer_of(layer)
    except CaffeError:  # the net's own verdict says why
        return
    if kind is None or kind.data_origin is not DataOrigin.FILES:
        return
    yield from source_of(layer) or [layer.name]


def _first_item(layer: pb.LayerParameter) -> str:
    """Read the first item of a layer's data, and return a note on the data."""
    from netdsl.model.data_shapes import read_shapes

    kind = data_layer_of(layer)
    assert kind is not None
    shapes = read_shapes(kind, {})
    reading = kind.reading(0)
    with closing(reading.source):
        count = len(reading.source)
    image = f" of {'x'.join(map(str, shapes[0][1:]))}" if shapes and shapes[0][1:] else ""
    return f"{count:,} items{image}"


def _readable(path: Path) -> str:
    """Return a note on a file, or raise an `OSError`."""
    with path.open("rb"):
        return f"{path.stat().st_size:,} bytes"


def _fitting(model: Model, path: Path) -> str:
    """Return a note on the number of layers that weights fill."""
    return f"fills {len(add_weights(model, [path]).weights)} layers"


def _place(param: pb.SolverParameter) -> str:
    """Return a note on the folder for snapshots, which training makes if necessary."""
    address = address_in(param.snapshot_prefix)
    if address is not None:
        writable_storage_of(address)
        return f"in {shown_address(address).rpartition('/')[0]}"
    folder = Path(param.snapshot_prefix).parent
    existing = next(each for each in (folder, *folder.parents) if each.exists())
    if not existing.is_dir():
        raise NotADirectoryError(20, f"'{existing}' isn't a folder; change snapshot_prefix")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise PermissionError(13, f"'{existing}' can't be written; change snapshot_prefix")
    return f"in {folder}" if folder == existing else f"in {folder}, which training makes"
