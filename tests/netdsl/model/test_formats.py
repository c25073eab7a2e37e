"""Formats and names of models that other packages register. Those packages are imported on demand."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from caffe_proto.errors import FileError
from netdsl.errors import RegistryError
from netdsl.model import formats
from netdsl.model.formats import FORMATS, FileModel, named_model, reader_of
from netdsl.model.model import open_net
from netdsl.registry import register_format


def test_names_and_onnx_only_require_importing_netdsl(tmp_path: Path) -> None:
    named = """
import netdsl
assert netdsl.Net("shapes").message.name == "Shapes"
from netdsl.model import open_model
assert open_model("resnet-50", deployed=True).net.layer[0].type == "Input"
from converters.onnx import export_onnx
export_onnx(open_model("shapes", deployed=True), "net.onnx")
"""
    from_onnx = 'import netdsl; assert "conv1" in netdsl.Net("net.onnx").get_weights()'
    for program in (named, from_onnx):
        subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)


def test_opening_a_file_imports_no_package_for_names(tmp_path: Path) -> None:
    (tmp_path / "net.prototxt").write_text('layer { name: "x" type: "Input" top: "x" }')
    program = (
        "import sys; from netdsl.model.model import open_net; open_net('net.prototxt'); print('zoo' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FORMATS._values, ".onnx", "no_such_package.reading:read")
    with pytest.raises(FileError, match=r"x.onnx: to read this file, no_such_package.reading is needed, but the pack"):
        reader_of(Path("x.onnx"))
    monkeypatch.setattr(formats, "_ZOO", "no_such_package.names:find")
    with pytest.raises(
        FileError, match=r"lenett: this is not a file; to look for a model of this name, no_such_package.names"
    ):
        open_net("lenett")


def test_an_unknown_name_is_treated_as_a_file() -> None:
    assert named_model("other.prototxt") == FileModel(Path("other.prototxt"))


@pytest.mark.parametrize("suffix", [".caffemodel", ".onnx"])
def test_netdsls_suffixes_cannot_be_registered_again(suffix: str) -> None:
    with pytest.raises(RegistryError, match=rf"the format '{suffix}' is defined twice, by netdsl\.model"):
        register_format(suffix)(lambda path: None)
