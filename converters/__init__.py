"""Nets in other forms: to deploy, and to and from other formats."""

from __future__ import annotations

from converters.caffe import export_caffe
from converters.deploy import deploy
from converters.model import Model, deployed, open_model
from converters.weights import read_weights, write_weights

__all__ = ["Model", "deploy", "deployed", "export_caffe", "open_model", "read_weights", "write_weights"]
