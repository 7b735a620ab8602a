"""Hosts and ports as text: an IPv6 address has brackets, as in tcp://[::1]:9999."""

from __future__ import annotations


def is_ipv6(endpoint: str) -> bool:
    """Return whether the host of an endpoint is an IPv6 address, for which a ZeroMQ socket needs ZMQ_IPV6.

    With that option a name such as localhost would mean its IPv6 address: so it is set only if necessary.
    """
    return "://[" in endpoint


def bare(host: str) -> str:
    """Return a host without the brackets, as the calls of the operating system want it."""
    return host[1:-1] if host.startswith("[") and host.endswith("]") else host


def host_port(host: str, port: int) -> str:
    """Return HOST:PORT, with brackets around an IPv6 address."""
    return f"[{host}]:{port}" if ":" in host and not host.startswith("[") else f"{host}:{port}"
