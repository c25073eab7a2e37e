"""SeLUDropout: what SeLuDropout is called since Synopsys renamed it."""

from __future__ import annotations

from netdsl.layers.se_lu_dropout import SeLuDropout


class SeLUDropout(SeLuDropout):
    """While training, values left out become alpha, and all are scaled and shifted to make up for it."""
