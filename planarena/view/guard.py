"""A browser's way in: the token comes once in the address, then as a cookie that no page of another site can use."""

from __future__ import annotations

import hmac
from hashlib import blake2b
from urllib.parse import parse_qsl, urlencode

from planarena.serving.http import App, Guard, Receive, Scope, Send
from planarena.serving.limits import Limits

__all__ = ["BrowserGuard"]


class BrowserGuard(Guard):
    """Takes `?token=` once, answers with a cookie and the same address without it; else it is the guard of every server.

    A browser sends a cookie along whoever makes it ask, so requests of other origins are refused too.
    """

    def __init__(self, app: App, limits: Limits, token: str = "", *, loopback: bool = True) -> None:
        super().__init__(app, limits, token, loopback=loopback)
        self._token = token.encode()
        # Browsers keep cookies by host, whatever the port: two viewers must not take each other's away.
        self._cookie = b"planarena_view_" + blake2b(self._token, digest_size=4).hexdigest().encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "http" and self._token:
            pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
            given = dict(pairs).get("token")
            if given is not None and hmac.compare_digest(given.encode("utf-8", "replace"), self._token):
                await self._let_in(scope, send, urlencode([pair for pair in pairs if pair[0] != "token"]))
                return
        await super().__call__(scope, receive, send)

    async def _let_in(self, scope: Scope, send: Send, rest: str) -> None:
        # Two slashes in front would be another server's address.
        path = "/" + scope.get("raw_path", b"/").split(b"?")[0].decode("latin-1").lstrip("/\\")
        place = f"{path}?{rest}" if rest else path
        cookie = f"{self._cookie.decode()}={self._token.decode()}; HttpOnly; SameSite=Strict; Path=/"
        headers = [
            (b"location", place.encode("latin-1", "replace")),
            (b"set-cookie", cookie.encode()),
            (b"referrer-policy", b"no-referrer"),
            (b"content-length", b"0"),
        ]
        await send({"type": "http.response.start", "status": 303, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    def _refusal(self, headers: dict[bytes, bytes]) -> tuple[int, str] | None:
        foreign = self._foreign(headers)
        if foreign is not None:
            return foreign
        if self._expected:
            for part in headers.get(b"cookie", b"").split(b";"):
                name, _, value = part.strip().partition(b"=")
                if name == self._cookie and hmac.compare_digest(value, self._token):
                    return self._too_long(headers)
        return super()._refusal(headers)
