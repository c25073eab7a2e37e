"""Writes lock.txt and cuda.txt: `make lock`, which needs uv.

lock.txt lists the packages that `make setup` installs. cuda.txt lists the additional packages of torch's CUDA build.
Both contain the hashes of all files. Locked versions stay unless pyproject.toml forbids them. To get the newest
versions, delete lock.txt first.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
EXTRAS = ("data", "logs", "onnx", "convert", "spark", "connect", "mpi", "hub", "planner", "serve", "dev", "docs")
OLDEST_PYTHON = "3.11"
CUDA = ("cuda-", "nvidia-", "triton")
# The package index has torch with CUDA only. This is the hash of the same release without CUDA, which pip prefers if it
# is offered.
TORCH_WITHOUT_CUDA = "6746dbcbeb526eb61330b76b41ff1b4eb848951103a892eeb080dfa2b264667b"


def main() -> int:
    """Write both files."""
    command = ["uv", "pip", "compile", "--quiet", "--universal", "--generate-hashes", "--no-header", "--no-annotate"]
    options = [f"--python-version={OLDEST_PYTHON}", *(f"--extra={extra}" for extra in EXTRAS)]
    if (HERE / "lock.txt").exists():
        options.append(f"--constraint={HERE / 'lock.txt'}")
    try:
        run = subprocess.run([*command, *options, HERE.parent / "pyproject.toml"], stdout=subprocess.PIPE, text=True)
    except FileNotFoundError:
        sys.exit("uv isn't installed; run: pip install uv")
    if run.returncode:
        return run.returncode
    packages = re.split(r"\n(?=\S)", run.stdout.strip())
    packages = [
        f"{text} \\\n    --hash=sha256:{TORCH_WITHOUT_CUDA}" if text.startswith("torch==") else text
        for text in packages
    ]
    _write("lock.txt", [text for text in packages if not text.startswith(CUDA)])
    _write("cuda.txt", [text for text in packages if text.startswith(CUDA)])
    return 0


def _write(name: str, packages: list[str]) -> None:
    (HERE / name).write_text("# Written by `make lock`.\n" + "".join(f"{text}\n" for text in packages))


if __name__ == "__main__":
    sys.exit(main())
