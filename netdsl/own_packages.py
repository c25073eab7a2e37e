"""The packages that netdsl installs, and whether Python finds them or others of the same names."""

from __future__ import annotations

from pathlib import Path

from netdsl.allowed_modules import module_file

PACKAGES = ("caffe_proto", "converters", "netdsl", "zoo")
_PLACE = Path(__file__).parents[1].resolve()  # the folder that contains all of them
IMPORTABLE_CAFFE = _PLACE / "netdsl/pycaffe/import_folder"  # on PYTHONPATH, it makes `import caffe` work


def place_of(package: str) -> Path | None:
    """Return the folder in which Python finds a package."""
    found = module_file(package)
    return found and found.resolve()


def is_ours(package: str) -> bool:
    """Return whether Python finds our package of this name, and not another distribution's."""
    return place_of(package) == _PLACE / package
