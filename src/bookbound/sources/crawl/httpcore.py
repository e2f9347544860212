"""Sends a crawl's HTTP requests through httpcore, to checked addresses and within the budget."""

from __future__ import annotations

import os
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httpcore

from bookbound.domain.errors import SourceError
from bookbound.services import quiet_loggers
from bookbound.sources.crawl.fetch_limits import FetchError, ResponseBudget, TemporaryFetchError

FindAddresses = Callable[[str, int], Sequence[str]]
"""Returns the addresses to connect to for a host and port."""


@dataclass(frozen=True, slots=True)
class StreamedResponse:
    """A response whose body is still arriving; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    chunks: Iterator[bytes] = field(repr=False)


class CrawlHttpClient:
    """Sends requests without cookies, redirects or proxies."""

    def __init__(self, find_addresses: FindAddresses, max_concurrency: int) -> None:
        quiet_loggers("httpcore")
        self._current = _CurrentRequest()
        network = _CheckedNetwork(find_addresses, self._current)
        self._pool = httpcore.ConnectionPool(_ssl_context(), max_connections=max_concurrency, network_backend=network)

    @contextmanager
    def get(self, url: str, headers: Mapping[str, str], budget: ResponseBudget) -> Iterator[StreamedResponse]:
        """Send one request; an unread body closes its connection."""
        self._current.budget = budget
        sent = [("host", urlsplit(url).netloc), *headers.items()]
        with _translate_errors(budget):
            request = httpcore.Request("GET", url, headers=sent, extensions={"timeout": {"pool": budget.timeout()}})
            response = self._pool.handle_request(request)
            try:
                yield StreamedResponse(response.status, _decode_headers(response.headers), response.iter_stream())
            finally:
                response.close()

    def close(self) -> None:
        self._pool.close()


class _CurrentRequest(threading.local):
    """The budget of the request that a thread is sending."""

    budget: ResponseBudget


class _CheckedNetwork(httpcore.NetworkBackend):
    """Connects only to the addresses that were found for a host."""

    def __init__(self, find_addresses: FindAddresses, current: _CurrentRequest) -> None:
        self._find_addresses, self._current = find_addresses, current
        self._backend = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        last_error: Exception = httpcore.ConnectError()
        for address in self._find_addresses(host, port):
            try:
                stream = self._backend.connect_tcp(address, port, self._current.budget.timeout())
                return _LimitedStream(stream, self._current)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                last_error = error  # another address of the host may be reachable
        raise last_error


class _LimitedStream(httpcore.NetworkStream):
    """A connection within the budget of the current request.

    A read timeout is not enough: a server that sends a byte now and then never reaches it.
    """

    def __init__(self, stream: httpcore.NetworkStream, current: _CurrentRequest) -> None:
        self._stream, self._current = stream, current

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        budget = self._current.budget
        data = self._stream.read(max_bytes, budget.timeout())
        budget.add_received(len(data))
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, self._current.budget.timeout())

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        secured = self._stream.start_tls(ssl_context, server_hostname, self._current.budget.timeout())
        return _LimitedStream(secured, self._current)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def _ssl_context() -> ssl.SSLContext:
    """Trust the usual authorities, or those that the environment names."""
    file, folder = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    if not file and not folder:
        return httpcore.default_ssl_context()
    try:
        return ssl.create_default_context(cafile=file or None, capath=folder or None)
    except OSError as error:
        raise SourceError("SSL_CERT_FILE or SSL_CERT_DIR has no readable certificate: correct it.") from error


def _decode_headers(headers: Iterable[tuple[bytes, bytes]]) -> Mapping[str, str]:
    decoded: dict[str, str] = {}
    for name, value in headers:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        decoded[key] = f"{decoded[key]}, {text}" if key in decoded else text
    return decoded


@contextmanager
def _translate_errors(budget: ResponseBudget) -> Iterator[None]:
    try:
        yield
    except httpcore.TimeoutException as error:
        raise budget.timeout_error() from error
    except httpcore.ConnectError as error:
        if _is_certificate_error(error):
            raise FetchError("has a certificate that is not trusted", "untrusted") from error
        raise TemporaryFetchError("could not be reached") from error
    except (httpcore.LocalProtocolError, httpcore.UnsupportedProtocol, UnicodeError) as error:
        raise FetchError("has a malformed URL") from error
    except (httpcore.NetworkError, httpcore.ProtocolError) as error:
        raise TemporaryFetchError("broke off") from error


def _is_certificate_error(error: BaseException | None) -> bool:
    while error is not None and not isinstance(error, ssl.SSLCertVerificationError):
        error = error.__cause__ or error.__context__
    return error is not None
