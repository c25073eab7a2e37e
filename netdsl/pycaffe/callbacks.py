"""Functions that are called while a net runs."""

from __future__ import annotations

from collections.abc import Callable

Callback = Callable[[int], object]


class Callbacks:
    """A mixin of `Net` that calls functions with the index of each layer."""

    def __init__(self) -> None:
        self._callbacks: dict[str, list[Callback]] = {}

    def before_forward(self, callback: Callback) -> None:
        """Call back before each layer runs."""
        self._callbacks.setdefault("before_forward", []).append(callback)

    def after_forward(self, callback: Callback) -> None:
        """Call back after each layer ran."""
        self._callbacks.setdefault("after_forward", []).append(callback)

    def before_backward(self, callback: Callback) -> None:
        """Call back before each layer's backward pass."""
        self._callbacks.setdefault("before_backward", []).append(callback)

    def after_backward(self, callback: Callback) -> None:
        """Call back after each layer's backward pass."""
        self._callbacks.setdefault("after_backward", []).append(callback)

    def _call(self, when: str, index: int) -> None:
        callbacks = self._callbacks.get(when, ())
        for callback in callbacks:
            callback(index)
        if callbacks:
            self._flush()

    def _flush(self) -> None:
        """Copy what was written to blobs back to the device."""
        raise NotImplementedError
