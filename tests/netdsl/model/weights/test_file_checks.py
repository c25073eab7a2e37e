"""Damaged or hostile files of tensors are refused with a message before they take memory."""

from __future__ import annotations

import json
import os
import pickle
import struct
import warnings
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
import torch

from caffe_proto.errors import CaffeError
from netdsl.model.model import open_net
from netdsl.model.opening import open_weights

GIGABYTES = 1 << 29  # 4-byte values


def zipped(path: Path, members: dict[str, bytes], kind: int = zipfile.ZIP_DEFLATED) -> None:
    with zipfile.ZipFile(path, "w", kind, compresslevel=1) as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def npy(values: np.ndarray) -> bytes:
    file = BytesIO()
    np.save(file, values, allow_pickle=True)
    return file.getvalue()


def npz_of_zeros(path: Path) -> None:
    zipped(path, {"ip.0.npy": npy(np.zeros(300 << 20, np.int8))})


def npz_that_claims(path: Path) -> None:
    header = BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f4", "fortran_order": False, "shape": (GIGABYTES * 100, 1000)}
    )
    zipped(path, {"ip.0.npy": header.getvalue() + bytes(100)})


def npz_of(values: np.ndarray) -> Callable[[Path], None]:
    return lambda path: zipped(path, {"ip.0.npy": npy(values)})


def npz_with_another_compression(path: Path) -> None:
    zipped(path, {"ip.0.npy": npy(np.zeros(5, np.float32))}, zipfile.ZIP_LZMA)


def pt_of(value: object, **settings: bool) -> Callable[[Path], None]:
    return lambda path: torch.save({"ip.0": value}, path, **settings)


def packed_pt(path: Path) -> None:
    torch.save({"ip.0": torch.zeros(300 << 20, dtype=torch.int8)}, path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    zipped(path, members)


def quantized_pt(path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch deprecates these tensors, but files still contain them
        torch.save({"ip.0": torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8)}, path)


class MakesBytes:
    def __reduce__(self) -> tuple[type, tuple[int]]:
        return bytearray, (GIGABYTES,)


def pt_that_makes_bytes(path: Path) -> None:
    torch.save({"ip.0": torch.zeros(3), "epoch": MakesBytes()}, path)


def old_pt_that_makes_bytes(path: Path) -> None:
    torch.save({"ip.0": torch.zeros(3), "epoch": MakesBytes()}, path, _use_new_zipfile_serialization=False)


def recursive_pt(path: Path) -> None:
    content: dict[str, object] = {}
    content["state_dict"] = content
    torch.save(content, path)


def safetensors_of(header: dict[str, object], data: bytes = b"") -> Callable[[Path], None]:
    def make(path: Path) -> None:
        text = json.dumps(header).encode()
        path.write_bytes(struct.pack("<Q", len(text)) + text + data)

    return make


def tensor(shape: list[int], size: int, kind: str = "F32") -> dict[str, object]:
    return {"ip.0": {"dtype": kind, "shape": shape, "data_offsets": [0, size]}}


REFUSED: dict[str, tuple[str, Callable[[Path], None], str]] = {
    "zeros": (".npz", npz_of_zeros, "the file needs 314,572,[0-9]+ bytes or more, but the limit 'memory' allows"),
    "a claim": (".npz", npz_that_claims, "which doesn't fit its values"),
    "objects": (".npz", npz_of(np.array([{}], object)), "array of numbers"),
    "records": (".npz", npz_of(np.zeros(3, [("a", "f4"), ("b", "i4")])), "array of numbers"),
    "words": (".npz", npz_of(np.array(["a"])), "array of numbers"),
    "complex": (".npz", npz_of(np.zeros(3, np.complex64)), "array of numbers"),
    "long": (".npz", npz_of(np.zeros(3, np.longdouble)), "array of numbers"),
    "no array": (".npz", lambda path: zipped(path, {"notes.txt": b"hello"}), "not a readable .npz file"),
    "packed": (".npz", npz_with_another_compression, "compressed by a method that isn't used for weights"),
    "packed pt": (".pt", packed_pt, "needs 314,57"),
    "expanded": (".pt", pt_of(torch.zeros(1).expand(GIGABYTES)), r"claims more values than the file stores"),
    "old expanded": (
        ".pt",
        pt_of(torch.zeros(1).expand(7, GIGABYTES), _use_new_zipfile_serialization=False),
        r"claims more values than the file stores",
    ),
    "complex pt": (".pt", pt_of(torch.zeros(3, dtype=torch.complex64)), "type complex64"),
    "sparse": (".pt", pt_of(torch.eye(3).to_sparse()), "isn't a plain tensor"),
    "quantized": (".pt", quantized_pt, "isn't a plain tensor"),
    "meta": (".pt", pt_of(torch.zeros(3, device="meta")), "isn't a plain tensor"),
    "small floats": (".pt", pt_of(torch.zeros(3).to(torch.float8_e5m2)), "type float8_e5m2"),
    "makes bytes": (".pt", pt_that_makes_bytes, "more than named tensors"),
    "old, makes bytes": (".pth", old_pt_that_makes_bytes, "more than named tensors"),
    "in itself": (".pt", recursive_pt, "doesn't contain a state_dict"),
    "dimensions": (".safetensors", safetensors_of(tensor([1] * 100_000, 4), bytes(4)), "100,000 dimensions"),
    "huge and none": (".safetensors", safetensors_of(tensor([0, 2**62], 0)), "not a readable|which is impossible"),
    "huge": (".safetensors", safetensors_of(tensor([2**40], 4), bytes(4)), "not a readable .safetensors file"),
    "small kind": (".safetensors", safetensors_of(tensor([4], 4, "F8_E5M2"), bytes(4)), "type float8_e5m2"),
    "complex kind": (".safetensors", safetensors_of(tensor([1], 8, "C64"), bytes(8)), "not a readable|type complex64"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_unusable_tensors_are_refused_with_a_message(name: str, tmp_path: Path) -> None:
    suffix, make, reason = REFUSED[name]
    if suffix == ".safetensors":
        pytest.importorskip("safetensors")
    path = tmp_path / f"w{suffix}"
    make(path)
    with pytest.raises(CaffeError, match=reason) as raised:
        open_weights(path)
    assert str(raised.value).startswith(str(path)) and len(str(raised.value)) < 500


def test_weights_may_have_any_memory_order_and_number_type(tmp_path: Path) -> None:
    fortran = np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3))
    np.savez(tmp_path / "w.npz", **{"ip.0": fortran, "ip.1": np.arange(3, dtype=">f8"), "ip.2": np.float32(7)})
    blobs = open_weights(tmp_path / "w.npz").weights["ip"]
    assert np.array_equal(blobs[0], [[0, 1, 2], [3, 4, 5]])
    assert np.array_equal(blobs[1], [0, 1, 2]) and blobs[2].shape == () and blobs[2] == 7


def test_files_of_zeros_that_any_machine_can_hold_are_read(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "w.npz", **{"ip.0": np.zeros(1_000_000, np.float32)})
    assert open_weights(tmp_path / "w.npz").weights["ip"][0].size == 1_000_000


def test_torchs_old_files_are_read(tmp_path: Path) -> None:
    state = OrderedDict({"ip.0": torch.arange(6.0).view(2, 3).t()})
    torch.save(state, tmp_path / "w.pth", _use_new_zipfile_serialization=False)
    assert np.array_equal(open_weights(tmp_path / "w.pth").weights["ip"][0], [[0, 3], [1, 4], [2, 5]])


@pytest.mark.parametrize("names", [("ip.0", "ip.00"), ("ip.0", "ip.1" + "0" * 5000), ("ip.0", "ip.٣")])
def test_names_that_are_not_layers_with_numbers_are_not_mistaken_for_them(
    names: tuple[str, ...], tmp_path: Path
) -> None:
    torch.save({name: torch.zeros(2) for name in names}, tmp_path / "w.pt")
    with pytest.raises(CaffeError, match=r"don't have the form LAYER\.INDEX"):
        open_weights(tmp_path / "w.pt")


def test_an_old_file_that_is_only_a_pickle_is_refused(tmp_path: Path) -> None:
    (tmp_path / "w.pth").write_bytes(pickle.dumps({"a": 1}))
    with pytest.raises(CaffeError, match=r"not a readable \.pth file"):
        open_weights(tmp_path / "w.pth")


@pytest.mark.parametrize("suffix", [".npz", ".pt", ".safetensors", ".caffemodel", ".h5", ".prototxt"])
@pytest.mark.parametrize("what", ["a pipe", "a device", "a folder", "nothing"])
def test_a_path_that_is_not_a_regular_file_is_refused_without_waiting(suffix: str, what: str, tmp_path: Path) -> None:
    path = tmp_path / f"w{suffix}"
    if what == "a pipe":
        os.mkfifo(path)
    elif what == "a device":
        path.symlink_to("/dev/zero")
    elif what == "a folder":
        path.mkdir()
    else:
        path.touch()
    for door in (open_weights, open_net):
        with pytest.raises(CaffeError, match=f"w{suffix}: "):
            door(path)
