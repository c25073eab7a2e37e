"""Plug-ins: modules that register their additions on import, with the decorators of `netdsl.registry`.

They come from installed packages, by the entry-point group `netdsl.plugins`, or are allowed by a user by name.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from threading import RLock

from netdsl.allowed_modules import PLUGINS, in_folder
from netdsl.errors import RegistryError, first_line

_log = logging.getLogger(__name__)

GROUP = "netdsl.plugins"
VARIABLE = "NETDSL_PLUGINS"  # allows modules as --plugin does, for programs without a command line


@dataclass(frozen=True)
class Plugin:
    """A module to import.

    `package` is the installed package that contains it, with its version. It is empty if a user allowed the module.
    """

    module: str
    package: str = ""

    def load(self) -> None:
        """Import the module.

        Raises a `RegistryError` that names the module and its package if the import fails.
        """
        try:
            import_module(self.module)
        except Exception as problem:  # code outside netdsl can raise anything
            raise RegistryError(f"{self}: {self._reason(problem)}") from problem

    def __str__(self) -> str:
        return f"plug-in '{self.module}'" + (f" of the package {self.package}" if self.package else "")

    def _reason(self, problem: Exception) -> str:
        if isinstance(problem, ModuleNotFoundError) and f"{self.module}.".startswith(f"{problem.name}."):
            return "there is no such module, neither installed nor in the current folder; check its name"
        what = (
            str(problem) if isinstance(problem, RegistryError) else f"{type(problem).__name__}: {first_line(problem)}"
        )
        advice = f"; fix the package, or remove it with pip uninstall {self.package.split()[0]}" if self.package else ""
        return f"can't be imported: {what}{advice}"


_lock = RLock()
_loaded = set[str]()  # the names of modules
_installed: list[Plugin] | None = None
_loading = False  # a plug-in may look up names while it is imported
_complete: tuple[str, ...] = ("never",)  # the modules that were allowed when all plug-ins were loaded


def load_plugins() -> None:
    """Import the plug-ins that haven't been imported yet."""
    global _loading, _complete
    if _complete == _allowed():  # a quick exit, because names are looked up often
        return
    with _lock:
        if _loading:
            return
        _loading = True
        try:
            for plugin in plugins():
                if plugin.module not in _loaded:
                    _log.info("importing plug-in %s", plugin)
                    plugin.load()
                    _loaded.add(plugin.module)
            _complete = _allowed()
        finally:
            _loading = False


def import_again(tops: Collection[str]) -> None:
    """Let the plug-ins in these top-level modules be imported again, since other code has taken their place."""
    global _complete
    with _lock:
        _loaded.difference_update([name for name in _loaded if name.partition(".")[0] in tops])
        _complete = ("never",)


def _allowed() -> tuple[str, ...]:
    return (os.environ.get(VARIABLE, ""), *PLUGINS)


def plugins() -> list[Plugin]:
    """Return all plug-ins: those of installed packages, sorted by name, and then those that a user allows."""
    global _installed
    if _installed is None:
        _installed = [_plugin_of(entry) for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name)]
    installed = {plugin.module for plugin in _installed}
    return [*_installed, *(Plugin(module) for module in allowed_plugins() if module not in installed)]


def allowed_plugins() -> Iterable[str]:
    """Return the modules that a user allows with --plugin or in the environment."""
    names = filter(None, (name.strip() for name in os.environ.get(VARIABLE, "").split(",")))
    PLUGINS.allow(in_folder((name for name in names if name not in PLUGINS), Path.cwd()))
    return PLUGINS


def plugin_places() -> dict[str, str]:
    """Return the folder in which this process finds each allowed plug-in, for other processes of the same user."""
    allowed_plugins()
    return PLUGINS.places()


def _plugin_of(entry: EntryPoint) -> Plugin:
    package = entry.dist
    return Plugin(entry.module, "" if package is None else f"{package.name} {package.version}")
