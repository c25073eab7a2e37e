"""Temporary registrations for tests."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from caffe_proto import dialects
from netdsl import plugins
from netdsl.data.sources.open_source import KINDS
from netdsl.distributed.launchers import LAUNCHERS
from netdsl.distributed.strategies.settings import STRATEGIES
from netdsl.distributed.transports import CONNECTIONS
from netdsl.layer import Layer
from netdsl.layers import LAYERS
from netdsl.model.formats import FORMATS
from netdsl.registry import Registry
from zoo.catalogue import MODELS


@contextmanager
def registered(**layer_classes: type[Layer]) -> Iterator[None]:
    """Register layer types under these names, which may replace netdsl's own. Afterwards the registry is restored."""
    with restored(LAYERS):
        LAYERS._values.update(layer_classes)
        yield


@contextmanager
def forgotten_plugins(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Start without plug-ins. Afterwards forget which plug-ins were imported, and everything that they registered."""
    monkeypatch.setattr(plugins, "_loaded", set())
    monkeypatch.setattr(plugins, "_installed", None)
    monkeypatch.setattr(plugins, "_complete", ("never",))
    monkeypatch.delenv(plugins.VARIABLE, raising=False)
    modules = set(sys.modules)
    with ExitStack() as stack:
        for registry in (LAYERS, KINDS, STRATEGIES, LAUNCHERS, CONNECTIONS, FORMATS, MODELS):
            stack.enter_context(restored(registry))
        stack.callback(forget_dialects)
        yield
    for name in set(sys.modules) - modules:
        if not name.startswith(("netdsl.", "zoo.", "converters.", "torch")):
            del sys.modules[name]


def installed_as_package(folder: Path, module: str, package: str = "netdsl-of-somebody 1.2") -> None:
    """Write the metadata that pip would write for a module in a folder: its distribution, and its plug-in entry
    point."""
    name, version = package.split()
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(f"[{plugins.GROUP}]\n{module} = {module}\n")


def forget_dialects() -> None:
    """Forget all dialects except caffe_proto's own tables."""
    for name in dialects.registered_tables():
        dialects.unregister_dialect(name)


@contextmanager
def restored(registry: Registry[Any]) -> Iterator[None]:
    before = dict(registry._values)
    try:
        yield
    finally:
        registry._values.clear()
        registry._values.update(before)
