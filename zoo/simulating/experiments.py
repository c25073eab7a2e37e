"""The papers' experiments, from the trainings to a picture and the numbers in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from netdsl.distributed.machines import Link
from netdsl.planner.convergence import write_grid
from zoo.simulating import figures, tables
from zoo.simulating.cache import TrialCache
from zoo.simulating.convergence import ConvergenceExperiment
from zoo.simulating.cost import batch_costs, costs
from zoo.simulating.methods import MethodComparison, compare_methods
from zoo.simulating.pool import ProgressCallback
from zoo.simulating.scaling import ScalingExperiment, scale_alexnet
from zoo.simulating.speedup import convergence_grid, speedups
from zoo.simulating.tables import Table

ShowProgress = Callable[[str], AbstractContextManager[ProgressCallback]]  # takes what the trainings are for


@dataclass(frozen=True)
class DrawnFigure:
    """The files of a figure, and the table that goes with it."""

    table: Table
    files: tuple[Path, ...]


@dataclass(frozen=True)
class FigureFolder:
    """Where figures are written, where outcomes of trainings are kept, and how their progress is shown."""

    path: Path
    cache: TrialCache
    show_progress: ShowProgress

    def speedup(self, experiment: ConvergenceExperiment, workers: Sequence[int], taus: Sequence[int]) -> DrawnFigure:
        """SparkNet's Figure 3: the speed-up by workers and tau, if exchanges cost nothing."""
        with self.show_progress("speedup") as progress:
            results = speedups(experiment, progress, self.cache, workers=workers, taus=taus)
        files = self._files("speedup.csv", "speedup.png", "speedup.json")
        tables.write_csv(files[0], tables.speedup_table(results))
        figures.draw_speedups(results, experiment.goal, files[1])
        write_grid(convergence_grid(experiment, results), files[2])
        return DrawnFigure(tables.speedup_grid(results), files)

    def cost(self, experiment: ConvergenceExperiment, workers: int, taus: Sequence[int], link: Link) -> DrawnFigure:
        """SparkNet's Figure 4: the speed-up by the cost of exchanges, and what batches cost here."""
        with self.show_progress("cost") as progress:
            exchanges = costs(speedups(experiment, progress, self.cache, workers=[workers], taus=taus))
        with self.show_progress("batches") as progress:
            batches = tables.batch_table(batch_costs(experiment, workers, link, progress, self.cache))
        files = self._files("cost.csv", "batches.csv", "cost.png")
        tables.write_csv(files[0], tables.cost_table(exchanges))
        tables.write_csv(files[1], batches)
        figures.draw_costs(exchanges, workers, files[2])
        return DrawnFigure(batches, files)

    def methods(self, comparison: MethodComparison) -> DrawnFigure:
        """The MPCA paper's comparison of four methods."""
        with self.show_progress("methods") as progress:
            results = compare_methods(comparison, progress, self.cache)
        files, table = self._files("methods.csv", "methods.png"), tables.methods_table(results)
        tables.write_csv(files[0], table)
        figures.draw_methods(results, files[1])
        return DrawnFigure(table, files)

    def alexnet(self, experiment: ScalingExperiment, accuracy: float) -> DrawnFigure:
        """SparkNet's Figures 5 and 7: AlexNet by workers and tau, and the times until an accuracy."""
        with self.show_progress("alexnet") as progress:
            results = scale_alexnet(experiment, progress, self.cache)
        files, table = self._files("alexnet.csv", "alexnet.png"), tables.scaling_table(results, accuracy)
        tables.write_csv(files[0], table)
        figures.draw_scaling(results, files[1])
        return DrawnFigure(table, files)

    def _files(self, *names: str) -> tuple[Path, ...]:
        return tuple(self.path / name for name in names)
