"""A storage in memory."""

from __future__ import annotations

from tests.memory_storage import published, put

__all__ = ["published", "put"]
