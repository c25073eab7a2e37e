"""OpenCV's own reader of QR codes, with exported nets. NETDSL_NETS names a folder with WeChatQR's detect and sr."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import msgspec
import pytest

from converters.running import unreported
from converters.targets.environment import install_target
from converters.targets.target import TARGETS
from tests.targets.table import nets_below
from zoo.exporting import export

pytestmark = pytest.mark.targets

NETS = ("detect", "sr")
TEXT = "read by two nets"
READS = f"""import json, sys, cv2, numpy as np
code = cv2.resize(cv2.QRCodeEncoder.create().encode("{TEXT}"), None, fx=6, fy=6, interpolation=cv2.INTER_NEAREST)
image = np.full((600, 800, 3), 200, np.uint8)
image[150 : 150 + len(code), 250 : 250 + len(code)] = code[..., None]
image = cv2.warpAffine(image, cv2.getRotationMatrix2D((400, 300), 20, 0.9), (800, 600), borderValue=(200, 200, 200))
texts, corners = cv2.wechat_qrcode_WeChatQRCode(*sys.argv[1:]).detectAndDecode(image)
print(json.dumps([texts, np.asarray(corners).round().tolist()]))
"""


def test_wechat_qr_code_reads_the_exported_nets_as_those_of_caffe(tmp_path: Path) -> None:
    if "NETDSL_NETS" not in os.environ:
        pytest.skip("needs a folder of published nets, named by NETDSL_NETS")
    nets = {name.rpartition("/")[2]: files for name, files in nets_below(Path(os.environ["NETDSL_NETS"]))}
    if not set(NETS) <= nets.keys():
        pytest.skip("the folder has no nets detect and sr")
    install_target(TARGETS["opencv5"], unreported)
    for name in NETS:
        lengths = {"data": (1, 1, "H", "W")}
        export(
            net=nets[name][0], weights=(nets[name][1],), runtime="opencv5", dynamic=lengths,
            output=str(tmp_path / f"{name}.onnx"),
        )  # fmt: skip
    written = read_by("opencv-contrib-python-headless>=5,<6", [str(tmp_path / f"{name}.onnx") for name in NETS])
    caffes = read_by("opencv-contrib-python-headless>=4.9,<5", [file for name in NETS for file in nets[name]])
    assert written[0] == caffes[0] == [TEXT]
    distances = [abs(a - b) for first, second in zip(written[1][0], caffes[1][0], strict=True)
                 for a, b in zip(first, second, strict=True)]  # fmt: skip
    assert max(distances) <= 1  # pixel


def read_by(package: str, files: list[str]) -> tuple[list[str], list[list[list[float]]]]:
    """Return the texts and corners that a version of OpenCV reads from an image of a code."""
    target = msgspec.structs.replace(TARGETS["opencv5"], packages=(package,))
    python = install_target(target, unreported).python
    ended = subprocess.run([python, "-I", "-c", READS, *files], capture_output=True, text=True, check=True)
    return tuple(json.loads(ended.stdout))
