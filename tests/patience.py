"""How long tests wait for something that must happen."""

from __future__ import annotations

PATIENCE = 300.0  # seconds; enough for a badly overloaded machine too, since the wait ends only if it never happens
