"""The names that users import: each is documented, and pages import no deeper names."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import converters
import netdsl
import netdsl.spark
import zoo

ROOT = Path(__file__).parents[1]
# Pages about extensions also import names for writing extensions.
PUBLIC = {"caffe_proto", "converters", "netdsl", "netdsl.pycaffe", "netdsl.registry", "netdsl.spark", "zoo"}
PACKAGES = (netdsl, netdsl.spark, converters, zoo)
LONGEST = 1000  # characters of a readable signature


def test_every_public_name_exists_and_is_documented() -> None:
    for package in PACKAGES:
        for name in package.__all__:
            thing = getattr(package, name)
            assert thing is not None and not inspect.ismodule(thing)
            if inspect.isclass(thing) or inspect.isfunction(thing):
                assert (thing.__doc__ or "").strip(), f"{package.__name__}.{name}"
                assert len(str(inspect.signature(thing))) < LONGEST, f"{package.__name__}.{name}"


def test_pages_import_public_names_only() -> None:
    deeper = set()
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        if not page.name.startswith("extend_"):
            text = page.read_text()
            found = re.findall(r"^(?:from|import) ((?:caffe_proto|converters|netdsl|zoo)[\w.]*)", text, re.M)
            deeper |= {f"{page.name}: {name}" for name in found if name not in PUBLIC}
    assert not deeper


def test_no_public_name_equals_a_modules_name() -> None:
    """After an import of the module, the name would refer to the module."""
    for package in PACKAGES:
        modules = {path.stem for place in package.__path__ for path in Path(place).iterdir()}
        assert not modules & set(package.__all__)
