"""The programs that run exported models, for `zoo targets`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from converters.targets.environment import install_target, installed_target, remove_target
from converters.targets.target import TARGETS, Target, check_runs, target_of
from zoo.requests.events import Listen, work
from zoo.requests.exporting import TargetInstallRequest, TargetListRequest, TargetRemoveRequest
from zoo.requests.request import answers


@dataclass(frozen=True)
class ListedTarget:
    """A target, and the versions of the packages that are installed for it."""

    name: str
    title: str
    format: str
    packages: tuple[str, ...]
    versions: Mapping[str, str]
    folder: Path | None  # of its environment, if that is installed


@dataclass(frozen=True)
class RemovedTarget:
    """A target whose environment was removed, or that had none."""

    name: str
    folder: Path | None


@answers(TargetListRequest)
def list_targets(request: TargetListRequest, listen: Listen) -> list[ListedTarget]:
    """Return all targets."""
    return [_listed(target) for target in TARGETS.values()]


@answers(TargetInstallRequest)
def install(request: TargetInstallRequest, listen: Listen) -> list[ListedTarget]:
    """Install the environments of targets."""
    targets = [target_of(name) for name in request.names]
    for target in targets:
        check_runs(target)
    for target in targets:
        install_target(target, partial(work, listen))
    return [_listed(target) for target in targets]


@answers(TargetRemoveRequest)
def remove(request: TargetRemoveRequest, listen: Listen) -> list[RemovedTarget]:
    """Remove the environments of targets."""
    return [RemovedTarget(name, remove_target(target_of(name))) for name in request.names]


def _listed(target: Target) -> ListedTarget:
    packages = (*target.packages, *target.without_dependencies)
    environment = installed_target(target)
    if environment is None:
        return ListedTarget(target.name, target.title, target.format, packages, {}, None)
    return ListedTarget(target.name, target.title, target.format, packages, environment.versions, environment.folder)
