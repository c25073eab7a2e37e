"""What a net's dialect is, as its fields tell it or as somebody says it, and how files keep that."""

from __future__ import annotations

from pathlib import Path

import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from caffe_proto.errors import CaffeError, TextError
from caffe_proto.files import CaffeFile, prototxt, read_net, write
from caffe_proto.net_dialect import mark, mark_by_fields, marks_of, possible_dialects
from caffe_proto.text.prototxt import text_of
from caffe_proto.upgrade.file import upgrade_file

BN = 'layer { name: "b" type: "BN" bottom: "x" top: "y" }'


def net(text: str) -> pb.NetParameter:
    return from_text(text, pb.NetParameter)


@pytest.mark.parametrize(
    ("settings", "dialects"),
    [
        ("", ()),
        ("relu_param { negative_slope: 0.1 }", ()),
        ("center_loss_param { num_output: 3 }", ("caffe-face", "happynear-ms")),
        ("center_loss_param { distance_type: 'L1' }", ("happynear-ms",)),
        ("convolution_param { pad_type: 1 }", ("synopsys",)),
        ("bn_param { slope_filler { } }", ("pspnet", "happynear-ms", "tsn", "synopsys")),
        ("eltwise_param { operation: STOCHASTIC_SUM }", ("tsn",)),  # a value of BVLC's own enum
        ("normalize_param { } interp_param { }", ()),  # nobody has both
        ("type: 'ImageLabelmapData'", ("hed",)),  # a type that no other has
    ],
)
def test_the_fields_of_a_net_leave_some_dialects(settings: str, dialects: tuple[str, ...]) -> None:
    assert possible_dialects(net(f"layer {{ {settings} }}")) == dialects


def test_what_is_said_counts_more_than_fields() -> None:
    message = net("layer { center_loss_param { num_output: 3 } }")
    mark_by_fields(message)
    assert marks_of(message) == ("caffe-face", "happynear-ms")
    mark(message, ["happynear-ms"])
    mark_by_fields(message)
    assert marks_of(message) == ("happynear-ms",)


def test_a_comment_says_the_dialect() -> None:
    message = net(f"# of a friend\n# dialect: happynear\n{BN}")
    assert marks_of(message) == ("happynear",)
    assert text_of(message).startswith("# dialect: happynear\nlayer {")


def test_a_dialect_that_nobody_knows_is_an_error_with_its_place() -> None:
    with pytest.raises(TextError, match=r"net.prototxt:2:1: there is no dialect 'hapynear'; the dialects are bvlc"):
        from_text(f"# dialect: hapynear\n{BN}", pb.NetParameter, where="net.prototxt")


def test_a_net_that_somebody_wrote_says_its_dialect_once(tmp_path: Path) -> None:
    path, again = tmp_path / "net.prototxt", tmp_path / "again.prototxt"
    path.write_text(f"# mine\n{BN}  # a layer\n")
    file = read_net(path, dialect="happynear")
    for _ in range(2):
        write(file, again)
        assert again.read_text().splitlines()[:3] == ["# dialect: happynear", "# mine", BN + "  # a layer"]
        file = read_net(again)
        assert marks_of(file.message) == ("happynear",)
    write(read_net(again, dialect="pspnet"), again)
    assert again.read_text().count("dialect: ") == again.read_text().count("dialect: pspnet") == 1


def test_what_the_fields_tell_is_not_said(tmp_path: Path) -> None:
    message = net("layer { convolution_param { pad_type: 1 } }")
    mark_by_fields(message)
    assert "dialect" not in text_of(message)


def test_nets_in_a_solver_keep_their_dialects() -> None:
    solver = pb.SolverParameter(net_param=net(f"# dialect: happynear\n{BN}"))
    assert "net_param {\n  # dialect: happynear\n  layer {" in text_of(solver)
    assert marks_of(from_text(text_of(solver), pb.SolverParameter).net_param) == ("happynear",)


def test_an_upgrade_keeps_the_dialect(tmp_path: Path) -> None:
    path = tmp_path / "old.prototxt"
    path.write_text('# dialect: segnet\nlayers { name: "r" type: RELU bottom: "x" top: "y" }\n')
    upgraded, changes = upgrade_file(read_net(path))
    assert changes
    assert (
        prototxt(upgraded) == '# dialect: segnet\nlayer {\n  name: "r"\n  type: "ReLU"\n  bottom: "x"\n  top: "y"\n}\n'
    )


@pytest.mark.parametrize("said", ["happynear", "pspnet", "bvlc"])
@pytest.mark.parametrize("settings", ["", "bn_param { slope_filler { value: 2 } }"])
def test_binary_files_keep_the_dialect(said: str, settings: str, tmp_path: Path) -> None:
    path, again = tmp_path / "net.caffemodel", tmp_path / "again.caffemodel"
    message = net(BN.replace("}", settings + " }"))
    mark(message, [said])
    write(CaffeFile(message), path)
    file = read_net(path)
    assert file.message == message
    write(file, again)
    assert again.read_bytes() == path.read_bytes()
    file.message.layer[0].name = "c"
    write(file, again)
    assert marks_of(read_net(again).message) == (said,)


def test_the_numbers_of_a_binary_file_say_its_dialect(tmp_path: Path) -> None:
    path = tmp_path / "net.caffemodel"
    message = net(BN.replace("}", "bn_param { slope_filler { value: 2 } frozen: true } }"))
    write(CaffeFile(message), path, dialect="tsn")
    assert b"tsn" not in path.read_bytes()
    assert marks_of(read_net(path).message) == ("tsn",)
    write(CaffeFile(net(BN)), path)
    assert marks_of(read_net(path).message) == ()


def test_other_programs_see_no_marks(tmp_path: Path) -> None:
    message = net(BN)
    mark(message, ["happynear"])
    write(CaffeFile(message), tmp_path / "net.caffemodel")
    data = (tmp_path / "net.caffemodel").read_bytes()
    assert data.count(b"happynear") == 1  # a field of the net that Caffe skips, and none of the layer
    assert pb.NetParameter.FromString(data).dialect == "happynear"


def test_a_damaged_name_of_a_dialect_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "net.caffemodel"
    path.write_bytes(pb.NetParameter(dialect="nobody", layer=[pb.LayerParameter(name="b")]).SerializeToString())
    with pytest.raises(CaffeError, match="no dialect 'nobody'"):
        read_net(path)
