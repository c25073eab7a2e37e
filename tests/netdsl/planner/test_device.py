"""Device files: those that netdsl includes, a user's own, and the errors for wrong ones."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from caffe_proto.errors import CaffeError
from netdsl.planner.device import MeasuredOperation, NumberType, device_names, device_text, read_device


@pytest.mark.parametrize("name", device_names())
def test_included_devices_are_complete(name: str) -> None:
    device = read_device(name)
    assert device.name == name
    assert NumberType.FLOAT32 in device.arithmetic


def test_well_known_devices_are_included() -> None:
    known = {"laptop", "cpu-2", "k80", "p100", "v100", "t4", "rtx-4090", "a100", "h100", "h200"}
    assert known <= set(device_names())


def test_devices_are_read_without_torch() -> None:
    program = (
        "import sys; from netdsl.planner.device import read_device; read_device('k80'); print('torch' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, check=True)
    assert run.stdout == "False\n"


def test_a_users_device_is_read_by_its_path(tmp_path: Path) -> None:
    measured = (
        MeasuredOperation("mm", (2.0, 3.5), 8.0, 6.0, 1e-6),
        MeasuredOperation("update", (7.0,), 0.0, 6.0, 2e-6),
    )
    sources = {**read_device("v100").sources, "measured": "by me"}
    device = replace(read_device("v100"), name="mine", memory=5 * 10**9, measured=measured, sources=sources)
    path = tmp_path / "mine.json"
    path.write_text(device_text(device))
    assert read_device(path) == device


def changed(**changes: Any) -> dict[str, Any]:
    values = json.loads(device_text(read_device("v100"))) | changes
    return {name: value for name, value in values.items() if value is not None}


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        (changed(bandwith=1.0), "unknown field 'bandwith'; did you mean bandwidth?"),
        (changed(color=1.0), "unknown field 'color'; use one of arithmetic, "),
        (changed(memory=None), "a field is missing: `memory`"),
        (changed(memory=-1), "memory is -1; set it to more than 0"),
        (changed(overhead=-1e-6), "overhead is -1e-06; set it to 0 or more"),
        (changed(bandwidth="fast"), "bandwidth: Expected `float`, got `str`"),
        (
            changed(bandwidth_share=1.5),
            "bandwidth_share is 1.5; set it to the share that the device reaches, which is at most 1",
        ),
        (changed(type="tpu"), "type 'tpu' is unknown; set it to cpu or cuda"),
        (changed(arithmetic={}), "arithmetic is empty"),
        (changed(arithmetic={"float8": {}}), "arithmetic"),
        (changed(sources={}), "sources lacks 'arithmetic'; add the source of its value"),
        (
            changed(
                arithmetic={"float32": {"peak": 1e12, "convolution": 0, "convolution_gradient": 0.5, "product": 1}}
            ),
            "arithmetic.float32.convolution is 0; set it to more than 0",
        ),
        ([], "not an object with fields"),
    ],
)
def test_errors_in_a_file_are_reported(tmp_path: Path, values: object, complaint: str) -> None:
    path = tmp_path / "wrong.json"
    path.write_text(json.dumps(values))
    with pytest.raises(CaffeError) as caught:
        read_device(path)
    assert str(caught.value).startswith(f"{path}: {complaint}")


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        ([("mm", [1.0, 2.0]), ("mm", [1.0])], "operations 'mm' have different numbers of sizes"),
        ([("mm", [0.0])], "an operation 'mm' has a number that isn't above 0"),
    ],
)
def test_errors_in_measured_operations_are_reported(tmp_path: Path, rows: list[Any], complaint: str) -> None:
    measured = [{"name": name, "sizes": sizes, "flops": 1, "bytes": 1, "seconds": 1} for name, sizes in rows]
    path = tmp_path / "wrong.json"
    path.write_text(
        json.dumps(changed(measured=measured, sources={**read_device("v100").sources, "measured": "by me"}))
    )
    with pytest.raises(CaffeError, match=complaint):
        read_device(path)


def test_other_files_and_names_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "device.json"
    with pytest.raises(CaffeError, match="can't be opened"):
        read_device(path)
    path.write_text("{")
    with pytest.raises(CaffeError, match="not valid JSON"):
        read_device(path)
    with pytest.raises(CaffeError, match=r"there is no device and no file with the name 'v10'.*did you mean v100"):
        read_device("v10")
    with pytest.raises(CaffeError, match=r"there is no device and no file with the name 'abacus'.*use one of a100, "):
        read_device("abacus")
