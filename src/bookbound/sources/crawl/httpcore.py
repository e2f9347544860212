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
"""The addresses at which a host may be asked, by its name and port."""


@dataclass(frozen=True, slots=True)
class StreamedResponse:
    """An answer whose body is still on its way, as it was sent; names of headers are in small letters."""

    status: int
    headers: Mapping[str, str]
    chunks: Iterator[bytes] = field(repr=False)


class CrawlHttpClient:
    """Asks hosts where they may be asked; keeps no cookie, follows no redirect, knows no proxy."""

    def __init__(self, find: FindAddresses, at_once: int) -> None:
        quiet_loggers("httpcore")
        self._asking = _CurrentRequest()
        network = _CheckedNetwork(find, self._asking)
        self._pool = httpcore.ConnectionPool(_ssl_context(), max_connections=at_once, network_backend=network)

    @contextmanager
    def get(self, url: str, headers: Mapping[str, str], share: ResponseBudget) -> Iterator[StreamedResponse]:
        """The answer to one request; its connection is given up if the body is not read to its end."""
        self._asking.share = share
        told = [("host", urlsplit(url).netloc), *headers.items()]
        with _translate_errors(share):
            request = httpcore.Request("GET", url, headers=told, extensions={"timeout": {"pool": share.patience}})
            response = self._pool.handle_request(request)
            try:
                yield StreamedResponse(response.status, _decode_headers(response.headers), response.iter_stream())
            finally:
                response.close()

    def close(self) -> None:
        self._pool.close()


class _CurrentRequest(threading.local):
    """What the request may take that a thread is busy with: it is sent and answered in one."""

    share: ResponseBudget


class _CheckedNetwork(httpcore.NetworkBackend):
    """Connections to hosts at the addresses that are found for them."""

    def __init__(self, find: FindAddresses, asking: _CurrentRequest) -> None:
        self._find, self._asking = find, asking
        self._plain = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        trouble: Exception = httpcore.ConnectError()
        for address in self._find(host, port):
            try:
                made = self._plain.connect_tcp(address, port, self._asking.share.patience)
                return _BoundedStream(made, self._asking)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                trouble = error  # a host may stand at several addresses, and not all need be reachable
        raise trouble


class _BoundedStream(httpcore.NetworkStream):
    """A connection on which nobody waits longer, and takes more, than the request of the moment may.

    A timeout ends a silence and no more: who sends a byte now and then would never meet it.
    """

    def __init__(self, inner: httpcore.NetworkStream, asking: _CurrentRequest) -> None:
        self._inner, self._asking = inner, asking

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        share = self._asking.share
        data = self._inner.read(max_bytes, share.patience)
        share.arrived(len(data))
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, self._asking.share.patience)

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        secured = self._inner.start_tls(ssl_context, server_hostname, self._asking.share.patience)
        return _BoundedStream(secured, self._asking)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


def _ssl_context() -> ssl.SSLContext:
    """Whom to believe that a host is the one it says: the usual authorities, or those that the environment names."""
    file, folder = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    if not file and not folder:
        return httpcore.default_ssl_context()
    try:
        return ssl.create_default_context(cafile=file or None, capath=folder or None)
    except OSError as trouble:
        raise SourceError(
            "SSL_CERT_FILE or SSL_CERT_DIR holds no certificate that can be read: correct it."
        ) from trouble


def _decode_headers(headers: Iterable[tuple[bytes, bytes]]) -> Mapping[str, str]:
    told: dict[str, str] = {}
    for name, value in headers:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        told[key] = f"{told[key]}, {text}" if key in told else text
    return told


@contextmanager
def _translate_errors(share: ResponseBudget) -> Iterator[None]:
    try:
        yield
    except httpcore.TimeoutException as trouble:
        raise share.late() from trouble
    except httpcore.ConnectError as trouble:
        if _is_certificate_error(trouble):
            raise FetchError("shows a certificate that is not trusted", distrusted=True) from trouble
        raise TemporaryFetchError("could not be reached") from trouble
    except (httpcore.LocalProtocolError, httpcore.UnsupportedProtocol, UnicodeError) as trouble:
        raise FetchError("its address is malformed") from trouble
    except (httpcore.NetworkError, httpcore.ProtocolError) as trouble:
        raise TemporaryFetchError("broke off") from trouble


def _is_certificate_error(trouble: BaseException | None) -> bool:
    """Whether a line was not opened because nobody we trust vouches for the host."""
    while trouble is not None and not isinstance(trouble, ssl.SSLCertVerificationError):
        trouble = trouble.__cause__ or trouble.__context__
    return trouble is not None
