"""First bytes of files that their names don't announce."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto import hdf5
from zoo.store.first_bytes import misfit


def array(*, zipped: bool) -> bytes:
    file = io.BytesIO()
    if zipped:
        np.savez(file, x=np.zeros(3))
    else:
        np.save(file, np.zeros(3))
    return file.getvalue()


NET = pb.NetParameter(name="n", layer=[pb.LayerParameter(name="x")]).SerializeToString()
OLD_NET = pb.NetParameter(layers=[pb.V1LayerParameter(name="x")]).SerializeToString()
MEAN = pb.BlobProto(num=1, channels=3, height=1, width=1, data=[1, 2, 3]).SerializeToString()
ONNX = b"\x08\x07\x12\x07pytorch"
SAFETENSORS = (2).to_bytes(8, "little") + b"{}"
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n"
PAGE = b"\n<!DOCTYPE html><title>Sign in</title>"
ZIP = io.BytesIO()
zipfile.ZipFile(ZIP, "w").close()


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("a.caffemodel", NET), ("a.CAFFEMODEL", OLD_NET), ("a.binaryproto", MEAN), ("a.onnx", ONNX),
        ("a.h5", hdf5.SIGNATURE), ("a.npz", array(zipped=True)), ("a.npy", array(zipped=False)),
        ("a.safetensors", SAFETENSORS), ("a.prototxt", b'name: "\xc3\xa9"\n'), ("a.prototxt", b""),
        ("README.md", b"<h1>A net</h1>"), ("labels.txt", b""), ("a.onnx_data", NET), ("a.zip", ZIP.getvalue()),
    ],
)  # fmt: skip
def test_a_file_that_is_what_its_name_says(name: str, start: bytes) -> None:
    assert misfit(name, start) is None


@pytest.mark.parametrize(
    ("name", "start", "what"),
    [
        ("a.caffemodel", b"", "an empty file"),
        ("a.caffemodel", hdf5.SIGNATURE, "an HDF5 file"),
        ("a.caffemodel", array(zipped=True), "a zip file, as torch and numpy write"),
        ("a.caffemodel", b"\x80\x02}q", "a pickled file"),
        ("a.caffemodel", SAFETENSORS, "a safetensors file"),
        ("a.caffemodel", ONNX, "an ONNX file"),
        ("a.caffemodel", b'{"error": "not found"}', "a JSON text"),
        ("a.caffemodel", b"<?xml version='1.0'?><Error>", "an XML text"),
        ("a.caffemodel", b"\nAccess denied\n", "a text"),
        ("a.caffemodel", b'name: "n"\n', "a text"),
        ("a.onnx", NET, "a caffemodel"),
        ("a.h5", NET, "a caffemodel"),
        ("a.npz", array(zipped=False), "a numpy array"),
        ("a.npy", b"\x1f\x8b\x08", "a compressed file"),
        ("a.safetensors", b"\x7fELF\x02\x01\x01\x00\x00", "another format"),
        ("a.binaryproto", NET, "a caffemodel"),
        ("a.prototxt", NET, "a caffemodel"),
        ("a.prototxt", b'{"error": 404}', "a JSON text"),
    ],
)
def test_a_file_that_is_something_else(name: str, start: bytes, what: str) -> None:
    problem = misfit(name, start)
    assert problem is not None and f"but the first bytes are those of {what}; name another file" in problem


@pytest.mark.parametrize("name", ["a.caffemodel", "a.prototxt", "labels.txt", "a.zip", "LICENSE"])
def test_pointers_and_web_pages_are_never_a_models_file(name: str) -> None:
    pointer, page = misfit(name, POINTER), misfit(name, PAGE)
    assert pointer is not None and "a Git LFS pointer instead of the file itself; name the address" in pointer
    assert page is not None and "a web page instead of a model's file; name the address of the file itself" in page
