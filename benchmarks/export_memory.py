"""Measures the peak memory of `zoo export` for CaffeNet, compared with its weights and the memory of the libraries.

Each export runs with its verification in a separate process, as users run it. The memory of the libraries is the peak
of a process that only imports what the command needs: torch, and for ONNX also onnx and onnxruntime. For ONNX, another
process also runs a session of the exported file, because onnxruntime copies the weights too. The target is that an
export needs less than the libraries plus twice the weights.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

IMPORTS = {"caffe": "import torch", "onnx": "import torch, onnx, onnxruntime"}
OUTPUTS = {"caffe": "exported", "onnx": "exported.onnx"}
MAKE = """
import numpy as np
from netdsl import Net
from zoo.catalogue import entry_of

net, random = Net(entry_of("caffenet").deploy()), np.random.default_rng(0)
weights = net.get_weights()
for blob, *_ in weights.values():
    blob[...] = random.standard_normal(blob.shape, np.float32) * (2 / blob[0].size) ** 0.5
net.set_weights(weights)
net.save("caffenet.caffemodel")
"""
SESSION = """
import numpy as np

session = onnxruntime.InferenceSession("exported.onnx", providers=["CPUExecutionProvider"])
session.run(None, {"data": np.ones((1, 3, 227, 227), np.float32)})
"""


def peak(program: str, *arguments: str) -> float:
    """Return the peak megabytes of a Python process. This process must stay small, because a child's peak starts at its
    parent's."""
    child = subprocess.Popen([sys.executable, "-c", program, *arguments], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"a process failed: {program}")
    return usage.ru_maxrss * 1024 / 1e6


def export(target: str) -> float:
    """Return the peak megabytes of an export."""
    command = ["export", "caffenet.caffemodel", "--to", target, "-o", OUTPUTS[target]]
    return peak("from zoo.cli import main; main()", *command)


def main() -> None:
    """Print the table."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    root = str(Path(__file__).parents[1])
    os.environ["PYTHONPATH"] = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
    with TemporaryDirectory() as folder:
        os.chdir(folder)
        peak(MAKE)
        weights = Path("caffenet.caffemodel").stat().st_size / 1e6
        print(f"CaffeNet has {weights:.0f} MB of weights\n")
        print(f"{'to':<8}{'MB at most':>12}{'libraries':>12}{'in weights':>12}{'with a session':>16}")
        for target, imports in IMPORTS.items():
            most, libraries = export(target), peak(imports)
            session = f"{peak(imports + SESSION):.0f}" if target == "onnx" else "-"
            times = (most - libraries) / weights
            print(f"{target:<8}{most:>12.0f}{libraries:>12.0f}{times:>12.2f}{session:>16}")


if __name__ == "__main__":
    main()
