"""Hooks that register third-party additions to Caffe's formats. This package doesn't search for additions itself."""

from __future__ import annotations

from collections.abc import Callable

finders: list[Callable[[], object]] = []  # functions that register additions; they run before a lookup by name
