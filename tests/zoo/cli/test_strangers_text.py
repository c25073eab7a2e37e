"""No command prints a stranger's escape sequences, nor characters that hide or reorder the text next to them."""

from __future__ import annotations

import json
import os
import re
import unicodedata
from pathlib import Path

import click
import cv2
import numpy as np
import pytest
from click.testing import CliRunner

from netdsl import Net
from zoo.cli.output import StyledText, print_json, print_line

LINK = "\x1b]8;;https://example.org\x1b\\"
ATTACK = f"a\x1b]52;c;bHM=\x07\x1b[31m\x9b1m\x85\x7f\u202e\u2066\u200b\u2028{LINK}[red]b[/red][link=x]c"
QUOTED = "".join(f"\\x{byte:02x}" for byte in ATTACK.encode())  # in prototxt
FILE = ATTACK.replace("/", "_") + "\udcff"
STYLES = re.compile(r"\x1b\[[0-9;]*m")
NET = f"""
name: "{QUOTED}"
layer {{ name: "{QUOTED}" type: "Input" top: "{QUOTED}" input_param {{ shape {{ dim: [1, 1, 4, 4] }} }} }}
layer {{ name: "{QUOTED}2" type: "InnerProduct" bottom: "{QUOTED}" top: "{QUOTED}2"
  inner_product_param {{ num_output: 3 weight_filler {{ type: "xavier" }} }} }}
layer {{ name: "{QUOTED}3" type: "Softmax" bottom: "{QUOTED}2" top: "{QUOTED}3" }}
"""
CARD = f"""---
name: {json.dumps(ATTACK)}
license: {json.dumps(ATTACK)}
caffemodel_url: {json.dumps(ATTACK)}
summary: {json.dumps(ATTACK)}
classes: [{json.dumps(ATTACK)}, b, c]
---
Text {ATTACK.replace("/", "_")}
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write nets, weights, a card, an image, a list and labels that contain the characters."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "net.prototxt").write_text(NET)
    (folder / "net.card.md").write_text(CARD)
    (folder / "other.prototxt").write_text(NET.replace("num_output: 3", "num_output: 4"))
    (folder / "wrong.prototxt").write_text(NET.replace("InnerProduct", f"{QUOTED}Type"))
    (folder / "unknown.prototxt").write_text("layer { \u202e: 1 }")
    (folder / "long.prototxt").write_text(NET.replace("InnerProduct", "x" * 100_000))
    (folder / "lines.prototxt").write_text(NET.replace(QUOTED, "a\\nzoo: everything is fine"))
    (folder / FILE).write_text(NET)
    (folder / "damaged").mkdir()
    (folder / "damaged" / FILE).write_bytes(b"\x00\x01")
    Net(folder / "net.prototxt").save(folder / "w.caffemodel")
    image = np.random.default_rng(0).integers(0, 256, (4, 4), dtype=np.uint8)
    data = cv2.imencode(".png", image)[1].tobytes()
    (folder / (FILE + ".png")).write_bytes(data)
    (folder / "list.txt").write_bytes(os.fsencode(f"{FILE}.png 0\n"))
    (folder / "wrong.txt").write_bytes(os.fsencode(f"{FILE}.png {ATTACK}\n"))
    (folder / "labels.txt").write_text(f"{ATTACK}\nb\nc\n")
    (folder / "set" / FILE).mkdir(parents=True)
    (folder / "set" / FILE / "1.png").write_bytes(data)
    return folder


def stranger_characters(text: str) -> set[str]:
    """Return the characters that a terminal could obey or hide, except line breaks, tabs and our own styles."""
    plain = STYLES.sub("", text)
    return {each for each in plain if unicodedata.category(each) in {"Cc", "Cf", "Cs", "Zl", "Zp"}} - {"\n", "\t"}


COMMANDS = [
    "show net.prototxt",
    "show --shapes net.prototxt",
    "show w.caffemodel",
    "show FILE",
    "show wrong.prototxt unknown.prototxt",
    "show damaged/FILE",
    "show nothing-FILE",
    "check net.prototxt wrong.prototxt",
    "check --run net.prototxt",
    "check FILE",
    "check unknown.prototxt",
    "card net.prototxt",
    "card FILE",
    "diff net.prototxt other.prototxt",
    "diff net.prototxt wrong.prototxt",
    "fmt --check FILE",
    "upgrade FILE",
    "time net.prototxt --iterations 1",
    "draw net.prototxt",
    "draw FILE",
    "predict net.prototxt FILE.png --weights w.caffemodel",
    "predict net.prototxt FILE.png --weights w.caffemodel --json",
    "predict net.prototxt FILE.png --weights w.caffemodel --csv",
    "verify net.prototxt other.prototxt",
    "convert w.caffemodel out.h5",
    "convert FILE out.npz",
    "export net.prototxt --weights w.caffemodel --to caffe -o out",
    "export FILE --to caffe -o out",
    "import net.prototxt --as-dsl",
    "data show folder:set",
    "data show images:list.txt",
    "data show images:wrong.txt",
    "data mean images:list.txt -o FILE.binaryproto",
    "test net.prototxt --weights w.caffemodel",
    "train FILE",
    "report FILE",
    "finetune net.prototxt --data folder:set -o tuned",
    "pull file:///FILE",
    "push . FILE",
    "caffe time -model FILE -iterations 1",
    "FILE",
    "show --FILE",
    "show net.prototxt --dialect FILE",
    "data show FILE",
    "adopt .",
]


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_prints_no_strangers_characters(zoo, files: Path, monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    monkeypatch.chdir(files)
    done = zoo(*(word.replace("FILE", FILE) for word in line.split()))
    assert stranger_characters(done.out + done.err) == set(), done
    assert not STYLES.search(done.out + done.err)
    assert max(map(len, done.err.splitlines()), default=0) <= 1200
    assert done.out + done.err


def test_only_our_own_styles_reach_a_terminal() -> None:
    @click.command()
    def command() -> None:
        print_line("a ", StyledText(f"\x1b[31m{LINK}\n", "red", bold=True), " b")

    output = CliRunner().invoke(command, color=True).output
    assert output == "a \x1b[31m\x1b[1m" + r"\x1b[31m\x1b]8;;https://example.org\x1b\\n" + "\x1b[0m b\n"


def test_json_contains_only_visible_ascii(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"name": ATTACK})
    out = capsys.readouterr().out
    assert stranger_characters(out) == set() and out.isascii()
    assert json.loads(out) == {"name": ATTACK}


@pytest.mark.parametrize("problem", [MemoryError(), ImportError("libtorch_cpu.so: failed to map segment")])
def test_little_memory_is_a_sentence(zoo, monkeypatch: pytest.MonkeyPatch, problem: Exception) -> None:
    @click.command("fail")
    def fail() -> None:
        raise problem

    monkeypatch.setattr("zoo.cli.request_command.Command.command", lambda *_: fail)
    done = zoo("show")
    assert done.code == 2 and done.err.startswith("zoo: there isn't enough memory")
