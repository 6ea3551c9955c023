"""Networks of a test's own, in network namespaces: whoever is in one reaches nothing but what the test links to it.

They need root and `ip`. The kernel removes a namespace with the last process in it and the last file that is open on it.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

_CLONE_NEWNET: Final = 0x40000000
_HERE: Final = "/proc/thread-self/ns/net"
_libc: Final = ctypes.CDLL(None, use_errno=True)


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, stdin=subprocess.DEVNULL)


@contextmanager
def own_network() -> Iterator[int]:
    """Moves the calling thread to a new namespace, and back at the end. Threads and processes that it starts in between
    are in the namespace, too. Yields a file that is open on it."""
    before, after = os.open(_HERE, os.O_RDONLY), -1
    try:
        if _libc.unshare(_CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "there is no new network namespace")
        after = os.open(_HERE, os.O_RDONLY)
        _ip("link", "set", "lo", "up")
        yield after
    finally:
        _enter(before)
        for file in {before, after} - {-1}:
            os.close(file)


@contextmanager
def entered(namespace: int) -> Iterator[None]:
    """The calling thread is in the namespace."""
    before = os.open(_HERE, os.O_RDONLY)
    try:
        _enter(namespace)
        yield
    finally:
        _enter(before)
        os.close(before)


def _enter(namespace: int) -> None:
    if _libc.setns(namespace, _CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "the network namespace cannot be entered")


class Host:
    """A namespace with a link to each of some networks, which can be taken away: what is sent over it then is lost.

    :param networks: for each network, a bridge of the calling thread's namespace, the host's address in it.
    """

    def __init__(self, name: str, networks: Mapping[str, str]) -> None:
        self.networks = networks
        self._name = name
        with own_network() as namespace:
            self._namespace = os.dup(namespace)
        for network, address in networks.items():
            there = f"/proc/{os.getpid()}/fd/{self._namespace}"
            _ip("link", "add", self._port(network), "type", "veth", "peer", "name", network, "netns", there)
            self.link(network)
            _ip("link", "set", self._port(network), "up")
            with self.entered():
                _ip("address", "add", f"{address}/24", "dev", network)
                _ip("link", "set", network, "up")

    @contextmanager
    def entered(self) -> Iterator[None]:
        with entered(self._namespace):
            yield

    def cut(self, *networks: str) -> None:
        for network in networks:
            _ip("link", "set", self._port(network), "nomaster")

    def link(self, *networks: str) -> None:
        for network in networks:
            _ip("link", "set", self._port(network), "master", network)

    def close(self) -> None:
        os.close(self._namespace)

    def _port(self, network: str) -> str:
        return f"{self._name}-{network}"


def add_network(name: str, address: str) -> None:
    """A bridge in the calling thread's namespace, which has this address in it."""
    _ip("link", "add", name, "type", "bridge")
    _ip("address", "add", f"{address}/24", "dev", name)
    _ip("link", "set", name, "up")
