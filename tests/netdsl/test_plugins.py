"""Plug-ins: what imports them and when, and the messages if that fails."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from caffe_proto import all_dialects
from caffe_proto import caffe_pb2 as pb
from netdsl.allowed_modules import PLUGINS, in_folder
from netdsl.distributed.control.address import ControlAddress, LocalSocket
from netdsl.distributed.launcher import WorkerSpec
from netdsl.distributed.launchers import LAUNCHERS
from netdsl.distributed.run import Run
from netdsl.distributed.strategies.settings import STRATEGIES, parse, text_of
from netdsl.distributed.transports import CONNECTIONS
from netdsl.distributed.transports.transport import Transport
from netdsl.errors import DistributedError, RegistryError
from netdsl.layers import LAYERS
from netdsl.model.formats import reader_of
from netdsl.net.compute_precision import ComputePrecision
from netdsl.planner.plan import Forecast, Plan, read_plan, write_plan
from netdsl.plugins import Plugin, load_plugins, plugin_places, plugins
from netdsl.registry import registered_by
from netdsl.solver.settings import open_settings
from tests.registered import forgotten_plugins, installed_as_package
from zoo.catalogue import MODELS

LAYER = """
import other_of_somebody
from netdsl.layer import Layer
from netdsl.registry import register_layer

@register_layer
class OfSomebody(Layer):
    pass
"""
STRATEGY = """
from typing import ClassVar
import msgspec
from netdsl.distributed.strategies.averaging import ModelAveraging
from netdsl.registry import register_launcher, register_strategy, register_transport

@register_strategy
class Lazy(msgspec.Struct, frozen=True, tag="lazy", tag_field="name"):
    name: ClassVar[str] = "lazy"
    synchronous: ClassVar[bool] = True
    divides_batch: ClassVar[bool] = False
    rounds: int = 2

    begin, traffic = ModelAveraging.begin, ModelAveraging.traffic

@register_launcher
class Starter:
    name: ClassVar[str] = "starter"

@register_transport("pigeon")
def by_pigeon(control, rank, size, device):
    return f"pigeons of {rank}"
"""

FILES = """
from pathlib import Path
from netdsl.registry import register_dialect, register_format, register_model

@register_format(".sizes")
def read_sizes(path):
    return None

@register_model("our-net")
def our_net():
    return Path(__file__).parent

register_dialect(Path(__file__).with_name("our-fork.toml"))
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "of_somebody.py").write_text(LAYER.replace("import other_of_somebody\n", ""))
    (tmp_path / "lazy_strategy.py").write_text(STRATEGY)
    (tmp_path / "other_of_somebody.py").write_text("")
    with forgotten_plugins(monkeypatch):
        yield tmp_path


def test_an_allowed_module_is_imported_when_a_name_is_looked_up(folder: Path) -> None:
    with PLUGINS.allowing(in_folder(["of_somebody"], folder)):
        assert "of_somebody" not in sys.modules
        assert LAYERS["OfSomebody"].__module__ == "of_somebody"
        assert "OfSomebody" not in LAYERS.own() and len(LAYERS) == len(LAYERS.own()) + 1


def test_other_modules_of_the_folder_are_not_imported(folder: Path) -> None:
    (folder / "of_somebody.py").write_text(LAYER)
    with PLUGINS.allowing(in_folder(["of_somebody"], folder)):
        with pytest.raises(RegistryError, match=r"'of_somebody': can't be imported: .*No module named 'other_of_some"):
            load_plugins()
        with pytest.raises(RegistryError):  # the failure is remembered
            LAYERS.get("OfSomebody")


def test_an_installed_package_needs_no_permission(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed_as_package(folder, "of_somebody")
    monkeypatch.syspath_prepend(folder)
    assert Plugin("of_somebody", "netdsl-of-somebody 1.2") in plugins()
    assert [*LAYERS][-1] == "OfSomebody"


@pytest.mark.parametrize(
    "code, problem",
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        (LAYER.replace("OfSomebody", "ReLU").replace("import other", "# "), "the layer type 'ReLU' is defined twice"),
    ],
)
def test_a_package_that_cannot_be_imported_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch, code: str, problem: str
) -> None:
    (folder / "of_somebody.py").write_text(code)
    installed_as_package(folder, "of_somebody")
    monkeypatch.syspath_prepend(folder)
    with pytest.raises(RegistryError) as raised:
        LAYERS.get("ReLU")
    start = "plug-in 'of_somebody' of the package netdsl-of-somebody 1.2: can't be imported: "
    assert str(raised.value).startswith(start + problem)
    assert str(raised.value).endswith("; fix the package, or remove it with pip uninstall netdsl-of-somebody")


def test_the_environment_allows_modules_of_the_current_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("NETDSL_PLUGINS", "of_somebody, lazy_strategy")
    with PLUGINS.allowing({}):
        assert plugin_places() == {"lazy_strategy": str(folder), "of_somebody": str(folder)}
        assert "OfSomebody" in LAYERS and "lazy" in STRATEGIES


def test_a_missing_module_is_reported(folder: Path) -> None:
    with (
        PLUGINS.allowing(in_folder(["nowhere.at_all"], folder)),
        pytest.raises(RegistryError, match=r"plug-in 'nowhere.at_all': there is no such module, neither installed n"),
    ):
        load_plugins()


def test_strategies_launchers_and_transports_can_be_registered_too(folder: Path) -> None:
    with PLUGINS.allowing(in_folder(["lazy_strategy"], folder)):
        strategy = parse("lazy:rounds=7")
        assert strategy.rounds == 7 and text_of(strategy) == "lazy:rounds=7"
        assert LAUNCHERS["starter"].__name__ == "Starter"
        transport = Transport("pigeon")
        assert transport is Transport("pigeon") and transport.value == "pigeon" and transport not in list(Transport)
        assert CONNECTIONS["pigeon"](None, 3, 4, None) == "pigeons of 3"
    with pytest.raises(DistributedError, match=r"strategy 'lazy': 'round=7' isn't a setting; did you mean rounds\?"):
        parse("lazy:round=7")
    with pytest.raises(ValueError, match="'dove' is not a valid Transport"):
        Transport("dove")


def test_formats_models_and_dialects_can_be_registered_too(folder: Path) -> None:
    (folder / "own_files.py").write_text(FILES)
    (folder / "our-fork.toml").write_text('title = "Ours"')
    with PLUGINS.allowing(in_folder(["own_files"], folder)):
        assert "our-fork" in all_dialects() and reader_of(Path("x.sizes")).__name__ == "read_sizes"
        assert MODELS["our-net"]() == folder
        assert registered_by("own_files") == ["format .sizes", "model of the zoo our-net", "dialect our-fork"]


def test_netdsls_names_cannot_be_registered_again(folder: Path) -> None:
    taken = ("spark", LAUNCHERS, "netdsl.spark"), ("gloo", CONNECTIONS, "netdsl.distributed.tr")
    for name, registry, owner in (*taken, ("lenet", MODELS, "zoo.catalogue.lenet")):
        with pytest.raises(RegistryError, match=f"the {registry.noun} '{name}' is defined twice, by {owner}"):
            registry.register(name, test_netdsls_names_cannot_be_registered_again)


def test_a_run_records_its_plugins_names_without_allowing_them(folder: Path) -> None:
    with PLUGINS.allowing(in_folder(["lazy_strategy"], folder)):
        run = Run(
            open_settings(pb.SolverParameter(max_iter=4)),
            parse("lazy:rounds=7"),
            2,
            folder,
            transport=Transport("pigeon"),
        )
        run.save(folder / "run")
        assert Run.load(folder / "run") == run
    sys.modules.pop("lazy_strategy")
    advice = rf"run was started with --plugin lazy_strategy, .*: zoo train --resume {folder}/run --plugin lazy_strategy"
    with pytest.raises(DistributedError, match=advice):
        Run.load(folder / "run")
    assert "lazy_strategy" not in sys.modules


def test_a_plan_can_name_a_plugins_strategy(folder: Path) -> None:
    with PLUGINS.allowing(in_folder(["lazy_strategy"], folder)):
        forecast = Forecast(1.0, 0.0, 5, 3.0, 20, estimated=False)
        plan = Plan("net", "cpu", 1, 2, parse("lazy"), 8, 1, ComputePrecision.EXACT, forecast)
        write_plan(plan, folder / "plan.json")
        assert read_plan(folder / "plan.json") == plan
    STRATEGIES.unregister("lazy")
    with pytest.raises(
        DistributedError,
        match=r"plan\.json: the strategy 'lazy' is unknown; if a plug-in defines it, give --plugin MODULE",
    ):
        read_plan(folder / "plan.json")


def test_a_run_without_plugins_does_not_mention_them(folder: Path) -> None:
    Run(open_settings(pb.SolverParameter(max_iter=4)), workers=2).save(folder / "run")
    assert msgspec.json.decode((folder / "run/run.json").read_bytes()).keys() == {"version", "place", "run"}


def test_a_worker_may_import_modules_that_its_starter_allowed(folder: Path) -> None:
    spec = WorkerSpec("run", ".", 2, ControlAddress(LocalSocket(""), ""), 1.0, plugins={"of_somebody": str(folder)})
    assert "OfSomebody" not in LAYERS
    with WorkerSpec.of(spec.text()).allowing():
        assert "OfSomebody" in LAYERS
    assert "of_somebody" not in PLUGINS
