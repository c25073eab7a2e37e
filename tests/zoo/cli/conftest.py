"""The command line in this process, as its console script runs it."""

from __future__ import annotations

import io
import resource
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from netdsl import Accuracy, LinearLayer, Net, NetParams, RDDLayer, Softmax, SoftmaxWithLoss
from netdsl.data.sources.open_source import open_source
from tests.memory_storage import published, put
from zoo.catalogue.writing import write_model
from zoo.cli import main

__all__ = ["published", "put"]

needs_onnx = pytest.mark.skipif(not find_spec("onnx") or not find_spec("onnxruntime"), reason="needs the extra onnx")


class Done(NamedTuple):
    """The exit code and the output of a command."""

    code: int
    out: str
    err: str


Zoo = Callable[..., Done]


@pytest.fixture
def zoo(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path) -> Zoo:
    """Run `zoo` in an empty folder. Bytes that aren't UTF-8 are returned as surrogates."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)  # pytest's workers set this to the terminal's width

    def run(*words: str, stdin: bytes = b"") -> Done:
        monkeypatch.setattr(sys, "argv", ["zoo", *words])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = (text.decode("utf-8", "surrogateescape") for text in capfdbinary.readouterr())
        assert "Traceback" not in out + err
        return Done(int(ended.value.code or 0), out, err)

    return run


@pytest.fixture(scope="session")
def lenet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the files of the catalogue's LeNet."""
    folder = tmp_path_factory.mktemp("models") / "lenet"
    write_model("lenet", folder)
    return folder


@pytest.fixture
def full_disk() -> Callable[[int], AbstractContextManager[None]]:
    """Limit files to this many bytes, as on a full disk."""

    @contextmanager
    def full(size: int) -> Iterator[None]:
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    return full


@dataclass(frozen=True)
class Digits:
    """A net with weights, and digits as rows of a table."""

    net: str
    weights: str
    table: str
    arrays: dict[str, np.ndarray]

    def outputs(self, *names: str) -> list[np.ndarray]:
        """Return the net's outputs for all rows at once."""
        found = Net(self.net, weights=self.weights, phase="TEST").forward(**self.arrays)
        return [found[name].numpy() for name in names]


@pytest.fixture(scope="session")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Digits:
    """Make a net whose batches have 36 rows, and 355 rows in two files, the first of which has 180."""
    folder = tmp_path_factory.mktemp("digits")
    layers = NetParams(
        "digits",
        RDDLayer("data", shape=[36, 1, 8, 8], transform_param={"scale": 1 / 16}),
        RDDLayer("label", shape=[36]),
        LinearLayer("hidden", ["data"], num_outputs=6, weight_filler={"type": "gaussian", "std": 0.5}),
        LinearLayer("scores", ["hidden"], num_outputs=10, weight_filler={"type": "gaussian", "std": 1}),
        Softmax("prob", ["scores"]),
        Accuracy("accuracy", ["scores", "label"]),
        SoftmaxWithLoss("loss", ["scores", "label"]),
    )
    torch.manual_seed(3)
    Net(layers).save(folder / "digits.caffemodel")
    (folder / "digits.prototxt").write_text(layers.prototxt())
    with closing(open_source("digits:test")) as source:
        items = [source.item(source.fetch(index)) for index in range(len(source))]
    pixels, labels = (np.stack(arrays).astype(np.float32) for arrays in zip(*items, strict=True))
    table = pa.table({"number": range(355), "data": [each.ravel() for each in pixels], "label": labels})
    (folder / "rows").mkdir()
    pq.write_table(table.slice(0, 180), folder / "rows/a.parquet", row_group_size=50)
    pq.write_table(table.slice(180), folder / "rows/b.parquet")
    files = (str(folder / name) for name in ("digits.prototxt", "digits.caffemodel", "rows"))
    return Digits(*files, {"data": pixels / 16, "label": labels})
