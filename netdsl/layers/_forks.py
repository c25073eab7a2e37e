"""Settings that a fork of Caffe added and that we don't have."""

from __future__ import annotations

from google.protobuf.message import Message

from netdsl.errors import NetError


def refuse(settings: Message, *names: str) -> None:
    """Say so where a setting would change what a layer computes, rather than compute something else."""
    for field, value in settings.ListFields():
        harmless = field.has_default_value and value == field.default_value
        if field.name in names and not harmless:
            raise NetError(
                f"'{field.name}' is a setting of a fork of Caffe that isn't supported; remove it, or add a type"
            )
