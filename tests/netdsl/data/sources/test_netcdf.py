"""NetCDF's variables, in files that netCDF4 wrote."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

from netdsl.data.sources.netcdf import NetcdfSource
from netdsl.errors import DataError

netCDF4 = pytest.importorskip("netCDF4")  # noqa: N816
IMAGES = np.arange(5 * 2 * 3, dtype=np.uint8).reshape(5, 2, 3)


@pytest.fixture(params=["NETCDF4", "NETCDF3_CLASSIC"])
def path(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    path = tmp_path / "t.nc"
    with netCDF4.Dataset(path, "w", format=request.param) as file:
        for name, length in {"item": 5, "other": 4, "y": 2, "x": 3}.items():
            file.createDimension(name, length)
        small = "u1" if request.param == "NETCDF4" else "i2"
        file.createVariable("pixels", small, ("item", "y", "x"))[:] = IMAGES
        file.createVariable("class", "i4", ("item",))[:] = [4, 3, 2, 1, 0]
        packed = file.createVariable("packed", "i2", ("item",))
        packed.scale_factor, packed.add_offset = 0.5, 10.0
        packed[:] = [11, 12, 13, 14, 15]
        file.createVariable("shorter", "f4", ("other",))[:] = 1
        file.createVariable("holes", "f4", ("item",))[:] = np.ma.array([1, 2, 3, 4, 5], mask=[0, 0, 1, 0, 0])
        file.createVariable("single", "f4", ())[:] = 3
    return path


def test_items_are_steps_along_the_first_dimension(path: Path) -> None:
    source = NetcdfSource(path, ["pixels", "class"])
    assert len(source) == 5
    for index in (3, 1, 4):
        pixels, label = source.item(source.fetch(index))
        np.testing.assert_array_equal(pixels, IMAGES[index])
        assert (label.dtype, label.shape, label.item()) == (np.float32, (), 4 - index)
    source.close()


def test_scale_and_offset_are_applied(path: Path) -> None:
    source = NetcdfSource(path, ["packed"])
    assert [source.fetch(index)[0].item() for index in range(5)] == [11, 12, 13, 14, 15]
    source.close()


def test_missing_values_are_reported(path: Path) -> None:
    source = NetcdfSource(path, ["pixels", "holes"])
    assert source.fetch(1)[1].item() == 2
    with pytest.raises(DataError, match=r"t.nc: item 2: variable 'holes' has missing values"):
        source.fetch(2)
    source.close()


def test_all_bytes_are_values_unless_the_file_defines_a_fill_value(tmp_path: Path) -> None:
    with netCDF4.Dataset(tmp_path / "t.nc", "w") as file:
        file.createDimension("item", 2)
        file.createVariable("pixels", "u1", ("item",))[:] = [0, 255]
        file.createVariable("holes", "u1", ("item",), fill_value=255)[:] = [0, 255]
    source = NetcdfSource(tmp_path / "t.nc", ["pixels"])
    assert [source.fetch(index)[0].item() for index in range(2)] == [0, 255]
    source.close()
    source = NetcdfSource(tmp_path / "t.nc", ["holes"])
    assert source.take(np.arange(2)) is None
    with pytest.raises(DataError, match="item 1: variable 'holes' has missing values"):
        source.fetch(1)
    source.close()


def test_rows_that_are_read_together_equal_single_rows(path: Path) -> None:
    source = NetcdfSource(path, ["pixels", "class", "packed"])
    for indices in ([0, 2, 4], [3], [4, 1, 1, 0]):
        rows = source.take(np.array(indices))
        assert rows is not None
        for number, index in enumerate(indices):
            for array, value in zip(rows, source.fetch(index), strict=True):
                np.testing.assert_array_equal(array[number], value)
    source.close()


@pytest.mark.parametrize(
    ("names", "what"),
    [
        (["pixel"], "called 'pixel'; choose from pixels, class, packed, shorter, holes"),
        (["single"], "called 'single'"),
        ([], r"name the variables to read, as in \?x=NAME&y=NAME; choose from pixels, class"),
        (["pixels", "shorter"], "different lengths: {'pixels': 5, 'shorter': 4}"),
    ],
)
def test_variables_that_do_not_fit_are_refused(path: Path, names: list[str], what: str) -> None:
    with pytest.raises(DataError, match=what):
        NetcdfSource(path, names)


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "t.nc").write_bytes(b"not this")
    for name, what in (("t.nc", "not a NetCDF file"), ("gone.nc", "can't be opened: ")):
        with pytest.raises(DataError, match=f"{name}: {what}"):
            NetcdfSource(tmp_path / name, ["x"])


@pytest.mark.parametrize(
    ("kind", "why"),
    [("link", "'label' in '/' is a link"), ("storage", "the values are stored in another file")],
)
def test_external_values_are_refused(tmp_path: Path, kind: str, why: str) -> None:
    for name in ("t.nc", "other.nc"):
        with netCDF4.Dataset(tmp_path / name, "w") as file:
            file.createDimension("item", 4)
            file.createVariable("label", "f8", ("item",))[:] = np.arange(4)
    with h5py.File(tmp_path / "t.nc", "r+") as file:
        scale = file["label"].attrs.get("_Netcdf4Dimid")
        del file["label"]
        if kind == "link":
            file["label"] = h5py.ExternalLink(str(tmp_path / "other.nc"), "label")
        else:
            (tmp_path / "raw").write_bytes(bytes(32))
            label = file.create_dataset("label", (4,), "f8", external=[(str(tmp_path / "raw"), 0, 32)])
            label.dims[0].attach_scale(file["item"])
            if scale is not None:
                label.attrs["_Netcdf4Dimid"] = scale
    with pytest.raises(DataError, match=why):
        NetcdfSource(tmp_path / "t.nc", ["label"])


def test_an_impossible_size_in_a_classic_file_is_refused(tmp_path: Path) -> None:
    with netCDF4.Dataset(tmp_path / "t.nc", "w", format="NETCDF3_CLASSIC") as file:
        file.createDimension("item", 4)
        file.createDimension("side", 5)
        file.createVariable("data", "f4", ("item", "side"))[:] = np.zeros((4, 5))
    data = (tmp_path / "t.nc").read_bytes()
    place = data.index(b"side") + 4
    (tmp_path / "t.nc").write_bytes(data[:place] + (1 << 28).to_bytes(4) + data[place + 4 :])
    with pytest.raises(DataError, match=r"t\.nc: .*"):
        source = NetcdfSource(tmp_path / "t.nc", ["data"])
        source.fetch(0)


@pytest.mark.parametrize("kind", ["NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA"])
def test_a_classic_header_that_exceeds_the_file_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "t.nc"
    with netCDF4.Dataset(path, "w", format=kind) as file:
        file.title = "several words"
        file.createDimension("item", 4)
        file.createVariable("data", "i2", ("item",))[:] = np.arange(4)
        file["data"].units = "none"
        file["data"].other = np.arange(3.0)
    assert len(NetcdfSource(path, ["data"])) == 4
    whole = path.read_bytes()
    place = whole.index(b"several words")
    path.write_bytes(whole[: place - 4] + (1 << 27).to_bytes(4) + whole[place:])
    with pytest.raises(DataError, match=r"t\.nc: can't be read: its header claims more than the file has"):
        NetcdfSource(path, ["data"])
    path.write_bytes(whole[: place + 20])
    with pytest.raises(DataError, match=r"t\.nc: can't be read: its header claims more than the file has"):
        NetcdfSource(path, ["data"])
