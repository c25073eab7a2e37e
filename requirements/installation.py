"""Builds the wheel and installs it into a new environment, with uv."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCES = ("caffe_proto", "converters", "netdsl", "zoo", "LICENSE", "README.md", "pyproject.toml", "setup.py")
# PySpark is pure Python and has no wheels, so building it needs no compiler.
WITHOUT_COMPILER = ("--only-binary=:all:", "--no-binary=pyspark")


def copy_to(folder: Path, names: tuple[str, ...]) -> None:
    """Copy files and folders of the repository."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, folder / name)


def install_wheel(folder: Path, extras: str, *packages: str) -> Path:
    """Build the wheel in a folder, and install it without a compiler into an environment there. Returns the folder of
    the environment's programs."""
    copy_to(folder / "tree", SOURCES)
    subprocess.run(["uv", "build", "--quiet", "--wheel", f"--out-dir={folder}", folder / "tree"], check=True)
    wheel, programs = next(folder.glob("*.whl")), folder / "environment/bin"
    subprocess.run(["uv", "venv", "--quiet", f"--python={sys.executable}", programs.parent], check=True)
    install = ["uv", "pip", "install", "--quiet", *WITHOUT_COMPILER, f"--python={programs / 'python'}"]
    # Makes a build that needs a compiler fail.
    variables = {**os.environ, "CC": "/no-compiler", "CXX": "/no-compiler"}
    subprocess.run([*install, f"netdsl[{extras}] @ {wheel.as_uri()}", *packages], check=True, env=variables)
    return programs
