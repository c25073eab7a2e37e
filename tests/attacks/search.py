"""An evolutionary search for files that cost the most for their size."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.attacks.grammar import LARGEST, Step
from tests.attacks.grammars import GRAMMARS
from tests.attacks.measuring import AttackRecipe, Cost, cost_of

FOUND = Path(__file__).parent / "found"
_NUMBERS = (0, 1, 2, 3, 7, 16, 100, 255, 1000, 4096, 20_000, 65_535, 10**6, 2**31 - 1, 2**40)
_KEPT = 8  # recipes of each target that are changed further
_SMALLEST = 4096  # bytes; smaller files count as files of this size, since every command costs something
_LONGEST = 12  # steps of a recipe


@dataclass
class Target:
    """A command with the files of a grammar: its best recipes, the cost of a plain file, and the highest costs."""

    grammar: str
    command: tuple[str, ...]
    best: list[tuple[float, AttackRecipe]] = field(default_factory=list)
    plain: Cost | None = None
    runs: int = 0
    seconds: float = 0.0
    memory: int = 0

    def score(self, cost: Cost) -> float:
        """Return the cost for each byte, less the cost of a plain file."""
        plain = self.plain.share if self.plain else 0.0
        return (cost.share - plain) * LARGEST / max(cost.size, _SMALLEST)


class AttackSearch:
    """Searches all targets in turn. The recipes depend only on the seed and on the measured costs."""

    def __init__(self, seed: int, work: Path, keep: Path) -> None:
        self._random, self._work, self._keep = Random(seed), work, keep
        self.finds = dict[str, Cost]()
        self.targets = [Target(name, command) for name, kind in GRAMMARS.items() for command in kind.COMMANDS]
        self._begun = iter(self._known())

    def step(self) -> None:
        """Measure one recipe."""
        recipe = next(self._begun, None) or self._next_recipe(min(self.targets, key=lambda target: target.runs))
        self._measure(recipe)

    def _known(self) -> Iterable[AttackRecipe]:
        """Yield a plain file for each target, and the recipes that were found earlier."""
        for target in self.targets:
            yield AttackRecipe(target.grammar, target.command, ())
        for path in sorted(FOUND.glob("*.json")):
            yield read_recipe(path)

    def _measure(self, recipe: AttackRecipe) -> None:
        target = next(each for each in self.targets if (each.grammar, each.command) == (recipe.grammar, recipe.command))
        cost = cost_of(recipe, self._work / "case")
        target.runs += 1
        target.plain = target.plain or cost
        if cost.size > LARGEST:
            return
        target.seconds, target.memory = max(target.seconds, cost.seconds), max(target.memory, cost.memory)
        target.best.append((target.score(cost), recipe))
        target.best = sorted(target.best, key=lambda each: -each[0])[:_KEPT]
        if cost.is_find:
            self._note_find(recipe, cost)

    def _note_find(self, recipe: AttackRecipe, cost: Cost) -> None:
        """Keep one recipe for each command and set of rules."""
        rules = "-".join(sorted({step[0] for step in recipe.steps}))
        command = "-".join(word.strip("-") for word in recipe.command if word.strip("-").islower())
        name = f"{recipe.grammar}-{command}-{rules}"[:120]
        if name not in self.finds:
            self._keep.mkdir(parents=True, exist_ok=True)
            (self._keep / f"{name}.json").write_text(written_recipe(recipe))
            self.finds[name] = cost

    def _next_recipe(self, target: Target) -> AttackRecipe:
        parents, random = [recipe.steps for _, recipe in target.best], self._random
        choice = random.random()
        if choice < 0.3 or not parents:
            steps = [self._random_step(target) for _ in range(random.randint(1, 5))]
        elif choice < 0.8:
            steps = self._mutated(list(random.choice(parents)), target)
        else:
            first, second = random.choice(parents), random.choice(parents)
            steps = [*first[: random.randint(0, len(first))], *second[random.randint(0, len(second)) :]]
        return AttackRecipe(target.grammar, target.command, tuple(steps[:_LONGEST]))

    def _mutated(self, steps: list[Step], target: Target) -> list[Step]:
        random = self._random
        place = random.randint(0, len(steps))
        if place == len(steps) or random.random() < 0.2:
            steps.insert(place, self._random_step(target))
        elif random.random() < 0.2:
            del steps[place]
        elif len(steps[place]) > 1:
            step, index = list(steps[place]), random.randrange(1, len(steps[place]))
            step[index] = random.choice([random.choice(_NUMBERS), 2 * step[index], step[index] // 2, step[index] + 1])
            steps[place] = step
        return steps

    def _random_step(self, target: Target) -> Step:
        rules = GRAMMARS[target.grammar].RULES
        name = self._random.choice(sorted(rules))
        return [name, *(self._random.choice(_NUMBERS) for _ in range(rules[name]))]


def read_recipe(path: Path) -> AttackRecipe:
    """Return the recipe in a JSON file."""
    plain = json.loads(path.read_text())
    return AttackRecipe(plain["grammar"], tuple(plain["command"]), tuple(plain["steps"]))


def written_recipe(recipe: AttackRecipe) -> str:
    """Return a recipe as JSON, with a step on each line."""
    steps = ",\n".join(f"    {json.dumps(step)}" for step in recipe.steps)
    command = json.dumps(recipe.command)
    return f'{{\n  "grammar": "{recipe.grammar}",\n  "command": {command},\n  "steps": [\n{steps}\n  ]\n}}\n'


def table(targets: Iterable[Target]) -> str:
    """Return the highest costs of each target as a table."""
    lines = [f"{'':<8}{'command':<44}{'files':>7}{'seconds':>9}{'MB':>8}"]
    lines += [
        f"{each.grammar:<8}{' '.join(each.command):<44}{each.runs:>7,}{each.seconds:>9.1f}{each.memory / 1e6:>8,.0f}"
        for each in targets
    ]
    return "\n".join(lines)
