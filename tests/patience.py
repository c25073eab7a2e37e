"""How long tests wait for what must come."""

from __future__ import annotations

PATIENCE = 300.0  # seconds: on a machine with far too much to do, too; only what never comes is missed
