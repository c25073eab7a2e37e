"""The request to adopt a whole Caffe project."""

from __future__ import annotations

from pathlib import Path

from zoo.requests.request import Request, argument, option, request


@request
class AdoptRequest(Request):
    """Read an old Caffe project in FOLDER as a whole: its shell scripts, solvers, nets, means, lists, databases, Python
    layers and pycaffe scripts. Print how they are connected, what is missing, and how each solver is trained here.
    Nothing of the project is run or changed.

    Scripts run unchanged if they find a Caffe. --caffe-folder writes a folder that looks like one, and the command
    prints the link or the environment variable that lets the scripts find it. If files name paths of another machine,
    the command prints the links that make these paths right, and writes the same changes as a patch for `patch -p1`.
    The exit code is 1 if a solver can't train yet.
    """

    folder: Path = argument("FOLDER")
    output: str | None = option(
        "Patch to write if files need changes; by default FOLDER.patch in the current folder.",
        default=None, short="o", metavar="PATCH",
    )  # fmt: skip
    caffe_folder: Path | None = option(
        "Folder to write that looks like a built Caffe, with its programs and its Python module.",
        default=None, metavar="FOLDER",
    )  # fmt: skip
