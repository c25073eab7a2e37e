"""SeLU: what SeLu is called since Synopsys renamed it."""

from __future__ import annotations

from netdsl.layers.se_lu import SeLu


class SeLU(SeLu):
    """lambda * x where x is positive, and lambda * alpha * (exp(x) - 1) elsewhere."""
