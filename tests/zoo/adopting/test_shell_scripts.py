"""Calls of Caffe's programs in shell scripts."""

from __future__ import annotations

from zoo.adopting.shell_scripts import calls_in


def test_calls_are_found_with_their_variables_and_files() -> None:
    script = """#!/bin/sh
TOOLS=/root/caffe/build/tools
NET=lenet
cd models && mkdir -p saved
# $TOOLS/caffe train -solver old.prototxt
GLOG_logtostderr=1 $TOOLS/caffe train \\
    --solver="$NET/solver.prototxt" -weights=$START --gpu 0 2>&1 | tee log.txt
${TOOLS}/compute_image_mean.bin train_lmdb mean.binaryproto
"""
    train, mean = calls_in(script)
    assert (train.line, train.name, train.path, train.folder) == (
        6,
        "caffe train",
        "/root/caffe/build/tools/caffe",
        "models",
    )
    assert train.files == {"solver": "lenet/solver.prototxt"}  # only the running shell knows the weights
    assert (mean.line, mean.name) == (8, "compute_image_mean")
    assert mean.files == {"database": "train_lmdb", "new mean": "mean.binaryproto"}


def test_variables_of_the_environment_are_kept() -> None:
    (call,) = calls_in("$CAFFE_ROOT/build/tools/caffe test -model net.prototxt -weights w.caffemodel")
    assert (call.path, call.variables) == ("$CAFFE_ROOT/build/tools/caffe", ("CAFFE_ROOT",))
    assert call.files == {"net": "net.prototxt", "weights": "w.caffemodel"}


def test_other_commands_and_broken_lines_are_skipped() -> None:
    assert list(calls_in("echo caffe\npython train.py\ncaffeine train\necho 'open\n")) == []
