"""An export needs little more memory than one copy of the weights, or than onnxruntime needs anyway."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

WEIGHTS = 80  # MB

# This runs in its own process, since other memory would distort the figures. A small net is exported first, to exclude
# the libraries' own memory.
PROGRAM = """
import json
from pathlib import Path

import numpy as np
import onnxruntime

from converters.caffe import write_net
from netdsl.model import Model
from netdsl import dsl
from caffe_proto import caffe_pb2 as pb
from zoo.exporting import export

def resident(field):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field + ":")) / 1024

def added(task, *arguments):
    before = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the most so far is forgotten
    task(*arguments)
    return resident("VmHWM") - before

def write(name, outputs):
    shape = {"dim": [1, 1000]}
    layers = [dsl.Input("data", [], tops=["data"], shape=[shape])]
    layers += [dsl.InnerProduct(f"ip{index}", ["data"], num_output=outputs, bias_term=False) for index in range(5)]
    random = np.random.default_rng(0)
    weights = {f"ip{index}": [random.standard_normal((outputs, 1000), np.float32)] for index in range(5)}
    write_net(Model(pb.NetParameter(name=name, layer=layers), weights), name)

def to(target, name):
    path = Path(f"{name}_caffe" if target == "caffe" else f"{name}.onnx")
    export(net=f"{name}.prototxt", weights=(f"{name}.caffemodel",), target=target, output=str(path))

def run(name):
    session = onnxruntime.InferenceSession(f"{name}.onnx", providers=["CPUExecutionProvider"])
    session.run(None, {"data": np.ones((1, 1000), np.float32)})

write("small", 10)
write("large", WEIGHTS * 1024 * 1024 // 4 // 5 // 1000)
for target in ("caffe", "onnx"):
    to(target, "small")
run("small")
caffe, onnx = (added(to, target, "large") for target in ("caffe", "onnx"))
print(json.dumps({"caffe": caffe, "onnx": onnx, "session": added(run, "large")}))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells and forgets a process's most memory")
def test_an_export_holds_the_weights_once(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    program = PROGRAM.replace("WEIGHTS", str(WEIGHTS))
    # Glibc returns larger blocks as soon as they are freed.
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "1000000"}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    added = json.loads(done.stdout)
    assert added["caffe"] < 1.5 * WEIGHTS, added  # weights in the layers, and parts of the mapped file
    # torch and onnxruntime don't need their memory at the same time
    assert added["onnx"] < max(added["session"], WEIGHTS) + WEIGHTS / 2, added
