"""Which hosts may be spoken to: those on the list, at public addresses, and where a redirect leads as well."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

from planarena.errors import UserError

__all__ = ["AddressRefusedError", "Endpoint", "check_url", "is_public"]


class AddressRefusedError(UserError):
    """A request to a host or address that is not allowed; nothing was sent."""


class Endpoint(NamedTuple):
    """Where a checked request goes: the connection is made to `address`, so that a name cannot change its mind."""

    scheme: str
    host: str
    port: int
    address: str
    target: str


def is_public(address: str) -> bool:
    """Say whether an IP address belongs to the public internet; metadata services and tunnels into private nets do not."""
    found: ipaddress.IPv4Address | ipaddress.IPv6Address = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        inner = found.ipv4_mapped or found.sixtofour or (found.teredo[1] if found.teredo else None)
        if inner is None and found in ipaddress.ip_network("64:ff9b::/96"):
            inner = ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
    return found.is_global and not (
        found.is_multicast
        or found.is_reserved
        or found.is_unspecified
        or found.is_loopback
        or found.is_link_local
    )


def check_url(url: str, allowed: Sequence[str], *, allow_private: bool = False) -> Endpoint:
    """Resolve a URL to an address that a request may go to.

    Args:
        url: `http` or `https`.
        allowed: Hosts (`api.example.com`), hosts with ports, or URLs whose host counts.
        allow_private: Let the address be private or loopback.

    Raises:
        AddressRefusedError: Another scheme, credentials in the URL, a host that is not on the list, a name
            without address, or one that leads to a private address.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise AddressRefusedError(
            f"is no address: {error}", where=url[:200], fix="write https://HOST/PATH"
        ) from error
    host = (parts.hostname or "").rstrip(".").lower()
    if parts.scheme not in {"http", "https"} or not host:
        raise AddressRefusedError(
            "only http and https are spoken", where=url[:200], fix="write https://HOST/PATH"
        )
    if parts.username is not None or parts.password is not None:
        raise AddressRefusedError(
            "holds a name or password", where=f"{parts.scheme}://{host}", fix="put it into a header"
        )
    number = port or (443 if parts.scheme == "https" else 80)
    names = {_host_of(entry) for entry in allowed}
    if host not in names and f"{host}:{number}" not in names:
        raise AddressRefusedError(
            "the host is not on the list", where=host, fix="add it to the hosts that this source may speak to"
        )
    try:
        found = socket.getaddrinfo(host, number, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise AddressRefusedError(
            f"the host has no address: {error}", where=host, fix="check the name"
        ) from error
    addresses = [str(entry[4][0]) for entry in found]
    for address in addresses:
        if not allow_private and not is_public(address):
            raise AddressRefusedError(
                f"leads to {address}, which is no public address",
                where=host,
                fix="allow_private permits it for servers of your own",
            )
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Endpoint(parts.scheme, host, number, addresses[0], target)


def _host_of(entry: str) -> str:
    text = entry.lower()
    if "//" in text:
        try:
            parts = urlsplit(text)
            text = (parts.hostname or "") + (f":{parts.port}" if parts.port else "")
        except ValueError:
            return ""
    return text.rstrip("./")
