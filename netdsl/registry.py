"""What is known by name, and the decorators by which a class of your own gets one. Importing this needs no library."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from netdsl.errors import RegistryError
from netdsl.plugins import load_plugins

T = TypeVar("T")
Class = TypeVar("Class", bound=type)
Function = TypeVar("Function", bound=Callable[..., Any])
FormatReader = TypeVar("FormatReader", bound=Callable[[Path], Any])
ModelMaker = TypeVar("ModelMaker", bound=Callable[[], Path])


class _Named(Protocol):
    name: ClassVar[str]


class _Kind(Protocol):
    """A kind of data, as `netdsl.data.sources.open_source.SourceKind`."""

    @property
    def module(self) -> str: ...


NamedClass = TypeVar("NamedClass", bound=type[_Named])


class Registry(Mapping[str, T], Generic[T]):
    """Values by name, netdsl's own and those of plug-ins, which are loaded when a name is looked up or all are listed.

    `noun` says in errors what the values are, such as "layer type". `taken` has names that netdsl itself has elsewhere,
    with where that is.
    """

    def __init__(self, noun: str, taken: Mapping[str, str] = MappingProxyType({})) -> None:
        self.noun = noun
        self._taken = taken
        self._values: dict[str, T] = {}
        self._definitions: dict[str, str] = {}  # where each value is written

    def __getitem__(self, name: str) -> T:
        load_plugins()
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        load_plugins()
        return iter(self._values)

    def __len__(self) -> int:
        load_plugins()
        return len(self._values)

    def own(self) -> dict[str, T]:
        """Return the values that netdsl itself has, for which no plug-in is loaded."""
        return {name: self._values[name] for name in self.names_of("netdsl")}

    def names_of(self, module: str) -> list[str]:
        """Return the names of what is written in a module or a package, as far as it is registered."""
        return [name for name in self._values if self._definitions.get(name, "").startswith(f"{module}.")]

    def register(self, name: str, value: T, definition: str = "") -> None:
        """Make a value known. A definition that runs again, as in a notebook, replaces what it made before.

        `definition` says where it is written, of a value that is neither a class nor a function.
        """
        definition = definition or f"{value.__module__}.{getattr(value, '__qualname__', name)}"
        known = self._taken.get(name) or (self._definitions.get(name) if name in self._values else None)
        if known not in (None, definition):
            both = f"{known} and {definition}"
            raise RegistryError(f"two things are the {self.noun} '{name}': {both}; give one of them another name")
        self._values[name], self._definitions[name] = value, definition

    def unregister(self, name: str) -> None:
        """Forget a value."""
        del self._values[name]

    def near(self, name: str) -> str | None:
        """Return the known name that is most like a wrong one, if one is."""
        names = {known.lower(): known for known in self}
        return next((names[match] for match in get_close_matches(name.lower(), names, 1)), None)


# Where the registries are: the modules, and their names there.
_LAYERS = "netdsl.layers", "LAYERS"
_STRATEGIES = "netdsl.distributed.strategies.settings", "STRATEGIES"
_LAUNCHERS = "netdsl.distributed.launchers", "LAUNCHERS"
_CONNECTIONS = "netdsl.distributed.transports", "CONNECTIONS"
_SOURCES = "netdsl.data.sources.open_source", "KINDS"
_FORMATS = "netdsl.model.formats", "FORMATS"
_MODELS = "zoo.catalogue", "MODELS"
_HOMES = (_LAYERS, _SOURCES, _STRATEGIES, _LAUNCHERS, _CONNECTIONS, _FORMATS, _MODELS)
_DIALECTS = "caffe_proto.dialects"


def register_layer(layer_class: Class) -> Class:
    """Return a decorator that makes a class of `netdsl.layer.Layer` known as the layer type of its name."""
    _registry(_LAYERS).register(layer_class.__name__, layer_class)
    return layer_class


def register_source(name: str, kind: _Kind) -> None:
    """Make a kind of data known by its name, as in `name:PATH`."""
    _registry(_SOURCES).register(name, kind, f"{kind.module}.{name}")


def register_strategy(settings_class: NamedClass) -> NamedClass:
    """Return a decorator that makes the settings of a strategy known by its `name`: as text, in runs and in plans."""
    _registry(_STRATEGIES).register(settings_class.name, settings_class)
    return settings_class


def register_launcher(launcher_class: NamedClass) -> NamedClass:
    """Return a decorator that makes a launcher, which needs no arguments, known by its `name` as a choice of
    --backend."""
    _registry(_LAUNCHERS).register(launcher_class.name, launcher_class)
    return launcher_class


def register_transport(name: str) -> Callable[[Function], Function]:
    """Return a decorator that makes a transport known as a choice of --transport, by a function as those in
    `CONNECTIONS`.

    The function gets a worker's control client, rank, number of workers and device, and returns its communicator.
    """

    def register(connect: Function) -> Function:
        _registry(_CONNECTIONS).register(name, connect)
        return connect

    return register


def register_format(suffix: str) -> Callable[[FormatReader], FormatReader]:
    """Return a decorator that lets files with a suffix be opened wherever a net or weights are, by a function.

    It gets the file's path, and returns the `netdsl.model.Model` that is in it.
    """

    def register(reader: FormatReader) -> FormatReader:
        _registry(_FORMATS).register(suffix, reader)
        return reader

    return register


def register_model(name: str) -> Callable[[ModelMaker], ModelMaker]:
    """Return a decorator that makes a model known by its name, as those of the zoo are, by a function.

    It returns the model's folder, with a `deploy.prototxt` or `train_val.prototxt` and perhaps weights and a card.
    """

    def register(maker: ModelMaker) -> ModelMaker:
        _registry(_MODELS).register(name, maker)
        return maker

    return register


def register_dialect(path: str | Path) -> None:
    """Make a fork of Caffe known by the name of a file NAME.toml, which has the numbers that the fork gave fields."""
    import_module(_DIALECTS).register_dialect(path)


def registered_by(module: str) -> list[str]:
    """Return what a module registered, such as "layer type SoftSign", with the dialects whose files are in its
    folder."""
    registries = [_registry(home) for home in _HOMES if home[0] in sys.modules]
    names = [f"{registry.noun} {name}" for registry in registries for name in registry.names_of(module)]
    tables = sys.modules[_DIALECTS].registered_tables() if _DIALECTS in sys.modules else {}
    folder = Path(sys.modules[module].__file__ or "").parent
    return names + [f"dialect {name}" for name, path in tables.items() if path.parent.resolve() == folder.resolve()]


def _registry(home: tuple[str, str]) -> Registry[Any]:
    """Return the registry that a module has, with netdsl's own values. Only who registers something pays for importing
    it."""
    registry: Registry[Any] = getattr(import_module(home[0]), home[1])
    return registry
