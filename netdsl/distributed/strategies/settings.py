"""The strategies by name, and their text form: a name and settings, such as `averaging:tau=50,warmup=10`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from caffe_proto.errors import name_advice
from netdsl.distributed.strategies.all_reduce import AllReduce
from netdsl.distributed.strategies.averaging import ModelAveraging
from netdsl.distributed.strategies.elastic import ElasticAveraging, SynchronousElastic
from netdsl.distributed.strategies.mpca import MPCA
from netdsl.distributed.strategies.outer import OuterMomentum
from netdsl.distributed.strategies.strategy import Strategy
from netdsl.errors import DistributedError
from netdsl.registry import Registry

OWN = (ModelAveraging, AllReduce, OuterMomentum, ElasticAveraging, SynchronousElastic, MPCA)
STRATEGIES = Registry[type[Any]]("strategy")  # structs of settings, each of which is a Strategy

for _settings_class in OWN:
    STRATEGIES.register(_settings_class.name, _settings_class)


def parse(text: str) -> Strategy:
    """Parse a strategy's name and settings."""
    name, _, rest = text.partition(":")
    if name not in STRATEGIES:
        raise DistributedError(f"unknown strategy '{name}'; {name_advice(name, STRATEGIES)}")
    known = msgspec.structs.fields(STRATEGIES[name])
    names = [setting.name for setting in known]
    settings = {}
    for pair in filter(None, rest.split(",")):
        setting, equals, value = pair.partition("=")
        if not equals or setting not in names:
            raise DistributedError(f"strategy '{name}': {pair!r} isn't a setting; {name_advice(setting, names)}")
        settings[setting] = _setting_value(name, STRATEGIES[name], setting, value)
    strategy: Strategy = STRATEGIES[name](**settings)
    return strategy


def from_plain(settings: Any, file: Path) -> Strategy:
    """Return the strategy that plain settings from a JSON file describe. The settings include the strategy's name."""
    name = str(settings.get("name")) if isinstance(settings, Mapping) else ""
    if name not in STRATEGIES:
        raise DistributedError(
            f"{file}: the strategy '{name}' is unknown; if a plug-in defines it, give --plugin MODULE"
        )
    strategy: Strategy = msgspec.convert(settings, STRATEGIES[name])
    return strategy


def text_of(strategy: Strategy) -> str:
    """Return the text that `parse` reads as the same strategy."""
    settings = msgspec.structs.asdict(strategy)  # type: ignore[arg-type] # a struct, as every strategy is
    return f"{strategy.name}:" + ",".join(f"{name}={_setting_text(value)}" for name, value in settings.items())


def _setting_value(strategy: str, kind: type[Any], setting: str, text: str) -> Any:
    """Convert the text of one setting to its type."""
    try:
        return getattr(msgspec.convert({"name": strategy, setting: text}, kind, strict=False), setting)
    except msgspec.ValidationError:
        default = next(each.default for each in msgspec.structs.fields(kind) if each.name == setting)
        example = "1" if default is msgspec.NODEFAULT else _setting_text(default)
        raise DistributedError(
            f"strategy '{strategy}': {text!r} isn't a valid value for {setting}; write one such as {setting}={example}"
        ) from None


def _setting_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
