"""What can be wrong with models that are fetched and kept."""

from __future__ import annotations

from caffe_proto.errors import CaffeError


class StoreError(CaffeError):
    """A model can't be kept, found or given away as it was asked for."""


class DownloadError(StoreError):
    """An address doesn't give the file that it should."""


class MissingFileError(DownloadError):
    """The server has no such file."""


class UnreachableError(DownloadError):
    """There is no way to the server: no network, or none is wanted."""


class InterruptedTransferError(DownloadError):
    """A transfer broke off or was refused for now, so that another attempt may go on with it."""


class RangeRefusedError(InterruptedTransferError):
    """The server's file doesn't go on where the part that is here ends."""
