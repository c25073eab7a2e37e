"""Runs the pages and notebooks of the documentation with an installed wheel, in a new environment: `make test-wheel`.

Needs uv. It passes its arguments to pytest, such as `-k train.md`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from requirements.installation import copy_to, install_wheel

PAGES = ("docs", "examples", "README.md", "pyproject.toml", "tests/pages")  # pyproject.toml contains pytest's settings
EXTRAS = "convert,data,docs,hub,logs,mpi,onnx,planner,serve,spark"


def main(arguments: list[str]) -> int:
    """Build the wheel, install it, and run the pages in a folder from which the source tree can't be imported."""
    with TemporaryDirectory() as folder:
        place = Path(folder, "pages")
        copy_to(place, PAGES)
        programs = install_wheel(Path(folder), EXTRAS, "pytest")
        variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        variables["NETDSL_PROGRESS"] = "no"  # whether a line reports progress depends on the speed of the machine
        # PySpark starts the workers' Python by its name, as in an activated environment.
        variables["PATH"] = f"{programs}{os.pathsep}{variables['PATH']}"
        where = "import netdsl, sys; print(sys.version.split()[0], netdsl.__file__)"
        command = [programs / "python", "-P", "-c", where]
        shown = subprocess.run(command, cwd=place, env=variables, check=True, capture_output=True, text=True).stdout
        print(shown, end="", flush=True)
        if str(programs.parent) not in shown:
            return 1
        tests = [programs / "python", "-m", "pytest", "-q", "-m", "pages or slow or spark", "tests/pages", *arguments]
        return subprocess.run(tests, cwd=place, env=variables).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
