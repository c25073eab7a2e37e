from __future__ import annotations

import sys

import pytest

import netdsl.spark
from caffe_proto.errors import MissingExtraError


def test_public_names_exist() -> None:
    assert dir(netdsl.spark) == netdsl.spark.__all__
    for name in netdsl.spark.__all__:
        assert getattr(netdsl.spark, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = netdsl.spark.Nothing


def test_without_spark_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.ml", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'netdsl\[spark\]'"):
        _ = netdsl.spark.NetEstimator
