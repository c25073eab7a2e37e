"""SeLUDropout: the name of SeLuDropout in later versions of Synopsys' Caffe."""

from __future__ import annotations

from netdsl.layers.se_lu_dropout import SeLuDropout


class SeLUDropout(SeLuDropout):
    """Sets random values to alpha in training, then scales and shifts all values to compensate."""
