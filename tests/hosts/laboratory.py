"""Several hosts on one machine, each with namespaces of its own and a link to a common switch.

A host has its own network, processes, name, `/etc/hosts`, `/tmp`, `/dev/shm` and home. One folder is common to all.
Everything ends with the first process of each host and of the switch, which end when this process does, however it
ends. Namespaces have no names that could be left behind.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
_PROGRAMS = {  # what a laboratory needs, with Debian's package
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "setpriv": "util-linux",
    "mount": "mount",
    "hostname": "hostname",
    "ip": "iproute2",
    "ss": "iproute2",
    "tc": "iproute2",
    "nft": "nftables",
}
_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
_BEGIN = Path(__file__).with_name("begin_host.sh")
_OWN = ("/tmp", "/dev/shm", str(Path.home()))  # folders of which each host has its own
_ROOT = os.geteuid() == 0
_ENDED_TOGETHER = ("setpriv", "--pdeathsig", "KILL")  # so that a command ends with the nsenter that waits for it
_SWITCH_NUMBER = 253  # with which its address is made, like those of hosts
_SWITCH = "read -r process rest < /proc/self/stat; echo $process; exec cat"  # the first process, like that of a host


@dataclass(frozen=True)
class Network:
    """What is special about the network of a laboratory. By default, nothing is."""

    own_name_is_loopback: bool = False  # `127.0.1.1 NAME` in a host's own /etc/hosts, as Debian writes it
    ipv6_only: bool = False
    dead_interface: bool = False  # the first interface leads nowhere, but the hosts' names have its address
    bandwidth: str = ""  # of each link, such as "1gbit"
    firewalls: Mapping[int, str] = field(default_factory=dict)  # rules for packets to a host, by its number


class Program:
    """A command that runs on a host, and the file with its output."""

    def __init__(self, process: subprocess.Popen[bytes], output: Path) -> None:
        self._process, self._output = process, output

    def wait(self, seconds: float) -> int:
        """Return the exit code. Raises a `TimeoutError` with the output if the program doesn't end in time."""
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"the program is still running after {seconds:g} s:\n{self.text()}") from None

    def is_running(self) -> bool:
        """Return whether the program hasn't ended."""
        return self._process.poll() is None

    def text(self) -> str:
        """Return what the program has written."""
        return self._output.read_text(errors="replace")

    def close(self) -> None:
        """End the program."""
        self._process.kill()
        self._process.wait()


class Host:
    """One host. Its number is its rank, and its name follows from the number."""

    def __init__(self, number: int, process: int, switch: int, network: Network, stack: ExitStack) -> None:
        self.number, self.name, self.process = number, name_of(number), process
        self.address = address_of(number, network)
        self.interface = "eth1" if network.dead_interface else "eth0"  # the one that leads to the switch
        self._enter = _entering(process, "-m", "-u", "-i", "-n", "-p")
        self._at_switch, self._stack = _entering(switch, "-n"), stack

    def start(self, command: Sequence[str], output: Path, environment: Mapping[str, str] | None = None) -> Program:
        """Start a command with the variables of an environment besides this process's own."""
        return _start([*self._enter, *_ENDED_TOGETHER], command, output, environment or {}, self._stack)

    def call(self, *command: str, given: str = "") -> str:
        """Run a short command and return its output. Raises a `RuntimeError` if it fails."""
        return _call([*self._enter, *command], given)

    def commands(self) -> str:
        """Return the command lines of the host's processes."""
        return self.call("sh", "-c", "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '")

    def await_listener(self, port: int, program: Program) -> None:
        """Wait until a program listens at a port. Raises a `RuntimeError` with its output if it ends before that."""
        while not self.call("ss", "-Hltn", f"sport = :{port}"):
            if not program.is_running():
                raise RuntimeError(f"nothing listens at port {port} of {self.name}: {program.text()}")
            time.sleep(0.05)

    def cut(self) -> None:
        """Cut the host's link at the switch. Its programs don't notice, except that nothing arrives."""
        _call([*self._at_switch, "ip", "link", "set", _port(self.number), "down"])

    def mend(self) -> None:
        """Mend the link."""
        _call([*self._at_switch, "ip", "link", "set", _port(self.number), "up"])

    def set_firewall(self, rules: str) -> None:
        """Apply rules to packets that arrive at this host from others."""
        self.call("nft", "-f", "-", given=_ruleset(rules))


class Laboratory:
    """The hosts and their switch."""

    def __init__(self, hosts: Sequence[Host], folder: Path, switch: int, network: Network, stack: ExitStack) -> None:
        self.hosts, self.folder = hosts, folder
        self.address = address_of(_SWITCH_NUMBER, network)  # of the switch, where programs that start others may run
        self._switch, self._stack = switch, stack

    def start_at_switch(self, command: Sequence[str], output: Path, environment: Mapping[str, str]) -> Program:
        """Start a command in the network of the switch, with the files of this machine."""
        return _start(_entering(self._switch, "-n"), command, output, environment, self._stack)

    def write_remote_shell(self, path: Path) -> Path:
        """Write a script that runs a command on the host with a name, like ssh, for programs at the switch."""
        cases = "".join(f"{host.name}) process={host.process} ;;\n" for host in self.hosts)
        path.write_text(
            f'#!/bin/sh\nwhile [ "${{1#-}}" != "$1" ]; do shift; done\ncase $1 in\n{cases}esac\nshift\n'
            'exec nsenter -t "$process" -m -u -i -n -p sh -c "$*"\n'
        )
        path.chmod(0o700)
        return path


def why_impossible() -> str:
    """Return why no laboratory can be made on this machine. Returns an empty string if one can."""
    if sys.platform != "linux":
        return "only Linux has namespaces"
    for program, package in _PROGRAMS.items():
        if shutil.which(program, path=_PATH) is None:
            return f"{program} isn't installed; run apt-get install {package}"
    try:
        with laboratory(1, Network(bandwidth="1gbit", firewalls={0: "tcp dport 9 drop"})):
            return ""
    except (OSError, RuntimeError) as problem:
        return f"this user can't make namespaces and networks here: {problem}"


@contextmanager
def laboratory(size: int, network: Network | None = None) -> Iterator[Laboratory]:
    """Make hosts with a common folder, and remove everything in the end."""
    network = network or Network()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="netdsl-hosts-")))
        switch = _begin_switch(network, stack)
        hosts = [_begin_host(number, size, network, switch, folder, stack) for number in range(size)]
        yield Laboratory(hosts, folder, switch, network, stack)


def name_of(number: int) -> str:
    """Return the name of a host."""
    return f"node{number}"


def address_of(number: int, network: Network) -> str:
    """Return the address at which the other hosts reach a host."""
    return f"fd77::{number + 1:x}" if network.ipv6_only else f"10.77.0.{number + 1}"


def _start(
    enter: Sequence[str], command: Sequence[str], output: Path, environment: Mapping[str, str], stack: ExitStack
) -> Program:
    """Start a command in namespaces and in the folder of its output. It ends with the stack, if not before."""
    with output.open("wb") as file:
        process = subprocess.Popen(
            [*enter, "env", f"--chdir={output.parent}", *command],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            env={**os.environ, "PATH": _PATH, **environment},
            start_new_session=True,
        )
    program = Program(process, output)
    stack.callback(program.close)
    return program


def _begin_switch(network: Network, stack: ExitStack) -> int:
    user = [] if _ROOT else ["--user", "--map-root-user"]
    process = _begin([*user, "--net", "sh", "-c", _SWITCH], stack)
    lines = ["link set lo up", "link add br0 type bridge"]
    lines += [_assigning(_SWITCH_NUMBER, network, "br0"), "link set br0 up"]
    _call([*_entering(process, "-n"), "ip", "-batch", "-"], "\n".join(lines) + "\n")
    return process


def _begin_host(number: int, size: int, network: Network, switch: int, folder: Path, stack: ExitStack) -> Host:
    kept = [str(folder), *(path for path in _needed() if any(Path(path).is_relative_to(own) for own in _OWN))]
    command = ["--net", "--mount", "--uts", "--ipc", "--pid", "--fork", "--kill-child"]
    command += ["sh", str(_BEGIN), name_of(number), *kept]
    settings = {"HOSTS": _names(number, size, network), "OWN": " ".join(_OWN)}
    process = _begin(command, stack, settings, [] if _ROOT else _entering(switch))
    host = Host(number, process, switch, network, stack)
    _connect(host, network, switch)
    if number in network.firewalls:
        host.set_firewall(network.firewalls[number])
    return host


def _begin(
    command: Sequence[str], stack: ExitStack, settings: Mapping[str, str] | None = None, prefix: Sequence[str] = ()
) -> int:
    """Start a first process, which ends with its input, and return the number that it prints when it is ready."""
    process = subprocess.Popen(
        [*prefix, "unshare", *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PATH": _PATH, **(settings or {})},
        start_new_session=True,  # Ctrl-C reaches only this process
        text=True,
    )
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    stack.callback(process.communicate)  # ends its input, and waits for its end
    line = process.stdout.readline()
    if not line:
        raise RuntimeError(process.stderr.read().strip() or "unshare ended without a reason")
    number = int(line)
    stack.callback(os.kill, number, signal.SIGKILL)  # the system then ends all other processes of the host
    return number


def _connect(host: Host, network: Network, switch: int) -> None:
    """Connect a host to the switch."""
    live, port = host.interface, _port(host.number)
    at_switch = [f"link add {port} type veth peer name {live} netns {host.process}", f"link set {port} master br0 up"]
    at_host = ["link set lo up", f"link set {live} up"]
    if network.dead_interface:
        at_switch.append(f"link add dead{host.number} type veth peer name eth0 netns {host.process}")
        at_switch.append(f"link set dead{host.number} up")
        at_host += [f"addr add {_dead_address(host.number)}/24 dev eth0", "link set eth0 up"]
    at_host.append(_assigning(host.number, network, live))
    at = _entering(switch, "-n")
    _call([*at, "ip", "-batch", "-"], "\n".join(at_switch) + "\n")
    host.call("ip", "-batch", "-", given="\n".join(at_host) + "\n")
    if network.bandwidth:
        limit = ["root", "tbf", "rate", network.bandwidth, "burst", "128kb", "latency", "20ms"]
        _call([*at, "tc", "qdisc", "add", "dev", port, *limit])
        host.call("tc", "qdisc", "add", "dev", live, *limit)


def _assigning(number: int, network: Network, interface: str) -> str:
    """Return the words with which ip assigns an address to an interface."""
    return f"addr add {address_of(number, network)}/{64 if network.ipv6_only else 24} dev {interface} nodad"


def _port(number: int) -> str:
    """Return the switch's end of a host's link."""
    return f"port{number}"


def _dead_address(number: int) -> str:
    return f"10.66.0.{number + 1}"


def _names(number: int, size: int, network: Network) -> str:
    """Return the text of a host's /etc/hosts."""
    lines = ["127.0.0.1 localhost", "::1 localhost ip6-localhost"]
    for other in range(size):
        address = _dead_address(other) if network.dead_interface else address_of(other, network)
        own = other == number and network.own_name_is_loopback
        lines.append(f"{'127.0.1.1' if own else address} {name_of(other)}")
    return "\n".join(lines)


def _needed() -> list[str]:
    """Return the folders that programs of this repository need."""
    return sorted({os.path.realpath(path) for path in (REPOSITORY, sys.prefix, sys.base_prefix)})


def _ruleset(rules: str) -> str:
    chain = f"type filter hook input priority 0; policy accept\niifname lo accept\n{rules}\n"
    begun = "table inet laboratory\ndelete table inet laboratory\n"  # in case there are rules already
    return f"{begun}table inet laboratory {{\nchain input {{\n{chain}}}\n}}\n"


def _entering(process: int, *namespaces: str) -> list[str]:
    user = [] if _ROOT else ["-U", "--preserve-credentials"]
    return ["nsenter", "-t", str(process), *user, *namespaces]


def _call(command: Sequence[str], given: str = "") -> str:
    done = subprocess.run(command, input=given, capture_output=True, text=True, env={**os.environ, "PATH": _PATH})
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout
