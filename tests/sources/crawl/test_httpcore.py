"""A site with an untrusted certificate is read only if the environment names the certificate."""

from __future__ import annotations

import ipaddress
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from tests.sources.crawl.helpers import crawl, page_paths
from tests.sources.local_server import HOST, html_page, serve_site

from bookbound.domain.errors import SourceError
from bookbound.sources.crawl import crawl_site


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A self-signed certificate and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, HOST)])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(HOST))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file = tmp_path / "site.pem"
    file.write_bytes(signed.public_bytes(serialization.Encoding.PEM) + secret)
    return file


def test_a_certificate_is_trusted_only_if_the_environment_names_it(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secured = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    secured.load_cert_chain(certificate)
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    pages = {"/": html_page("<h1>Home</h1><a href=/a>on</a> words"), "/a": html_page("<h1>A</h1>a")}
    with serve_site(pages, secured) as web:
        with pytest.raises(SourceError, match=r"certificate that is not trusted\. .* in SSL_CERT_FILE\."):
            crawl(web)
        assert web.requested == []
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert page_paths(crawl(web), web) == ["/", "/a"]


def test_an_unreadable_certificate_file_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))
    with pytest.raises(SourceError, match=r"SSL_CERT_FILE .* correct it") as caught:
        crawl_site("https://book.example/")
    assert "none.pem" not in str(caught.value)
