"""Nets on Apache Spark: they train on DataFrames and RDDs, and are estimators and models of pyspark.ml."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from caffe_proto.errors import import_extra

if TYPE_CHECKING:
    from netdsl.distributed.run_log import Moment
    from netdsl.distributed.transports.transport import Transport
    from netdsl.spark.backend import SparkBackend
    from netdsl.spark.net_rdd import NetRDD
    from netdsl.spark.pipeline.estimator import NetEstimator
    from netdsl.spark.pipeline.model import NetModel

_MODULES = {
    "Moment": "distributed.run_log",
    "NetEstimator": "spark.pipeline.estimator",
    "NetModel": "spark.pipeline.model",
    "NetRDD": "spark.net_rdd",
    "SparkBackend": "spark.backend",
    "Transport": "distributed.transports.transport",
}

__all__ = ["Moment", "NetEstimator", "NetModel", "NetRDD", "SparkBackend", "Transport"]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Return a public name. Spark is imported when the first name is used."""
        if name not in _MODULES:
            raise AttributeError(f"module 'netdsl.spark' has no attribute '{name}'")
        import_extra("pyspark.ml", "spark", "nets on Spark need pyspark")
        return getattr(import_module(f"netdsl.{_MODULES[name]}"), name)

    def __dir__() -> list[str]:
        return __all__
