"""What is known by name, and the decorators by which a class of your own gets one. Importing this needs no library."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from importlib import import_module
from typing import Any, Generic, TypeVar

from netdsl.errors import RegistryError

T = TypeVar("T")
Class = TypeVar("Class", bound=type)


class Registry(Mapping[str, T], Generic[T]):
    """Values by name. `noun` says in errors what they are, such as "layer type"."""

    def __init__(self, noun: str) -> None:
        self.noun = noun
        self._values: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def register(self, name: str, value: T) -> None:
        """Make a value known. A definition that runs again, as in a notebook, replaces what it made before."""
        known = self._values.get(name)
        if known is not None and _definition(known) != _definition(value):
            both = f"{_definition(known)} and {_definition(value)}"
            raise RegistryError(f"two classes are the {self.noun} '{name}': {both}; give one of them another name")
        self._values[name] = value

    def unregister(self, name: str) -> None:
        """Forget a value."""
        del self._values[name]

    def near(self, name: str) -> str | None:
        """The known name that is most like a wrong one, if one is."""
        names = {known.lower(): known for known in self}
        return next((names[match] for match in get_close_matches(name.lower(), names, 1)), None)


def register_layer(layer_class: Class) -> Class:
    """A decorator that makes a class of `netdsl.layer.Layer` known as the layer type of its name."""
    _registry("netdsl.layers", "LAYERS").register(layer_class.__name__, layer_class)
    return layer_class


def _registry(module: str, name: str) -> Registry[Any]:
    """The registry that a module has, with netdsl's own values. Only who registers something pays for importing it."""
    registry: Registry[Any] = getattr(import_module(module), name)
    return registry


def _definition(value: object) -> str:
    """Where a class or a function is written."""
    return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', repr(value))}"
