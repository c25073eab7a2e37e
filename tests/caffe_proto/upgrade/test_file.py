"""Comments in an upgrade: they stay with their fields and layers if these still exist, and are never lost."""

from __future__ import annotations

import time

import pytest
from google.protobuf.message import Message
from hypothesis import given, settings
from hypothesis import strategies as st

from caffe_proto import caffe_pb2 as pb
from caffe_proto.files import CaffeFile, prototxt
from caffe_proto.text.prototxt import body_of, from_text, message_of, reformat
from caffe_proto.upgrade.file import upgrade_file

V0 = """
name : "old" input : "data" input_dim : 2 input_dim : 3 input_dim : 7 input_dim : 5
layers { layer { name : "pad" type : "padding" pad : 2 } bottom : "data" top : "padded" }
layers { layer { name : "conv" type : "conv" num_output : 4 kernelsize : 3
  weight_filler { type : "gaussian" std : 0.1 } blobs_lr : 1. blobs_lr : 2. }
  bottom : "padded" top : "conv" }
layers { layer { name : "relu" type : "relu" } bottom : "conv" top : "conv" }
"""
V1 = """
layers [ { name : 'a' type : RELU bottom : 'x' top : 'a' } , { name : 'b' type : TANH bottom : 'a' } ]
layers { bottom : 'b' top : 'c' name : 'b' type : CONVOLUTION blobs_lr : 1 blobs_lr : 2 weight_decay : 1
  convolution_param { num_output : 3 kernel_size : 1 } include : { phase : TEST } }
layers { type : DATA data_param { source : 's' mirror : true mean_file : 'm' } } name : 'n'
"""
INPUTS = """
input : 'x' input_shape { dim : 1 dim : 3 } input : 'y' input_shape { dim : 1 }
layer { name : 'bn' type : 'BatchNorm' bottom : 'x' top : 'bn' param { } param { lr_mult : 1 } param { } }
"""
UNUSED = "layer { name : 'a' } input : 'x'"
SOLVER = "net : 'n' solver_type : ADAM base_lr : 0.1"


def upgraded(text: str, kind: type[Message] = pb.NetParameter) -> tuple[str, Message]:
    body = body_of(text.encode(), "net")
    file, changes = upgrade_file(CaffeFile(message_of(body, kind, "net"), body=body))
    assert changes
    return prototxt(file), file.message


@pytest.mark.parametrize(
    ("old", "kind"),
    [
        (V0, pb.NetParameter),
        (V1, pb.NetParameter),
        (INPUTS, pb.NetParameter),
        (UNUSED, pb.NetParameter),
        (SOLVER, pb.SolverParameter),
    ],
    ids=["V0", "V1", "inputs", "unused", "solver"],
)
@settings(derandomize=True, database=None, deadline=None, max_examples=40)
@given(data=st.data())
def test_no_comment_is_lost_and_the_text_equals_the_message(data: st.DataObject, commented, old, kind) -> None:
    text, comments = data.draw(commented(old))
    new, message = upgraded(text, kind)
    assert [new.count(comment) for comment in comments] == [1] * len(comments)
    assert from_text(new, kind) == message == upgraded(old, kind)[1]
    assert reformat(new.encode(), "net").decode() == new


def test_comments_of_a_v0_net_follow_their_fields() -> None:
    text = """\
# A net of 2013
name: "old"  # its name
input: "data"  # pictures
input_dim: 2  # batch
input_dim: 3
input_dim: 7
input_dim: 5
# --- features ---
layers {  # 4 filters
  layer {
    name: "conv"
    type: "conv"
    # few, for speed
    num_output: 4  # was 8
    kernelsize: 3  # square
    blobs_lr: 1.
    blobs_lr: 2.  # biases learn faster
  }
  bottom: "data"  # from the top
  top: "conv"
  # end of conv
}  # conv
# layers { layer { name: "gone" } }
"""
    assert (
        upgraded(text)[0]
        == """\
# A net of 2013
name: "old"  # its name
# pictures
# batch
layer {
  name: "input"
  type: "Input"
  top: "data"
  input_param {
    shape {
      dim: 2
      dim: 3
      dim: 7
      dim: 5
    }
  }
}
# --- features ---
# 4 filters
# end of conv
layer {
  name: "conv"
  type: "Convolution"
  bottom: "data"  # from the top
  top: "conv"
  param {
    lr_mult: 1
  }
  param {
    lr_mult: 2  # biases learn faster
  }
  convolution_param {
    # few, for speed
    num_output: 4  # was 8
    kernel_size: 3  # square
  }
}  # conv
# layers { layer { name: "gone" } }
"""
    )


def test_comments_of_a_removed_layer_move_above_the_next_layer() -> None:
    text = """\
layers { bottom: "x" top: "x" layer { name: "r" type: "relu" } }  # r
# two on each side
layers { bottom: "x" top: "p" layer { name: "p" type: "padding" pad: 2 } }  # p
# the weights
layers { bottom: "p" top: "c" layer { name: "c" type: "conv" } }  # c
input: "x"
"""
    new, _ = upgraded(text)
    above, below = new.split('name: "c"')
    assert above.endswith("}  # r\n# two on each side\n# p\n# the weights\nlayer {\n  ")
    assert below.endswith("}  # c\n")


def test_layers_with_the_same_name_keep_their_own_comments() -> None:
    text = """\
layers { name: "data" type: DATA include { phase: TRAIN } }  # to learn
layers { name: "data" type: DATA include { phase: TEST } }  # to test
"""
    first, second, rest = upgraded(text)[0].split("\n}")
    assert ("TRAIN" in first, second.split("\n")[0]) == (True, "  # to learn")
    assert ("TEST" in second, rest) == (True, "  # to test\n")


def test_a_solvers_comments_stay() -> None:
    text = "# for digits\n\n# which one\nsolver_type: ADAM  # quick\n# the net\nnet: 'n'\n# the end\n"
    assert (
        upgraded(text, pb.SolverParameter)[0]
        == """\
# for digits

# the net
net: "n"
# which one
type: "Adam"  # quick
# the end
"""
    )


def test_a_current_file_keeps_its_own_layout() -> None:
    text = "layer{name:'a'# short\n}"
    body = body_of(text.encode(), "net")
    file = CaffeFile(message_of(body, pb.NetParameter, "net"), body=body)
    assert upgrade_file(file) == (file, ())
    assert prototxt(upgrade_file(file)[0]) == 'layer {\n  name: "a"  # short\n}\n'


def test_many_comments_take_little_time() -> None:
    text = "layers { type: DUMMY_DATA dummy_data_param {\n" + "num: 1  # one\n" * 10_000 + "} }"
    start = time.process_time()
    new, _ = upgraded(text)
    assert new.count("# one") == 10_000
    assert time.process_time() - start < 4  # 0.25 s here; with a search for each comment, 40 s
