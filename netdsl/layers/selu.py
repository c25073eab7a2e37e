"""SeLU: the name of SeLu in later versions of Synopsys' Caffe."""

from __future__ import annotations

from netdsl.layers.se_lu import SeLu


class SeLU(SeLu):
    """Computes lambda * x for positive x, and lambda * alpha * (exp(x) - 1) otherwise."""
