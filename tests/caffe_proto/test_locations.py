"""Layers that know where they were written. Upgrades keep these places, and no file stores them."""

from __future__ import annotations

from pathlib import Path

import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text, read_net, text_of, upgrade_file, upgrade_net, write
from caffe_proto.errors import BinaryError, CaffeError, TextError, UpgradeError
from caffe_proto.files import CaffeFile, Form
from caffe_proto.locations import located, unlocated

V2 = """name: "net"  # the layers begin below

layer { name: "a" type: "ReLU" }
layer {
  name: "b" type: "ReLU" }
layer: [{ name: "c" type: "ReLU" }, { name: "d" type: "ReLU" }]
"""
V1 = "# old\nlayers { name: 'a' type: RELU }\nlayers { name: 'b' type: TANH }\n"
V0 = """input: "x"
layers { layer { name: "pad" type: "padding" pad: 1 } bottom: "x" top: "p" }
layers { layer { name: "a" type: "conv" num_output: 2 kernelsize: 3 } bottom: "p" top: "a" }
layers { layer { name: "b" type: "relu" } bottom: "a" top: "b" }
"""


@pytest.fixture
def net(tmp_path: Path):
    def net(text: str, name: str = "net.prototxt") -> CaffeFile[pb.NetParameter]:
        (tmp_path / name).write_text(text)
        return read_net(tmp_path / name)

    return net


def read_located(file: CaffeFile[pb.NetParameter]) -> pb.NetParameter:
    return located(file.message, file.path, file.body)


def lines(net: pb.NetParameter) -> dict[str, str]:
    return {layer.name: layer.location.rpartition("/")[2] for layer in net.layer}


def test_every_layer_of_a_prototxt_has_its_line(net) -> None:
    assert lines(read_located(net(V2))) == {
        name: f"net.prototxt:{line}" for name, line in zip("abcd", "3466", strict=True)
    }


@pytest.mark.parametrize(("text", "expected"), [(V1, {"a": "2", "b": "3"}), (V0, {"a": "3", "b": "4"})])
def test_layers_of_old_nets_keep_their_lines(net, text: str, expected: dict[str, str]) -> None:
    upgraded = upgrade_net(read_located(net(text))).message
    assert lines(upgraded) == {name: f"net.prototxt:{line}" for name, line in expected.items()}


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        (V1.replace("type: TANH", "import_param { }"), 3, "layer 'b': import_param has no equivalent"),
        (V0.replace("relu", "rely"), 4, "layer 'b': 'rely' isn't a V0 type"),
        (V0.replace('bottom: "a"', 'bottom: "o"'), 4, "layer 'b': the bottom 'o' isn't an input"),
        (V0.replace('bottom: "a"', 'name: "z" bottom: "a"'), 4, "layer 'b': name is a V1 field"),
    ],
)
def test_a_layer_that_cannot_be_upgraded_is_reported_with_its_line(net, text: str, line: int, what: str) -> None:
    with pytest.raises(UpgradeError, match=rf"net\.prototxt:{line}: {what}"):
        upgrade_file(net(text))


def test_layers_of_a_binary_file_have_the_files_name_as_their_place(tmp_path: Path) -> None:
    write(CaffeFile(from_text(V2, pb.NetParameter)), tmp_path / "x.caffemodel")
    assert set(lines(read_located(read_net(tmp_path / "x.caffemodel"))).values()) == {"x.caffemodel"}


def test_a_net_that_was_not_read_from_a_file_has_no_places() -> None:
    assert read_located(CaffeFile(from_text(V2, pb.NetParameter))) == from_text(V2, pb.NetParameter)


def test_places_do_not_change_the_file(net) -> None:
    file = net(V2)
    assert unlocated(read_located(file)) == file.message == from_text(V2, pb.NetParameter)
    upgraded, _ = upgrade_file(net(V1))
    assert "location" not in str(upgraded.message)


@pytest.mark.parametrize("form", [Form.TEXT, Form.BINARY])
def test_places_are_never_written(net, tmp_path: Path, form: Form) -> None:
    write(CaffeFile(read_located(net(V2))), tmp_path / "written", form=form)
    assert b"net.prototxt" not in (tmp_path / "written").read_bytes()
    assert read_net(tmp_path / "written").message == from_text(V2, pb.NetParameter)


def test_a_file_cannot_set_a_place() -> None:
    with pytest.raises(TextError, match="unknown field 'location'"):
        from_text("layer { name: 'a' location: 'elsewhere:3' }", pb.NetParameter)


def test_a_binary_file_that_sets_a_place_is_damaged(net, tmp_path: Path) -> None:
    (tmp_path / "x.caffemodel").write_bytes(read_located(net(V2)).SerializeToString())
    with pytest.raises(BinaryError, match="can't be in a file"):
        read_net(tmp_path / "x.caffemodel")


def test_text_has_no_places(net) -> None:
    assert text_of(read_located(net(V2))) == text_of(from_text(V2, pb.NetParameter))


def test_internal_fields_are_not_suggested_for_a_typo() -> None:
    with pytest.raises(CaffeError, match=r"unknown field 'locatoin'$"):
        from_text("layer { name: 'a' locatoin: 'x' }", pb.NetParameter)
