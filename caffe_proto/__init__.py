"""Reads, checks, upgrades and writes Caffe's file formats without Caffe and without torch."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from caffe_proto.blobs import Blob, Blobs
    from caffe_proto.dialects import Dialect, all_dialects, dialect_named, register_dialect
    from caffe_proto.difference import Difference, compare
    from caffe_proto.errors import CaffeError
    from caffe_proto.files import CaffeFile, Form, prototxt, read, read_net, read_solver, write
    from caffe_proto.summary import Summary, summarize
    from caffe_proto.text.prototxt import from_text, text_of
    from caffe_proto.upgrade import Upgraded, upgrade_net, upgrade_solver
    from caffe_proto.upgrade.file import upgrade_file

# The public names of each module. Modules are imported on first use because the command line's help must not wait for
# numpy and protobuf.
_MODULES = {
    "blobs": ("Blob", "Blobs"),
    "dialects": ("Dialect", "all_dialects", "dialect_named", "register_dialect"),
    "difference": ("Difference", "compare"),
    "errors": ("CaffeError",),
    "files": ("CaffeFile", "Form", "prototxt", "read", "read_net", "read_solver", "write"),
    "summary": ("Summary", "summarize"),
    "text.prototxt": ("from_text", "text_of"),
    "upgrade": ("Upgraded", "upgrade_net", "upgrade_solver"),
    "upgrade.file": ("upgrade_file",),
}
__all__ = [
    "Blob",
    "Blobs",
    "CaffeError",
    "CaffeFile",
    "Dialect",
    "Difference",
    "Form",
    "Summary",
    "Upgraded",
    "all_dialects",
    "compare",
    "dialect_named",
    "from_text",
    "prototxt",
    "read",
    "read_net",
    "read_solver",
    "register_dialect",
    "summarize",
    "text_of",
    "upgrade_file",
    "upgrade_net",
    "upgrade_solver",
    "write",
]


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"caffe_proto.{module}"), name)
    raise AttributeError(f"module 'caffe_proto' has no attribute '{name}'")


def __dir__() -> list[str]:
    return __all__
