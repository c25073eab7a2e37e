"""The contents of the module, and its state for the whole process."""

from __future__ import annotations

import logging
import re
from importlib import import_module

import pytest
from google.protobuf import text_format

from netdsl import pycaffe


def test_all_public_names_exist() -> None:
    assert all(hasattr(pycaffe, name) for name in pycaffe.__all__)
    assert (pycaffe.TRAIN, pycaffe.TEST) == (0, 1)
    assert pycaffe.__version__.startswith("1.")


def test_messages_are_where_scripts_import_them() -> None:
    messages = import_module("netdsl.pycaffe.proto.caffe_pb2")
    assert messages is pycaffe.proto.caffe_pb2 is pycaffe.io.caffe_pb2
    net = messages.NetParameter()
    text_format.Parse('name: "x" layer { type: "Pooling" pooling_param { pool: AVE } }', net)
    assert net.layer[0].pooling_param.pool == messages.PoolingParameter.AVE == pycaffe.params.Pooling.AVE
    assert messages.TEST == pycaffe.TEST


def test_the_types_of_layers_are_listed() -> None:
    types = pycaffe.layer_type_list()
    assert types == sorted(types) and {"Convolution", "InnerProduct", "Data"} <= set(types)


def test_solver_count_can_be_set(monkeypatch) -> None:
    assert (pycaffe.solver_count(), pycaffe.solver_rank(), pycaffe.has_nccl()) == (1, 0, True)
    pycaffe.set_solver_count(4)
    pycaffe.set_solver_rank(3)
    pycaffe.set_multiprocess(True)
    try:
        assert (pycaffe.solver_count(), pycaffe.solver_rank()) == (4, 3)
    finally:
        pycaffe.set_solver_count(1)
        pycaffe.set_solver_rank(0)
        pycaffe.set_multiprocess(False)


def test_a_missing_gpu_is_reported(monkeypatch) -> None:
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    with pytest.warns(UserWarning, match="torch sees no GPU here, so set_mode_gpu\\(\\) means the CPU"):
        pycaffe.set_mode_gpu()


def test_a_timer_measures_milliseconds() -> None:
    timer = pycaffe.Timer()
    timer.start()
    timer.stop()
    assert 0 <= timer.ms < 1000


def test_messages_go_to_pythons_log(caplog) -> None:
    pycaffe.init_log(0)
    with caplog.at_level(logging.INFO, "netdsl.pycaffe"):
        pycaffe.log("hello %s")
    assert caplog.messages == ["hello %s"]
    pycaffe.init_log(2)
    assert not logging.getLogger("netdsl.pycaffe").isEnabledFor(logging.WARNING)
    pycaffe.init_log()


def test_the_log_goes_to_standard_error_on_request(capsys) -> None:
    pycaffe.log("unseen")
    pycaffe.init_log(0, True)
    pycaffe.log("hello")
    pycaffe.init_log(1, True)
    pycaffe.log("silenced")
    pycaffe.init_log()
    assert re.fullmatch(r"I\d{4} [\d:.]+ +\d+ _caffe\.cpp:84\] hello\n", capsys.readouterr().err)


def test_caffes_own_modules_are_found_by_name() -> None:
    for name in ("pycaffe", "_caffe", "io", "net_spec", "classifier", "detector", "coord_map", "draw", "proto"):
        assert import_module(f"caffe.{name}") is import_module(f"netdsl.pycaffe.{name}")
    assert import_module("caffe") is pycaffe
    compiled = import_module("netdsl.pycaffe._caffe")
    assert all(hasattr(compiled, name) for name in compiled.__all__)
    assert compiled.Net is import_module("netdsl.pycaffe.pycaffe").Net is pycaffe.Net
    assert compiled.layer_type_list() == pycaffe.layer_type_list()
