"""A storage in memory."""

from __future__ import annotations

from tests.memory_storage import put

__all__ = ["put"]
