"""Errors of pulling, storing and pushing models."""

from __future__ import annotations

from caffe_proto.errors import CaffeError


class StoreError(CaffeError):
    """A model can't be stored, found or pushed as requested."""


class DownloadError(StoreError):
    """An address doesn't provide the expected file."""


class MissingFileError(DownloadError):
    """The file doesn't exist on the server."""


class PrivateAddressError(DownloadError):
    """An address that the user didn't type leads to a network that isn't public."""


class DeadlineError(DownloadError):
    """The whole pull has taken too long."""


class UnreachableError(DownloadError):
    """The server can't be reached: there is no network, or offline mode is on."""


class InterruptedTransferError(DownloadError):
    """A transfer was interrupted or temporarily refused, so that another attempt may continue it."""


class RangeRefusedError(InterruptedTransferError):
    """The server's file doesn't continue after the local part."""
