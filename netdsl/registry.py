"""Registries of names, and the decorators that register classes of your own. Importing this module needs no library."""

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
FormatReader = TypeVar("FormatReader", bound=Callable[..., Any])
ModelMaker = TypeVar("ModelMaker", bound=Callable[[], Path])


class _Named(Protocol):
    name: ClassVar[str]


class _Kind(Protocol):
    """A kind of data, such as `netdsl.data.sources.open_source.SourceKind`."""

    @property
    def module(self) -> str: ...


NamedClass = TypeVar("NamedClass", bound=type[_Named])


class Registry(Mapping[str, T], Generic[T]):
    """Values by name: netdsl's own and those of plug-ins.

    Plug-ins are loaded when a name is looked up or all names are listed. In errors, `noun` describes the values, such
    as "layer type". `taken` contains names that netdsl uses elsewhere, with their places.
    """

    def __init__(self, noun: str, taken: Mapping[str, str] = MappingProxyType({})) -> None:
        self.noun = noun
        self._taken = taken
        self._values: dict[str, T] = {}
        self._definitions: dict[str, str] = {}  # the place in the code that defines each value

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
        """Return netdsl's own values, without loading plug-ins."""
        return {name: self._values[name] for name in self.names_of("netdsl")}

    def names_of(self, module: str) -> list[str]:
        """Return the registered names that a module or a package defines."""
        return [name for name in self._values if self._definitions.get(name, "").startswith(f"{module}.")]

    def register(self, name: str, value: T, definition: str = "") -> None:
        """Register a value. If a definition runs again, as in a notebook, it replaces the earlier value.

        `definition` names the place in the code for values that are neither classes nor functions.
        """
        definition = definition or f"{value.__module__}.{getattr(value, '__qualname__', name)}"
        known = self._taken.get(name) or (self._definitions.get(name) if name in self._values else None)
        if known not in (None, definition):
            both = f"{known} and {definition}"
            raise RegistryError(
                f"the {self.noun} '{name}' is defined twice, by {both}; rename one of them, or leave one plug-in out"
            )
        self._values[name], self._definitions[name] = value, definition

    def unregister(self, name: str) -> None:
        """Remove a name."""
        del self._values[name]

    def near(self, name: str) -> str | None:
        """Return the known name that is most similar to a wrong one, or `None` if none is similar."""
        names = {known.lower(): known for known in self}
        return next((names[match] for match in get_close_matches(name.lower(), names, 1)), None)


# The module and the name of each registry.
_LAYERS = "netdsl.layers", "LAYERS"
_STRATEGIES = "netdsl.distributed.strategies.settings", "STRATEGIES"
_LAUNCHERS = "netdsl.distributed.launchers", "LAUNCHERS"
_CONNECTIONS = "netdsl.distributed.transports", "CONNECTIONS"
_SOURCES = "netdsl.data.sources.open_source", "KINDS"
_FORMATS = "netdsl.model.formats", "FORMATS"
_SCHEMES = "netdsl.storage.schemes", "SCHEMES"
_DECODERS = "netdsl.prediction.decoders", "DECODERS"
_MODELS = "zoo.catalogue", "MODELS"
_TARGETS = "converters.targets.target", "TARGETS"
_HOMES = (_LAYERS, _SOURCES, _STRATEGIES, _LAUNCHERS, _CONNECTIONS, _FORMATS, _SCHEMES, _DECODERS, _MODELS)
_DIALECTS = "caffe_proto.dialects"


def register_layer(layer_class: Class) -> Class:
    """Register a subclass of `netdsl.layer.Layer` under its own name as a layer type."""
    _registry(_LAYERS).register(layer_class.__name__, layer_class)
    return layer_class


def register_source(name: str, kind: _Kind) -> None:
    """Register a kind of data, which users name as in `name:PATH`."""
    _registry(_SOURCES).register(name, kind, f"{kind.module}.{name}")


def register_strategy(settings_class: NamedClass) -> NamedClass:
    """Register the settings of a strategy by their `name`, which users type and which runs and plans store."""
    _registry(_STRATEGIES).register(settings_class.name, settings_class)
    return settings_class


def register_launcher(launcher_class: NamedClass) -> NamedClass:
    """Register a launcher by its `name` as a choice of --backend. Its constructor needs no arguments."""
    _registry(_LAUNCHERS).register(launcher_class.name, launcher_class)
    return launcher_class


def register_transport(name: str) -> Callable[[Function], Function]:
    """Return a decorator that registers a function as a choice of --transport, as in `CONNECTIONS`.

    The function gets a worker's control client, rank, number of workers and device, and returns its communicator.
    """

    def register(connect: Function) -> Function:
        _registry(_CONNECTIONS).register(name, connect)
        return connect

    return register


def register_format(suffix: str) -> Callable[[FormatReader], FormatReader]:
    """Return a decorator that registers a function that reads files with a suffix, wherever nets or weights are opened.

    The function gets the file's path and returns the file's `netdsl.model.Model`. If it has a parameter `shapes`, it
    also gets the shapes that the user states for inputs, by name and with a batch of 1.
    """

    def register(reader: FormatReader) -> FormatReader:
        _registry(_FORMATS).register(suffix, reader)
        return reader

    return register


def register_storage(scheme: str) -> Callable[[Function], Function]:
    """Return a decorator that registers a function for addresses with a scheme, such as `ours://nets/lenet.prototxt`.

    The function gets an address and returns the file system of fsspec that reads it.
    """

    def register(open_storage: Function) -> Function:
        _registry(_SCHEMES).register(scheme, open_storage)
        return open_storage

    return register


def register_decoder(decoder_class: NamedClass) -> NamedClass:
    """Register a subclass of `netdsl.prediction.decoders.decoder.Decoder` by its `name`, which cards contain."""
    _registry(_DECODERS).register(decoder_class.name, decoder_class)
    return decoder_class


def register_model(name: str) -> Callable[[ModelMaker], ModelMaker]:
    """Return a decorator that registers a function as a model's maker, so that the model has a name as in the zoo.

    The function returns the model's folder, which contains a `deploy.prototxt` or `train_val.prototxt`, and optionally
    weights and a card.
    """

    def register(maker: ModelMaker) -> ModelMaker:
        _registry(_MODELS).register(name, maker)
        return maker

    return register


def register_dialect(path: str | Path) -> None:
    """Register a fork of Caffe under the name of its file NAME.toml, which lists the numbers of the fork's fields."""
    import_module(_DIALECTS).register_dialect(path)


def register_target(path: str | Path) -> None:
    """Register the program that runs exported models and that a file NAME.toml describes, as a choice of --in."""
    import_module(_TARGETS[0]).register_target(path)


def registered_by(module: str) -> list[str]:
    """Return what a module registered, such as "layer type SoftSign", and the dialects and targets whose files are in
    its folder."""
    registries = [_registry(home) for home in _HOMES if home[0] in sys.modules]
    names = [f"{registry.noun} {name}" for registry in registries for name in registry.names_of(module)]
    files = {
        f"{noun} {name}": path
        for noun, home in (("dialect", _DIALECTS), ("target", _TARGETS[0]))
        if home in sys.modules
        for name, path in sys.modules[home].registered_tables().items()
    }
    folder = Path(sys.modules[module].__file__ or "").parent
    return names + [name for name, path in files.items() if path.parent.resolve() == folder.resolve()]


def _registry(home: tuple[str, str]) -> Registry[Any]:
    """Return a module's registry, including netdsl's own values. The import happens only when a name is registered."""
    registry: Registry[Any] = getattr(import_module(home[0]), home[1])
    return registry
