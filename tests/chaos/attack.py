"""The attack on one training run: the user's commands, the last of which runs undisturbed, and the verdict."""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from netdsl.distributed.control.heartbeat import START
from tests.chaos.cases import ChaosCase
from tests.chaos.references import Reference
from tests.chaos.settings import COPY
from tests.chaos.user_command import UserCommands
from tests.chaos.verdict import (
    PROCESSES,
    CaseVerdict,
    SharedFiles,
    judge_command,
    judge_copy,
    judge_folder,
    judge_model,
    judge_output,
    put_back,
)

_PATIENCE = START + 60.0  # seconds without any sign of progress; longer than supervisors wait for workers to start
_TIMES = 5.0  # multiples of the time of an undisturbed run, in addition
_VANISH = 60.0  # seconds for processes to end after their command


@dataclass(frozen=True)
class Attack:
    """The events of a case, and its verdict."""

    verdict: CaseVerdict
    story: str
    seconds: float


def attack(case: ChaosCase, folder: Path, reference: Reference) -> Attack:
    """Train in a folder under attack, and judge the result."""
    setting, verdict, start = case.setting, CaseVerdict(), time.monotonic()
    story = list(filter(None, [str(case.faults)]))
    setting.write_files(folder)
    verdict.counts.update(case.faults.kinds)
    if case.deadline is not None:
        setting.begin(folder, case.deadline)
    shared = SharedFiles()
    load = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
    patience = _PATIENCE + _TIMES * reference.seconds * load
    with UserCommands(setting, folder, reference.progress, patience, case.faults) as commands:
        finished = _run(case, folder, commands, verdict, story)
        if finished and (folder / COPY).exists():
            result = commands.run(run_folder=COPY)
            judge_copy(setting, folder, result, reference, verdict)
            story.append(f"the copy: code {result.code}")
            shutil.rmtree(folder / COPY)
        for process in commands.left_processes(_VANISH):
            verdict.blame(PROCESSES, process)
    if finished:
        verdict.counts["recoveries"] += 1
        judge_model(setting, folder, reference, verdict)
        judge_folder(setting, folder, verdict)
    judge_output(setting, folder, verdict)
    shared.judge(verdict)
    (folder / "story.txt").write_text("\n".join([str(case), *story, *verdict.problems]) + "\n")
    return Attack(verdict, "; ".join(story), time.monotonic() - start)


def _run(case: ChaosCase, folder: Path, commands: UserCommands, verdict: CaseVerdict, story: list[str]) -> bool:
    """Run the commands of a case and then an undisturbed one. Returns whether that one succeeds."""
    for plan in case.commands:
        result = commands.run(plan.disturbances)
        happened = [str(disturbance) for disturbance in result.disturbances]
        verdict.counts.update(disturbance.kind.value for disturbance in result.disturbances)
        verdict.counts["recoveries"] += result.restarts
        judge_command(case.setting, result, verdict)
        put_back(folder, verdict)
        damage = plan.damage.happen(case.setting, folder) if plan.damage is not None else ""
        verdict.counts["damages"] += bool(damage)
        story.append(f"[{', '.join(filter(None, [*happened, damage])) or 'nothing'}] code {result.code}")
        if result.hung:
            return False
        if commands.finished and not damage:
            break
    result = commands.run()
    judge_command(case.setting, result, verdict)
    story.append(f"code {result.code}")
    return result.code == 0
