"""SLURM on the hosts of a laboratory: one munged for all, slurmctld on the first host and slurmd on each."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Mapping
from pathlib import Path

from tests.hosts.laboratory import Laboratory, Program
from tests.patience import PATIENCE

_PROGRAMS = {
    "slurmctld": "slurmctld",
    "slurmd": "slurmd",
    "sbatch": "slurm-client",
    "munged": "munge",
}  # Debian's names
_PORT = 6817
_CONF = """
ClusterName=laboratory
SlurmctldHost={first}({address})
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir=/tmp/slurmd
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile=/tmp/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/linear
ReturnToService=2
SlurmdTimeout=10
KillWait=2
SlurmdParameters=config_overrides
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def why_without_slurm() -> str:
    """Return why SLURM can't run here. Returns an empty string if it can."""
    if os.geteuid():
        return "only root can start SLURM's daemons"
    for program, package in _PROGRAMS.items():
        if shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/sbin") is None:
            return f"{program} isn't installed; run apt-get install {package}"
    return ""


class Slurm:
    """SLURM's daemons, which run until the laboratory ends."""

    def __init__(self, laboratory: Laboratory) -> None:
        self._laboratory, folder = laboratory, laboratory.folder / "slurm"
        self._first = first = laboratory.hosts[0]
        folder.mkdir()
        (folder / "state").mkdir()
        nodes = [f"NodeName={host.name} NodeAddr={host.address} CPUs=1 State=UNKNOWN" for host in laboratory.hosts]
        conf = _CONF.format(first=first.name, address=first.address, folder=folder, nodes="\n".join(nodes))
        (folder / "slurm.conf").write_text(conf)
        (folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")  # which starts on a host without any
        self._environment = {"SLURM_CONF": str(folder / "slurm.conf")}
        self._begin_munge(folder)
        controller = first.start(["slurmctld", "-D"], folder / "slurmctld.txt", self._environment)
        first.await_listener(_PORT, controller)
        for host in laboratory.hosts:
            host.call("mkdir", "/tmp/slurmd")
        self._daemons = [
            host.start(["slurmd", "-D", "-N", host.name], folder / f"slurmd-{host.name}.txt", self._environment)
            for host in laboratory.hosts
        ]
        self.await_text(f"{len(laboratory.hosts)} idle", "sinfo", "-h", "-o", "%D %T")

    def _begin_munge(self, folder: Path) -> None:
        key, socket = folder / "munge.key", folder / "munge.socket"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        words = ["munged", "--foreground", "--force", f"--key-file={key}", f"--socket={socket}"]
        words += [f"--{name}-file={folder}/munge.{name}" for name in ("pid", "log", "seed")]
        munge = self._laboratory.start_at_switch(words, folder / "munge.txt", {})
        until = time.monotonic() + PATIENCE
        while not socket.exists():
            assert munge.is_running() and time.monotonic() < until, munge.text()
            time.sleep(0.05)

    def call(self, *command: str) -> str:
        """Run one of SLURM's commands on the first host, and return its output."""
        settings = [f"{name}={value}" for name, value in self._environment.items()]
        return self._first.call("env", *settings, *command)

    def submit(self, script: Path, environment: Mapping[str, str]) -> int:
        """Submit a script in its folder, and return the number of its job."""
        output = script.with_suffix(".txt")
        program = self._first.start(["sbatch", "--parsable", str(script)], output, {**self._environment, **environment})
        assert program.wait(PATIENCE) == 0, program.text()
        return int(program.text())

    def state_of(self, job: int) -> str:
        """Return the state of a job, with the number of its restarts and its nodes."""
        fields = dict(word.partition("=")[::2] for word in self.call("scontrol", "show", "job", str(job)).split())
        return f"{fields['JobState']} {fields['Restarts']} {fields['NodeList']}"

    def await_text(self, text: str, *command: str) -> None:
        """Wait until a command's output contains a text."""
        until = time.monotonic() + PATIENCE
        while text not in (output := self.call(*command)):
            logs = "\n".join(
                path.read_text() for path in sorted((self._laboratory.folder / "slurm").glob("slurm*.txt"))
            )
            assert time.monotonic() < until, f"{output}\n{logs}"
            time.sleep(0.2)

    def lose(self, name: str) -> Program:
        """Cut a node off, as when its machine fails. Returns its daemon."""
        (number,) = (host.number for host in self._laboratory.hosts if host.name == name)
        self._laboratory.hosts[number].cut()
        return self._daemons[number]
