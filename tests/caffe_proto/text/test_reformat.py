"""`fmt`: one layout for every text, with the same meaning and the same comments."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import CaffeError, FileError, TextError, UnknownFieldWarning
from caffe_proto.text.prototxt import from_text, reformat, reformat_file

NET = """
name : 'n' input : 'x' input_shape : { dim : [ 1 , 3 , 7 , 5 ] } ;
layer { name : "c" type : 'Convo' "lution" bottom : "x" top : "c" param { lr_mult : 1. } , param < >
  convolution_param { num_output : 20 kernel_size [ 3 5 ] weight_filler : < type : 'xavier' > } }
layer : [ { name : r type : ReLU } , { } ] layer { name : 'it\\'s' include { stage : [ ] } }
"""


def fmt(text: str) -> str:
    return reformat(text.encode(), "net.prototxt").decode()


@settings(derandomize=True, database=None, deadline=None, max_examples=100)
@given(data=st.data())
def test_any_layout_becomes_one_without_losing_meaning_or_comments(data: st.DataObject, commented) -> None:
    text, comments = data.draw(commented(NET))
    once = fmt(text)
    assert from_text(once, pb.NetParameter) == from_text(NET, pb.NetParameter)
    assert fmt(once) == once
    assert [once.count(comment) for comment in comments] == [1] * len(comments)
    assert "\r" not in once and "\t" not in once and " \n" not in once and "\n\n\n" not in once


def test_the_layout() -> None:
    text = """\


# LeNet, for digits\r
name:'LeNet'   # by LeCun
layer{name:"conv" # first
\ttype:'Convolution'
\tconvolution_param :{ num_output:20 kernel_size:[5 3], weight_filler{type:"xavier"} }


\ttop:'it\\'s "on"',top:unquoted

# behind the fields
}
# layer { name: "gone" }
state { stage: "a" } layer < >
input_dim : [1,
  2] # sizes
# the end"""
    assert (
        fmt(text)
        == """\
# LeNet, for digits
name: "LeNet"  # by LeCun
layer {
  name: "conv"  # first
  type: "Convolution"
  convolution_param { num_output: 20 kernel_size: [5, 3] weight_filler { type: "xavier" } }

  top: "it's \\"on\\""
  top: unquoted

  # behind the fields
}
# layer { name: "gone" }
state { stage: "a" }
layer { }
input_dim: [1, 2]  # sizes
# the end
"""
    )


@pytest.mark.parametrize(
    ("text", "formatted"),
    [
        ("", ""),
        ("\n\n", ""),
        ("# nothing else", "# nothing else\n"),
        ("layer\n\n{ name: 'x' }", 'layer { name: "x" }\n'),
        ("layer {\n name: 'x' }", 'layer {\n  name: "x"\n}\n'),
        ("layer {\n name: 'x'\n\n}", 'layer {\n  name: "x"\n}\n'),
        ("layer\n\n{ }", "layer { }\n"),
        ("layer { # why\n}", "layer {\n  # why\n}\n"),
        (f"layer {{ name: '{'n' * 90}' }}", f'layer {{\n  name: "{"n" * 90}"\n}}\n'),
        ("name: 'a' 'b'", 'name: "ab"\n'),
        ('name: "a" \'b\'\n"c"', 'name: "a" \'b\' "c"\n'),
        ('name: "raw\nline"', 'name: "raw\nline"\n'),
        ("name: 'raw\nline'", 'name: "raw\\nline"\n'),
        (r'name: "\101\t"', r'name: "\101\t"' + "\n"),
        ("input_dim: 0x10 force_backward: t", "input_dim: 0x10\nforce_backward: t\n"),
        ("layer { loss_weight: 1. }", "layer { loss_weight: 1. }\n"),
        ("layer: [{ name: 'a' }, { name: 'b' }] # two", 'layer { name: "a" }\nlayer { name: "b" }  # two\n'),
        ("input: []", "input: []\n"),
    ],
)
def test_what_becomes_of(text: str, formatted: str) -> None:
    assert fmt(text) == formatted
    assert fmt(formatted) == formatted


@pytest.mark.parametrize("text", ["test_iter: 3 # tests", "item { name: 'cat' label: 1 }", "num: 1 data: [1, 2]"])
def test_other_files_than_nets_are_formatted_too(text: str) -> None:
    assert fmt(fmt(text)) == fmt(text)


def test_comments_in_another_encoding_stay_as_they_are() -> None:
    assert reformat(b"name:'n' # caf\xe9\n", "net") == b'name: "n"  # caf\xe9\n'


def test_what_the_schema_does_not_know_is_refused_unless_lenient() -> None:
    text = b"layer { name: 'x' kernal: '\\d' }"
    with pytest.raises(TextError, match="unknown field 'kernal'"):
        reformat(text, "net")
    with pytest.warns(UnknownFieldWarning, match="unknown field 'kernal'"):
        assert reformat(text, "net", lenient=True) == b"layer { name: \"x\" kernal: '\\d' }\n"


def test_a_file_is_changed_only_if_it_would_look_different(tmp_path: Path) -> None:
    path = tmp_path / "net.prototxt"
    path.write_bytes(b"\xef\xbb\xbfname:'n'\r\n")
    path.chmod(0o640)
    assert reformat_file(path, write=False)
    assert path.read_bytes().endswith(b"\r\n")
    assert reformat_file(path)
    assert path.read_bytes() == b'name: "n"\n'
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    os.utime(path, (1, 1))
    assert not reformat_file(path)
    assert path.stat().st_mtime == 1


@pytest.mark.parametrize("text", [b"name: ", b"nam: 'n'", b"layer {", b"\x00\x01", b"<<<<<<< HEAD\n"])
def test_a_file_with_an_error_stays_as_it_is(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "net.prototxt"
    path.write_bytes(text)
    with pytest.raises(CaffeError, match=f"^{path}:"):
        reformat_file(path)
    assert path.read_bytes() == text
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"none\.prototxt: can't be opened: No such file or directory"):
        reformat_file(tmp_path / "none.prototxt")
