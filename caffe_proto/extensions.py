"""What third parties add to Caffe's formats. Nobody here looks for it: those who know where it is say so."""

from __future__ import annotations

from collections.abc import Callable

finders: list[Callable[[], object]] = []  # what registers it, called before something is looked up by its name
