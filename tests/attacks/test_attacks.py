"""Valid files that describe a lot of work cost little, or are refused. `make attacks` searches for more of them."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.attacks.grammars import GRAMMARS
from tests.attacks.measuring import cost_of
from tests.attacks.search import FOUND, AttackSearch, read_recipe, written_recipe

_RECIPES = sorted(FOUND.glob("*.json"))
_QUICK = ("card-card-mapping.json", "list-check-digits.json")


@pytest.mark.parametrize("name", _QUICK)
def test_a_found_file_costs_little(name: str, tmp_path: Path) -> None:
    cost = cost_of(read_recipe(FOUND / name), tmp_path / "case")
    assert not cost.is_find, cost


@pytest.mark.slow
@pytest.mark.parametrize("path", _RECIPES, ids=lambda path: path.stem)
def test_every_found_file_costs_little(path: Path, tmp_path: Path) -> None:
    cost = cost_of(read_recipe(path), tmp_path / "case")
    assert not cost.is_find, cost


def test_a_recipe_is_written_as_it_is_read(tmp_path: Path) -> None:
    for path in _RECIPES:
        assert path.read_text() == written_recipe(read_recipe(path))


def test_a_recipe_always_builds_the_same_file(tmp_path: Path) -> None:
    random = Random(1)
    for kind in GRAMMARS.values():
        steps = [[rule, *(random.choice((0, 1, 3)) for _ in range(count))] for rule, count in kind.RULES.items()]
        first, second = (kind().build(steps, tmp_path).read_bytes() for _ in range(2))
        assert first == second


def test_the_search_depends_only_on_its_seed_and_costs(tmp_path: Path) -> None:
    one, other = (AttackSearch(7, tmp_path, tmp_path) for _ in range(2))
    for target, same in zip(one.targets, other.targets, strict=True):
        assert one._next_recipe(target) == other._next_recipe(same)
