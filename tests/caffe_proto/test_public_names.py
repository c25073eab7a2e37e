"""The names that users import."""

import subprocess
import sys

import pytest

import caffe_proto


@pytest.mark.parametrize("name", caffe_proto.__all__)
def test_every_public_name_exists(name: str) -> None:
    assert getattr(caffe_proto, name) is not None
    assert name in dir(caffe_proto)


def test_names_are_sorted_and_each_has_one_module() -> None:
    homes = [name for names in caffe_proto._MODULES.values() for name in names]
    assert caffe_proto.__all__ == sorted(homes)
    assert len(set(homes)) == len(homes)


def test_an_unknown_name_raises_pythons_own_error() -> None:
    with pytest.raises(AttributeError, match="module 'caffe_proto' has no attribute 'reed'"):
        caffe_proto.reed  # noqa: B018
    with pytest.raises(ImportError):
        from caffe_proto import reed  # noqa: F401


def test_a_star_import_loads_all_public_names() -> None:
    names: dict[str, object] = {}
    exec("from caffe_proto import *", names)  # a star import is only allowed at module level
    assert set(caffe_proto.__all__) <= set(names)


def _modules_after(statement: str) -> set[str]:
    code = f"import sys\n{statement}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return set(done.stdout.split())


def test_importing_the_package_loads_no_heavy_modules() -> None:
    assert not _modules_after("import caffe_proto") & {"numpy", "google.protobuf", "torch", "h5py"}


def test_torch_and_h5py_are_only_loaded_on_demand() -> None:
    assert not _modules_after("from caffe_proto import *") & {"torch", "h5py", "onnx", "click", "rich"}
