"""A demonstration of the main commands as a user would type them. `make demo` runs it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

from caffe_proto import CaffeFile, Form, read_net, write

HERE = Path(__file__).parent
RESULTS = Path("build/demo")
SHAPES = {"conv1": [(20, 1, 5, 5), (20,)], "ip1": [(10, 3920), (10,)]}


def main() -> None:
    """Upgrade, show and compare old files, find a mistake, and fine-tune a model."""
    shutil.rmtree(RESULTS, ignore_errors=True)
    RESULTS.mkdir(parents=True)
    shutil.copy(HERE / "digits_2013.prototxt", RESULTS)
    (RESULTS / "typo.prototxt").write_text((HERE / "digits.prototxt").read_text().replace("kernel_size", "kernal_size"))

    say("A net as Caffe wrote them in 2013, with its comments, in today's form:")
    zoo("upgrade", "digits_2013.prototxt", "digits.prototxt")
    print((RESULTS / "digits.prototxt").read_text(), flush=True)
    zoo("show", "digits.prototxt")

    say("The same net with weights, written as the first Caffe wrote them and a little trained:")
    write(with_weights(RESULTS / "digits_2013.prototxt", seed=1), RESULTS / "old.caffemodel")
    write(with_weights(RESULTS / "digits_2013.prototxt", seed=2), RESULTS / "trained.caffemodel")
    zoo("upgrade", "old.caffemodel", "new.caffemodel")
    zoo("diff", "old.caffemodel", "new.caffemodel")
    zoo("diff", "old.caffemodel", "trained.caffemodel")

    say("A slip of the pen is found and named:")
    zoo("show", "typo.prototxt")

    say("A model that comes along learns to tell other shapes apart, by two workers that average what they learn:")
    new_shapes = "shapes?kinds=cross,flower,hexagon,ring"
    zoo("finetune", "shapes", "--data", new_shapes, "--epochs", "6", "--workers", "2", "-o", "new_shapes")

    say("It is a model of its own, exported to Caffe and ONNX, with a card and a report, report.html:")
    zoo("verify", "new_shapes", "new_shapes/model.onnx")
    zoo("card", "new_shapes")
    zoo("data", "convert", new_shapes.replace("?", ":test?"), "folder:photos")
    zoo("predict", "new_shapes", "photos/ring/000003.png", "photos/cross/000000.png", "--top", "2")

    print(f"\nThe results are in {RESULTS}/: " + ", ".join(sorted(path.name for path in RESULTS.iterdir())))


def with_weights(net: Path, seed: int) -> CaffeFile[object]:
    """Read a V0 net and add random blobs."""
    file = read_net(net)
    file.form = Form.BINARY
    draw = np.random.default_rng(seed)
    for layer in file.message.layers:
        for shape in SHAPES.get(layer.layer.name, []):
            file.blobs.put(layer.layer.blobs.add(), draw.standard_normal(shape, np.float32) * np.float32(0.01))
    return file


def say(what: str) -> None:
    """Print a heading."""
    print(f"\n\033[1m{what}\033[0m" if sys.stdout.isatty() else f"\n{what}", flush=True)


def zoo(*arguments: str) -> None:
    """Print and run a command in the folder of results."""
    print(f"$ zoo {' '.join(arguments)}", flush=True)
    command = [sys.executable, "-c", "from zoo.cli import main; main()", *arguments]
    subprocess.run(command, cwd=RESULTS, check=False)


if __name__ == "__main__":
    main()
