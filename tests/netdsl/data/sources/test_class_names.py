"""Names of classes from files near data and models."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from caffe_proto.errors import LimitError
from caffe_proto.limits import VARIABLE
from netdsl.data.sources.class_names import (
    class_groups,
    class_names_in,
    class_names_of_model,
    classes_of,
    read_class_names,
    write_class_names,
)
from netdsl.data.sources.images import FolderSource
from netdsl.data.sources.known_sets import DigitsSource
from netdsl.data.sources.open_source import open_source
from netdsl.errors import DataError

LABEL_MAP = """
item { name: "none" label: 0 display_name: "background" }
item { name: "n02" label: 2 display_name: "cat" }
item { name: "dog" label: 3 }
"""


def test_a_text_file_has_a_name_on_each_line(tmp_path: Path) -> None:
    (tmp_path / "labels.txt").write_text("cat\n tench, Tinca tinca \n\ndog")
    assert read_class_names(tmp_path / "labels.txt") == ("cat", "tench, Tinca tinca", "dog")


def test_a_label_map_gives_names_their_numbers(tmp_path: Path) -> None:
    (tmp_path / "labelmap.prototxt").write_text(LABEL_MAP)
    assert class_names_in(tmp_path) == ("background", "1", "cat", "dog")
    (tmp_path / "labels.txt").write_text("one\n")
    assert class_names_in(tmp_path) == ("one",)


@pytest.mark.parametrize("label", ["-1", "2000000000"])
def test_a_label_map_with_invalid_numbers_is_refused(tmp_path: Path, label: str) -> None:
    (tmp_path / "map.prototxt").write_text(f'item {{ name: "a" label: {label} }}')
    with pytest.raises(DataError, match=r"map.prototxt: a label isn't from 0 to 1,048,575"):
        read_class_names(tmp_path / "map.prototxt")


def test_names_from_any_folder_can_be_printed_and_written(tmp_path: Path) -> None:
    (tmp_path / "a\nb").mkdir()
    (tmp_path / "a\nb/1.png").write_bytes(b"")
    assert classes_of(FolderSource(tmp_path)) == ("a\\nb",)
    assert classes_of(DigitsSource()) == ()


def test_a_models_own_names_come_before_those_of_its_folder(tmp_path: Path) -> None:
    model = tmp_path / "lenet_iter_20.caffemodel"
    assert class_names_of_model(model) == ()
    write_class_names(["x", "y"], tmp_path / "labels.txt")
    assert class_names_of_model("other/net.prototxt", model) == ("x", "y")
    write_class_names(["cat", "dog"], tmp_path / "lenet_labels.txt")
    for name in ("lenet_iter_20.caffemodel", "lenet_iter_20.caffemodel.h5", "lenet.onnx"):
        assert class_names_of_model(tmp_path / name) == ("cat", "dog")


def list_with_names(folder: Path) -> str:
    (folder / "list.txt").write_text("a.png 1\n")
    return str(folder / "list.txt")


def mnist_with_names(folder: Path) -> str:
    (folder / "train-images-idx3-ubyte").write_bytes(bytes([0, 0, 8, 3, *[0, 0, 0, 1] * 3, 5]))
    (folder / "train-labels-idx1-ubyte").write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 1, 1]))
    return str(folder)


def cifar_with_names(folder: Path) -> str:
    for name in ["test_batch.bin", *(f"data_batch_{number}.bin" for number in range(1, 6))]:
        (folder / name).write_bytes(bytes(3073))
    return str(folder)


@pytest.mark.parametrize(
    ("make", "file"),
    [(list_with_names, "labels.txt"), (mnist_with_names, "labels.txt"), (cifar_with_names, "batches.meta.txt")],
)
def test_data_sets_find_their_names(tmp_path: Path, make: Callable[[Path], str], file: str) -> None:
    name = make(tmp_path)
    with closing(open_source(name)) as source:
        assert classes_of(source) == ()
    (tmp_path / file).write_text("cat\ndog\n")
    with closing(open_source(name)) as source:
        assert classes_of(source) == ("cat", "dog")


def test_hugging_face_tables_contain_their_class_names(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    metadata = '{"info": {"features": {"animal": {"names": ["cat", "dog"], "_type": "ClassLabel"}, "x": null}}}'
    for text, names in ((metadata, ("cat", "dog")), ("[", ()), ("[1]", ()), (metadata.replace('"cat"', "1"), ())):
        schema = pa.schema([("x", pa.float32()), ("animal", pa.int64())], {b"huggingface": text.encode()})
        table = pa.table({"x": np.zeros(2, np.float32), "animal": [0, 1]}, schema=schema)
        pq.write_table(table, tmp_path / "rows.parquet")
        with pa.ipc.new_file(str(tmp_path / "rows.arrow"), schema) as file:
            file.write_table(table)
        for ending in ("parquet", "arrow"):
            with closing(open_source(f"{tmp_path}/rows.{ending}")) as source:
                assert classes_of(source) == names
    with closing(open_source(f"{tmp_path}/rows.arrow?columns=x")) as source:
        assert classes_of(source) == ()


@pytest.mark.parametrize("read", [read_class_names, class_groups])
def test_the_text_of_a_label_map_is_charged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: Callable[[Path], object]
) -> None:
    monkeypatch.setenv(VARIABLE, "text-characters=10")
    (tmp_path / "map.prototxt").write_text("# " + "a" * 1000)
    with pytest.raises(
        LimitError, match=r"map\.prototxt: the file needs 11 characters or more, .*=text-characters=20$"
    ):
        read(tmp_path / "map.prototxt")
