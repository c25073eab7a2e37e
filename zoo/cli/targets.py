"""Output of `zoo targets`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from zoo.cli.console import print_table
from zoo.cli.output import print_line
from zoo.requests.request import Request
from zoo.targets import ListedTarget, RemovedTarget

_FORMATS = {"onnx": "ONNX", "caffe": "Caffe"}


def show_targets(targets: Sequence[ListedTarget], request: Request) -> None:
    """Print the targets as a table."""
    rows = [
        {"target": each.name, "reads": _FORMATS[each.format], "installed": _installed(each), "": each.title}
        for each in targets
    ]
    print_table(rows)


def show_installed(targets: Sequence[ListedTarget], request: Request) -> None:
    """Print the versions of the installed packages, and their folders."""
    for each in targets:
        print_line(f"target {each.name} has {_versions(each)}, in {each.folder}")


def show_removed(targets: Sequence[RemovedTarget], request: Request) -> None:
    """Print the removed folders."""
    for each in targets:
        print_line(f"target {each.name} wasn't installed" if each.folder is None else f"removed {each.folder}")


def _installed(target: ListedTarget) -> str:
    return _versions(target) if target.packages else "(rules)"


def _versions(target: ListedTarget) -> str:
    """Return the versions of the packages that the target names."""
    names = [_normal(re.split(r"[^\w.-]", package)[0]) for package in target.packages]
    versions = {_normal(name): version for name, version in target.versions.items()}
    return ", ".join(f"{name} {versions[name]}" for name in names if name in versions)


def _normal(name: str) -> str:
    """Return the name of a package as package indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()
