"""Commands that don't compute start fast, because they don't load torch."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from zoo.cli.commands import COMMANDS
from zoo.cli.request_command import Command

EXAMPLES = Path(__file__).parents[3] / "examples"
MAY_LOAD_TORCH = {
    *("adopt", "check", "draw", "import"),  # they need the layer types, to compute shapes and deployed nets
    *("convert", "export", "opencv migrate", "verify"),
    *("features", "finetune", "predict", "propose", "report", "serve", "test", "time", "train"),
    *("plan", "simulate alexnet", "simulate cost", "simulate methods", "simulate run", "simulate speedup"),
}
CALLS = {
    "card": ["lenet"],
    "completion": ["bash"],
    "data convert": ["digits", "out_lmdb"],
    "data mean": ["digits", "mean.binaryproto"],
    "data show": ["digits"],
    "diff": ["train.prototxt", "test.prototxt"],
    "doctor": ["--help"],  # its probes load torch in processes of their own
    "fmt": ["train.prototxt"],
    "list": [],
    "pull": ["model", "--as", "mine"],
    "push": ["model", "pushed"],
    "run": ["--help"],  # the script itself loads torch
    "show": ["train.prototxt", "digits_iter_30.caffemodel", "solver.prototxt", "lenet"],
    "store check": [],
    "store list": [],
    "store path": [],
    "store prune": [],
    "targets install": ["--help"],
    "targets list": [],
    "targets remove": ["--help"],
    "upgrade": ["digits_2013.prototxt", "digits_now.prototxt"],
}
PROGRAM = """
import json, sys
from zoo.cli import main
loaded = {}
for words in json.loads(sys.argv[1]):
    sys.argv = ["zoo", *words]
    try:
        main()
    except SystemExit as end:
        loaded[" ".join(words)] = (end.code or 0) < 2 and "torch" not in sys.modules
print(json.dumps(loaded))
"""


def test_every_command_is_listed_once() -> None:
    computing = {name for name, command in COMMANDS.items() if isinstance(command, Command) and command.computes}
    assert computing == MAY_LOAD_TORCH
    commands = {name for name, command in COMMANDS.items() if isinstance(command, Command)}
    assert commands == MAY_LOAD_TORCH | CALLS.keys() and not MAY_LOAD_TORCH & CALLS.keys()


def test_other_commands_do_not_load_torch(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES, tmp_path, dirs_exist_ok=True)
    (tmp_path / "model").mkdir()
    shutil.copy(EXAMPLES / "digits.prototxt", tmp_path / "model/deploy.prototxt")
    (tmp_path / "model/README.md").write_text("---\nname: mine\nsummary: a net\nlicense: MIT\n---\nA net for users.\n")
    calls = [[*name.split(), *words] for name, words in CALLS.items()]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(calls)],
        cwd=tmp_path,
        env={**os.environ, "NETDSL_HOME": str(tmp_path / "home")},
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = json.loads(done.stdout.splitlines()[-1])
    assert [words for words, fine in loaded.items() if not fine] == [], done.stderr
    assert len(loaded) == len(CALLS)
