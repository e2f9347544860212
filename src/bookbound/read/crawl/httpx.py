"""The line to one host: plain requests to an address that is given, without a second look at its name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import httpx

from bookbound.discretion import discreet
from bookbound.read.crawl.fetched import NotFetched, Passing


@dataclass(frozen=True, slots=True)
class Incoming:
    """An answer whose body is still on its way, as it was sent."""

    status: int
    headers: Mapping[str, str]
    chunks: Iterator[bytes] = field(repr=False)


class Line:
    """Asks one host at one address; keeps no cookie, follows no redirect, knows no proxy."""

    def __init__(self, address: str, silence: float, at_once: int) -> None:
        discreet("httpx", "httpcore")
        self._address = f"[{address}]" if ":" in address else address
        self._timeout = httpx.Timeout(silence).as_dict()
        self._transport = httpx.HTTPTransport(limits=httpx.Limits(max_connections=at_once))

    @contextmanager
    def get(self, url: str, headers: Mapping[str, str]) -> Iterator[Incoming]:
        """The answer to one request; its connection is given up if the body is not read to its end."""
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
        port = f":{parts.port}" if parts.port else ""
        try:
            request = httpx.Request(
                "GET",
                parts._replace(netloc=self._address + port).geturl(),
                headers={**headers, "host": host},
                extensions={"timeout": self._timeout, "sni_hostname": parts.hostname or ""},
            )
        except (httpx.InvalidURL, ValueError) as trouble:
            raise NotFetched("its address is malformed") from trouble
        with _translated():
            response = self._transport.handle_request(request)
            try:
                yield Incoming(response.status_code, response.headers, response.iter_raw())
            finally:
                response.close()

    def close(self) -> None:
        self._transport.close()


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except httpx.TimeoutException as trouble:
        raise Passing("did not answer in time") from trouble
    except httpx.ConnectError as trouble:
        raise Passing("could not be reached") from trouble
    except (httpx.HTTPError, httpx.StreamError) as trouble:
        raise Passing("broke off") from trouble
