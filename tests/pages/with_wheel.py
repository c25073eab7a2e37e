"""Runs the pages and notebooks of the documentation with an installed wheel, in a new environment: `make test-wheel`.

The Python that runs this file creates the environment with uv or, if uv isn't installed, with venv and pip. It passes
its arguments to pytest, such as `-k train.md`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parent.parent.parent
SOURCES = ("caffe_proto", "converters", "netdsl", "zoo", "LICENSE", "README.md", "pyproject.toml", "setup.py")
PAGES = ("docs", "examples", "README.md", "pyproject.toml", "tests/pages")  # pyproject.toml contains pytest's settings
EXTRAS = "convert,data,docs,hub,logs,mpi,onnx,planner,serve,spark"


def copy_to(folder: Path, names: tuple[str, ...]) -> None:
    """Copy files and folders of the repository."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, folder / name)


def install(environment: Path, *packages: str) -> Path:
    """Create an environment with packages, and return its Python."""
    python = environment / "bin/python"
    if uv := shutil.which("uv"):
        subprocess.run([uv, "venv", "-q", "--python", sys.executable, environment], check=True)
        subprocess.run([uv, "pip", "install", "-q", "--python", python, *packages], check=True)
    else:
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *packages], check=True)
    return python


def main(arguments: list[str]) -> int:
    """Build the wheel, install it, and run the pages in a folder from which the source tree can't be imported."""
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with TemporaryDirectory() as folder:
        tree, place, environment = Path(folder, "tree"), Path(folder, "pages"), Path(folder, "environment")
        copy_to(tree, SOURCES)
        copy_to(place, PAGES)
        subprocess.run([sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, tree], check=True)
        wheel = next(Path(folder).glob("*.whl"))
        python = install(environment, f"{wheel}[{EXTRAS}]", "pytest")
        where = "import netdsl, sys; print(sys.version.split()[0], netdsl.__file__)"
        shown = subprocess.run(
            [python, "-P", "-c", where], cwd=place, env=clean, check=True, capture_output=True, text=True
        )
        print(shown.stdout, end="", flush=True)
        if str(environment) not in shown.stdout:
            return 1
        tests = [python, "-m", "pytest", "-q", "-m", "pages or slow or spark", "tests/pages", *arguments]
        return subprocess.run(tests, cwd=place, env=clean).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
