"""The environments of targets. Each is a folder of the cache in which a target's packages are installed, apart from
netdsl's own."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from caffe_proto.errors import FileError
from caffe_proto.storage import PRIVATE, create_folder, temporary_folder
from converters.targets.target import Target
from converters.usage_reports import NO_REPORTS
from netdsl.errors import ConversionError
from netdsl.storage.cache_folder import cache_folder

if TYPE_CHECKING:
    from converters.running import Work

_RECORD = "environment.json"  # in an environment: the versions of its packages
_DIGITS = 8  # of a hash in a folder's name
_LINE = 300  # characters of a reason that pip gives


@dataclass(frozen=True)
class TargetEnvironment:
    """An environment, and the versions of its packages by name."""

    folder: Path
    versions: Mapping[str, str]

    @property
    def python(self) -> Path:
        """The environment's Python."""
        return self.folder / "bin" / "python"


def installed_target(target: Target) -> TargetEnvironment | None:
    """Return the environment of a target, or `None` if it isn't installed."""
    folder = _folder_of(target)
    try:
        return TargetEnvironment(folder, json.loads((folder / _RECORD).read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return None


def install_target(target: Target, work: Work) -> TargetEnvironment:
    """Install the packages of a target into an environment of its own, unless it exists, and return it."""
    found = installed_target(target)
    if found is not None:
        return found
    folder = _folder_of(target)
    create_folder(folder.parent, PRIVATE)
    with temporary_folder(folder.parent, folder.name) as hidden:
        python = str(hidden / "bin" / "python")
        with work("making an environment", 1):
            _run([sys.executable, "-m", "venv", str(hidden)], target)
        install = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-input"]
        for packages, options in ((target.packages, []), (target.without_dependencies, ["--no-deps"])):
            if packages:
                with work(f"installing {', '.join(packages)}", 1):
                    _run([*install, *options, *packages], target)
        listed = json.loads(_run([python, "-m", "pip", "list", "--format", "json"], target))
        versions = {package["name"]: package["version"] for package in listed}
        (hidden / _RECORD).write_text(json.dumps(versions), encoding="utf-8")
        if installed_target(target) is None:  # another process may have been faster
            remove_target(target)
            hidden.rename(folder)
    return TargetEnvironment(folder, versions)


def remove_target(target: Target) -> Path | None:
    """Remove the environment of a target. Returns its folder, or `None` if there was none."""
    folder = _folder_of(target)
    if not folder.exists():
        return None
    (folder / _RECORD).unlink(missing_ok=True)  # so that no process sees it half removed
    shutil.rmtree(folder)
    return folder


def own_variables(environment: TargetEnvironment) -> dict[str, str]:
    """Return the variables for a program in an environment. Packages that install others when they are imported find
    neither another environment nor the network. onnxruntime doesn't report its use."""
    return {**NO_REPORTS, **os.environ, "PATH": str(environment.python.parent), "PIP_NO_INDEX": "1"}


def _folder_of(target: Target) -> Path:
    """Return the folder of an environment. Targets with the same packages share one."""
    packages = [*target.packages, "", *target.without_dependencies]
    first = re.split(r"[^\w.-]", next(iter(target.packages), "empty"))[0].lower()
    digest = hashlib.sha256("\n".join([sys.version, *packages]).encode()).hexdigest()
    return cache_folder() / "targets" / f"{first}-{digest[:_DIGITS]}"


def _run(command: Sequence[str], target: Target) -> str:
    """Return the output of a command that makes an environment."""
    try:
        ended = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False
        )
    except OSError as problem:
        raise FileError(f"{command[0]}: it can't be run: {problem.strerror}; install netdsl again") from None
    if ended.returncode:
        raise ConversionError(
            f"the environment of target '{target.name}' can't be made: {_reason(ended.stderr or ended.stdout)}; check "
            "the network and pip's settings, and run the command again"
        )
    return ended.stdout


def _reason(text: str) -> str:
    """Return the first error in the output of pip or venv, or its last line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()] or ["it gives no reason"]
    return next((line for line in lines if line.startswith(("ERROR", "Error"))), lines[-1])[:_LINE]
