"""Rules for the repository: generated files are up to date, and the instructions for contributors work."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from docs.error_messages import ErrorMessage, error_page, messages_without_advice
from netdsl.dsl.stubs import STUB, stub
from netdsl.layers import LAYERS
from tests.registered import registered

ROOT = Path(__file__).parent.parent


def load(path: Path) -> ModuleType:
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_generated_schema_code_is_up_to_date(tmp_path: Path) -> None:
    (tmp_path / "caffe_proto").mkdir()
    shutil.copy(ROOT / "caffe_proto/caffe.proto", tmp_path / "caffe_proto")
    command = [sys.executable, "-m", "grpc_tools.protoc", "-I.", "--python_out=.", "--pyi_out=."]
    subprocess.run([*command, "caffe_proto/caffe.proto"], cwd=tmp_path, check=True)
    stubs = (tmp_path / "caffe_proto/caffe_pb2.pyi").read_text()
    for name, fresh in {
        "caffe_pb2.py": (tmp_path / "caffe_proto/caffe_pb2.py").read_text(),
        "caffe_pb2.pyi": re.sub(r"(?m)^ *None: .*\n", "", stubs),
    }.items():
        assert (ROOT / "caffe_proto" / name).read_text() == fresh, f"{name} is stale: run `make proto`"


def test_the_stubs_of_layer_types_are_up_to_date() -> None:
    assert STUB.read_text() == stub(), "layer_types.pyi is stale: run `make stubs`"


def test_the_documented_help_is_up_to_date() -> None:
    generate = load(ROOT / "docs/generate.py")
    assert (ROOT / "docs/command_line.md").read_text() == generate.command_line(), "stale: run `make docs`"
    assert (ROOT / "docs/schemas.json").read_text() == generate.schemas(), "stale: run `make docs`"
    assert (ROOT / "docs/picture.svg").read_text() == generate.picture(), "stale: run `make docs`"


def test_the_documented_layer_types_are_up_to_date() -> None:
    generate = load(ROOT / "docs/generate.py")
    assert (ROOT / "docs/layer_types.md").read_text() == generate.layer_types(), "stale: run `make docs`"
    assert (ROOT / "docs/known_models.md").read_text() == generate.known_models(), "stale: run `make docs`"
    assert (ROOT / "docs/limits.md").read_text() == generate.limits(), "stale: run `make docs`"


def test_the_documented_errors_are_up_to_date() -> None:
    assert (ROOT / "docs/errors.md").read_text() == error_page(), "stale: run `make docs`"


def test_every_error_ends_with_what_to_do() -> None:
    assert [f"{error.path}:{error.line}: {error.text}" for error in messages_without_advice()] == []


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("<path>: the file is damaged; copy it again", "copy it again"),
        ("<path>: the file is damaged, so copy it again", "copy it again"),
        ("kernel_size is <size>; set it to 1 or more, or see `zoo show`", "set it to 1 or more, or see `zoo show`"),
        ("there is no layer '<name>'; did you mean '<near>'?", "did you mean '<near>'?"),
        ("<path>: not a model; to write it as a program, use --as-dsl", "to write it as a program, use --as-dsl"),
        ("drawing needs matplotlib: pip install 'netdsl[logs]'", "pip install 'netdsl[logs]'"),
        ("the file contains <found>; <advice>", "<advice>"),
        ("<path>: the file is damaged", ""),
        ("the first bottom has <first> axes; the second has <second>", ""),
        ("the masks must name anchors", ""),
    ],
)
def test_the_advice_of_an_error_is_found(text: str, advice: str) -> None:
    assert ErrorMessage(Path("netdsl/errors.py"), 1, "NetError", text).advice == advice


def test_the_documented_names_are_up_to_date() -> None:
    generate = load(ROOT / "docs/generate.py")
    assert (ROOT / "docs/python.md").read_text() == generate.python_names(), "stale: run `make docs`"


def test_a_test_named_after_a_module_is_in_the_matching_folder() -> None:
    misplaced = []
    for package in ("caffe_proto", "netdsl", "converters", "zoo"):
        modules = {path.relative_to(ROOT).with_suffix("") for path in (ROOT / package).rglob("*.py")}
        modules |= {path.parent for path in modules if path.name == "__init__"}
        for test in (ROOT / "tests" / package).rglob("test_*.py"):
            place = test.relative_to(ROOT / "tests").parent
            named = [module for module in modules if module.name.removeprefix("_") == test.stem.removeprefix("test_")]
            if not (ROOT / place).is_dir() or (named and place not in {module.parent for module in named}):
                misplaced.append(f"{test.relative_to(ROOT)}: {', '.join(map(str, named)) or 'no such package'}")
    assert misplaced == []


def test_only_layers_refer_to_layer_types() -> None:
    """Other code asks a layer for its capabilities. Only code that writes nets, such as the DSL, may refer to a type by
    name."""
    paths = [path for package in ("netdsl", "converters", "zoo") for path in (ROOT / package).rglob("*.py")]
    writing = ("netdsl/dsl", "converters/incoming", "converters/onnx_import", "converters/torch_import")
    inside = {ROOT / folder for folder in ("netdsl/layers", *writing)}
    outside = [path for path in paths if inside.isdisjoint(path.parents)]
    assert outside
    for path in outside:
        for node in ast.walk(ast.parse(path.read_text())):
            modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            modules += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for module in modules:
                assert not module.startswith("netdsl.layers."), f"{path}:{node.lineno} imports {module}"
            if isinstance(node, ast.Compare):
                texts = {each.value for each in ast.walk(node) if isinstance(each, ast.Constant)}
                types = [each for each in ast.walk(node) if isinstance(each, ast.Attribute) and each.attr == "type"]
                assert not (types and texts & LAYERS.keys()), f"{path}:{node.lineno} compares layer types"


def test_the_makefile_lists_every_command_in_contributing() -> None:
    told = re.findall(r"`make ([a-z-]+)", (ROOT / "CONTRIBUTING.md").read_text())
    listed = re.findall(r"(?m)^([a-z-]+):.*##", (ROOT / "Makefile").read_text())
    assert told and set(told) <= set(listed)


def test_the_layer_type_in_contributing_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text().split("## How to add a layer type")[1]
    shown = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (tmp_path / "soft_sign.py").write_text(shown[0])
    (tmp_path / "net.prototxt").write_text(
        'layer { name: "x" type: "Input" top: "x" input_param { shape { dim: 2 dim: 3 } } }'
        'layer { name: "y" type: "SoftSign" bottom: "x" top: "y" }'
    )
    monkeypatch.chdir(tmp_path)
    names = {"SoftSign": load(tmp_path / "soft_sign.py").SoftSign}
    with registered():
        exec(shown[1], names)
    outputs = names["net"].forward(x=[[1.0, -1.0, 3.0], [0.0, 4.0, -9.0]])
    assert outputs["y"].tolist() == [[0.5, -0.5, 0.75], [0.0, pytest.approx(0.8), pytest.approx(-0.9)]]


def test_training_needs_little_besides_torch() -> None:
    """`make test-gpu` and `make bench-gpu` train nets with a machine's own Python."""
    program = (
        "import sys; sys.modules |= dict.fromkeys(['msgspec', 'click', 'yaml', 'rich', 'scipy', 'lmdb'])\n"
        "import netdsl.layers, netdsl.solver.open_solver, netdsl.planner.memory, zoo.catalogue"
    )
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)
