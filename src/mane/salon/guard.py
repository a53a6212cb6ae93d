"""Who may talk to the salon: pages of its own, from where it listens, with the token where one is needed."""

from __future__ import annotations

import hmac
import ipaddress
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

LOOPBACK = ("127.0.0.1", "localhost", "::1")
TOKEN_BYTES = 24
# A hand makes some 120 events a second; a page that sends ten times as many for long is no hand.
RATE, BURST = 600.0, 1200.0  # messages per second, and at once
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors {ancestors}"
)


@dataclass(frozen=True)
class Guard:
    """What is let in.

    Attributes:
        host: address that the server listens at.
        port: likewise.
        token: that a page must give; empty where none is needed.
        frame_ancestors: pages that may show the salon in a frame, as the content policy writes them.
    """

    host: str
    port: int
    token: str = ""
    frame_ancestors: str = "'none'"

    @classmethod
    def at(cls, host: str, port: int, *, frame_ancestors: str = "'none'") -> Guard:
        """Return the guard of an address: any but loopback gets a token."""
        token = "" if is_loopback(host) else secrets.token_urlsafe(TOKEN_BYTES)
        return cls(host, port, token, frame_ancestors)

    @property
    def hosts(self) -> tuple[str, ...]:
        """Values of the header Host that are ours: another name for our address may belong to somebody else's page."""
        return tuple(f"{_bracketed(name)}:{self.port}" for name in dict.fromkeys((self.host, *self._names())))

    def _names(self) -> tuple[str, ...]:
        return LOOPBACK if is_loopback(self.host) or is_any(self.host) else ()

    def accepts_host(self, headers: Mapping[str, str]) -> bool:
        """Whether a request means this server; where it listens at every address, any address in numbers is one."""
        host = headers.get("host", "")
        if host in self.hosts:
            return True
        name, _, port = host.rpartition(":")
        return is_any(self.host) and port == str(self.port) and _is_address(name)

    def accepts_origin(self, headers: Mapping[str, str]) -> bool:
        """Whether a page that connects came from this server."""
        origin = headers.get("origin", "")
        return self.accepts_host(headers) and origin == f"http://{headers.get('host', '')}"

    def accepts_token(self, token: str) -> bool:
        """Whether the token is right; compared in constant time."""
        return hmac.compare_digest(token.encode(), self.token.encode())

    @property
    def headers(self) -> dict[str, str]:
        """Headers of every answer."""
        return {
            "Content-Security-Policy": CONTENT_POLICY.format(ancestors=self.frame_ancestors),
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cache-Control": "no-store",
        }


@dataclass
class Allowance:
    """A bucket that fills at `rate` per second up to `burst`, from which every message takes one."""

    rate: float = RATE
    burst: float = BURST
    _level: float = field(default=BURST)
    _time: float = field(default_factory=time.monotonic)

    def take(self) -> bool:
        """Whether one more message is allowed."""
        now = time.monotonic()
        self._level = min(self.burst, self._level + (now - self._time) * self.rate)
        self._time = now
        if self._level < 1:
            return False
        self._level -= 1
        return True


def is_loopback(host: str) -> bool:
    """Whether an address reaches nobody but this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_any(host: str) -> bool:
    """Whether an address stands for all of this machine's."""
    return host in ("0.0.0.0", "::")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def _bracketed(name: str) -> str:
    return f"[{name}]" if ":" in name else name
