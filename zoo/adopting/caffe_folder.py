"""A folder that looks like a Caffe that has been built, so that scripts find its programs and `import caffe`."""

from __future__ import annotations

import sys
from pathlib import Path
from shlex import quote

from netdsl.errors import DataError
from netdsl.own_packages import IMPORTABLE_CAFFE

# Caffe's programs, each with the words of the command that replaces it.
_PROGRAMS = {
    "caffe": 'caffe "$@"',
    "convert_imageset": 'caffe convert_imageset "$@"',
    "compute_image_mean": 'caffe compute_image_mean "$@"',
    "extract_features": 'caffe extract_features "$@"',
    "upgrade_net_proto_text": 'upgrade "$@"',
    "upgrade_net_proto_binary": 'upgrade "$@"',
    "upgrade_solver_proto_text": 'upgrade "$@"',
    # Programs of 2014, which `caffe` replaced.
    "train_net": 'caffe train -solver "$1" ${2:+-snapshot "$2"}',
    "finetune_net": 'caffe train -solver "$1" -weights "$2"',
    "test_net": 'caffe test -model "$1" -weights "$2" -iterations "${3:-50}"',
    "net_speed_benchmark": 'caffe time -model "$1" -iterations "${2:-50}"',
    "device_query": "caffe device_query",
}
PROGRAMS = frozenset(_PROGRAMS)
_TOOLS = "build/tools"  # relative to the folder
_SAME = {".build_release": "build", "build_release": "build", "distribute/bin": f"../{_TOOLS}", "bin": _TOOLS}


def write_caffe_folder(folder: Path) -> None:
    """Write the folder, or the programs in a folder that was written before. Another folder is an error."""
    tools = folder / _TOOLS
    if folder.exists() and not (tools / "caffe").exists() and any(folder.iterdir()):
        raise DataError(
            f"{folder}: the folder isn't empty, and this command didn't write it; name a new folder with --caffe-folder"
        )
    tools.mkdir(parents=True, exist_ok=True)
    for name, words in _PROGRAMS.items():
        for path in (tools / name, tools / f"{name}.bin"):
            path.write_text(f"#!/bin/sh\nexec {quote(sys.executable)} -P -m zoo {words}\n")
            path.chmod(0o755)
    for name, target in {**_SAME, "python": str(IMPORTABLE_CAFFE)}.items():
        link = folder / name
        link.parent.mkdir(exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(target)
