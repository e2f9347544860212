"""Loads the settings from bookbound.toml, the environment and the command line, in this order."""

# ruff: noqa: RUF009  (_setting makes a dataclass field)
from __future__ import annotations

import os
import tomllib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from shlex import quote
from typing import Any

from bookbound.domain.book_ref import BookRef
from bookbound.domain.errors import ConfigError
from bookbound.domain.llm_providers import DEFAULT_LLM_PROVIDER, LLM_KEY_VARIABLES, LLM_PROVIDERS

ENVIRONMENT_PREFIX, SETTINGS_FILE, SECRET_SUFFIXES = "BOOKBOUND_", "bookbound.toml", ("_key", "_url")
COMMAND_LINE_ORIGIN = "command line"
OTHER_VARIABLES = {"BOOKBOUND_DEBUG"}
"""Variables with our prefix that are not settings."""
_FALLBACK_SCHEMES = {
    "DATABASE_URL": ("postgres://", "postgresql://", "postgresql+"),
    "QDRANT_URL": ("http://", "https://"),
}
_SERVICE_URLS = {name: each.url for each in LLM_PROVIDERS.values() if each.url for name in each.key_variables}
"""The service that a key from another system's variable belongs to."""


def _setting(default: Any, description: str, **rules: tuple[Any, ...]) -> Any:
    """A field with a description and optional `limits`, `choices` and `fallbacks` (other systems' variables)."""
    return field(default=default, metadata={"description": description, **rules})


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings; they do not change after the start."""

    index: Path = _setting(Path(".bookbound"), "Folder of the index.")
    source: str | None = _setting(None, "Folder, file or site of the book, for re-indexing from the page `/report`.")
    source_key: str | None = _setting(None, "Key of the server of `--from-qdrant`.", fallbacks=("QDRANT_API_KEY",))
    book: str | None = _setting(None, "The book, if the index holds several.")
    edition: str | None = _setting(None, "The edition of the book, such as `2.0`.")
    title: str | None = _setting(None, "Title of a book that is indexed. Default: the one that its source gives it.")
    answer_threshold: float | None = _setting(
        None, "Lowest probability at which a question is answered. Default: as calibrated.", limits=(0, 1)
    )
    answer_timeout_seconds: float = _setting(30.0, "How long a question may wait for services.", limits=(0.1, 600))
    model_threads: int = _setting(2, "Threads that compute the local networks.", limits=(1, 256))
    llm_model: str | None = _setting(None, "Language model that writes the answers. Without one, the book is quoted.")
    llm_provider: str = _setting(
        DEFAULT_LLM_PROVIDER,
        "Service of the language model; `openai` is every server with OpenAI's API.",
        choices=tuple(LLM_PROVIDERS),
    )
    llm_url: str | None = _setting(None, "Its address; with OpenAI's API, up to `/v1`. Default: the service's own.")
    llm_key: str | None = _setting(None, "Key of the language model.", fallbacks=LLM_KEY_VARIABLES)
    llm_api: str = _setting("chat", "API of the language model.", choices=("chat", "responses"))
    llm_temperature: float = _setting(0.0, "Temperature of the language model.", limits=(0, 2))
    on_llm_failure: str = _setting(
        "quotes",
        "What a question gets if the language model fails: quotes from the book, or an error.",
        choices=("quotes", "error"),
    )
    unverified: str = _setting(
        "show",
        "Sentences of a language model that are plausible but not proved: shown with a mark, or hidden.",
        choices=("show", "hide"),
    )
    embedder: str = _setting(
        "local", "What computes the vectors of passages and questions.", choices=("local", "cohere", "openai")
    )
    embedder_model: str | None = _setting(None, "Model of a remote embedder. Default: the service's usual one.")
    embedder_url: str | None = _setting(None, "Address of `openai` embeddings, up to `/v1`. Default: OpenAI.")
    embedder_key: str | None = _setting(None, "Key of `openai` embeddings.", fallbacks=("OPENAI_API_KEY",))
    query_cache_size: int = _setting(1024, "Questions whose remote vectors are kept in memory.", limits=(0, 1 << 20))
    reader: str = _setting(
        "strong",
        "Who reads the passages: `strong` has the strong reader read the best ones, `fast` only uses the fast reader.",
        choices=("strong", "fast"),
    )
    reranker: str = _setting("local", "What orders the passages before they are read.", choices=("local", "cohere"))
    reranker_model: str = _setting("rerank-v3.5", "Model of a remote reranker.")
    cohere_key: str | None = _setting(None, "Key of Cohere.", fallbacks=("COHERE_API_KEY",))
    cohere_url: str | None = _setting(None, "Address of Cohere, if it is not the public one.")
    qdrant_url: str | None = _setting(None, "Qdrant server, or nodes between commas.", fallbacks=("QDRANT_URL",))
    qdrant_key: str | None = _setting(None, "Key of the Qdrant server.", fallbacks=("QDRANT_API_KEY",))
    qdrant_collection: str = _setting("bookbound", "Name of the collection in Qdrant.")
    qdrant_shards: int = _setting(1, "Shards of a new collection.", limits=(1, 1024))
    qdrant_replication_factor: int = _setting(1, "Copies of each shard.", limits=(1, 64))
    qdrant_write_consistency: int = _setting(1, "Copies that must confirm a write.", limits=(1, 64))
    qdrant_timeout_seconds: float = _setting(5.0, "How long one search in Qdrant may take.", limits=(0.1, 600))
    query_log: str = _setting("on", "Whether a server logs questions, never answers.", choices=("on", "off"))
    query_log_url: str | None = _setting(
        None, "Database of the query log. Default: SQLite next to the index.", fallbacks=("DATABASE_URL",)
    )
    query_log_days: int = _setting(90, "Days after which a question is deleted.", limits=(1, 36500))
    query_log_addresses: str = _setting("hashed", "How to store readers' addresses.", choices=("hashed", "plain"))
    query_log_key: str | None = _setting(None, "Secret of the address hashes. Default: one kept with the log.")
    rate_limits: str = _setting("on", "Whether a server limits how often readers ask.", choices=("on", "off"))
    address_rate_limit: str = _setting("120/minute", "Limit for one address over all endpoints.")
    key_rate_limit: str = _setting("600/minute", "Limit for one API key from all addresses.")
    query_address_rate_limit: str = _setting("20/minute", "Limit for one address at `/api/query`.")
    query_session_rate_limit: str = _setting("10/minute", "Limit for one session at `/api/query`.")
    redis_url: str | None = _setting(None, "Redis that counts for all servers. Default: each server counts by itself.")
    trusted_proxies: tuple[str, ...] = _setting((), "Addresses or networks of proxies that may name the client.")
    access_mode: str = _setting("public", "Who may ask: anyone, or only with a key.", choices=("public", "keys"))
    key_file: Path | None = _setting(None, "File of the API keys. Default: next to the index.")
    allowed_origins: tuple[str, ...] = _setting((), "Other origins that may call from a browser.")
    allowed_hosts: tuple[str, ...] = _setting((), "Host names that clients may ask for. Default: all.")
    max_concurrency: int = _setting(4, "Questions that one process answers at a time.", limits=(1, 1024))
    max_queue: int = _setting(64, "Questions that may wait before the server replies 503.", limits=(0, 65536))
    max_body_bytes: int = _setting(131072, "Largest request body.", limits=(1024, 1 << 30))
    max_connections: int = _setting(512, "Connections that one process keeps open.", limits=(8, 65536))
    log_format: str = _setting("pretty", "Format of the server's own log.", choices=("pretty", "json"))
    metrics: str = _setting("on", "Whether a server publishes metrics.", choices=("on", "off"))
    traces_url: str | None = _setting(None, "Address of an OpenTelemetry collector (OTLP over HTTP).")
    crawl_allowed_hosts: tuple[str, ...] = _setting((), "Hosts in private networks that `--site` may fetch.")

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            limits, choices = each.metadata.get("limits"), each.metadata.get("choices")
            if limits and value is not None and not limits[0] <= value <= limits[1]:
                raise ConfigError(f"The setting `{each.name}` must be from {limits[0]} to {limits[1]}.")
            if choices and value not in choices:
                raise ConfigError(f"The setting `{each.name}` must be one of {', '.join(choices)}.")

    @property
    def book_ref(self) -> BookRef:
        return BookRef(self.book or "", self.edition or "").validated()

    def with_book(self, book_ref: BookRef) -> Settings:
        return replace(self, book=book_ref.book or None, edition=book_ref.edition or None)

    def __repr__(self) -> str:
        shown = (each.name for each in fields(self) if not each.name.endswith(SECRET_SUFFIXES))
        return f"Settings({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"


SETTING_NAMES = tuple(each.name for each in fields(Settings))


def format_index_option(index: Path) -> str:
    """The option that a suggested command needs to find this index, with a leading space."""
    return "" if index == Settings().index else f" --index {quote(str(index))}"


def load_settings(
    environment: Mapping[str, str] = os.environ, folder: Path | None = None, **arguments: Any
) -> Settings:
    """Load `bookbound.toml` in `folder`, then the environment, then `arguments`; the last one that is set wins."""
    found = _find_values(environment, folder, arguments)
    kinds = {each.name: str(each.type).removesuffix(" | None") for each in fields(Settings)}
    return Settings(**{name: _convert(name, kinds[name], value) for name, (value, _) in found.items()})


def find_origins(
    environment: Mapping[str, str] = os.environ, folder: Path | None = None, **arguments: Any
) -> dict[str, str]:
    """Where each setting that is set comes from: the file, a variable or the command line."""
    return {name: origin for name, (_, origin) in _find_values(environment, folder, arguments).items()}


def warn_unknown_variables(environment: Mapping[str, str] = os.environ) -> None:
    """Warn about each variable that looks like a misspelt setting."""
    known = {ENVIRONMENT_PREFIX + name.upper() for name in SETTING_NAMES}
    unknown = sorted(environment.keys() - known - OTHER_VARIABLES)
    for name in (name for name in unknown if name.startswith(ENVIRONMENT_PREFIX)):
        if near := _find_near_name(name.removeprefix(ENVIRONMENT_PREFIX), SETTING_NAMES):
            warnings.warn(f"{name} is not a setting. Did you mean {ENVIRONMENT_PREFIX}{near.upper()}?", stacklevel=2)


def _find_values(
    environment: Mapping[str, str], folder: Path | None, arguments: Mapping[str, Any]
) -> dict[str, tuple[Any, str]]:
    """Each setting that is set, with its value as written and its origin."""
    values = _read_settings_file(folder)
    if problems := _describe_unknown_names(values, SETTING_NAMES):
        raise ConfigError(f"{SETTINGS_FILE} {problems}")
    found = {name: (value, SETTINGS_FILE) for name, value in values.items()}
    for name in SETTING_NAMES:
        if (variable := ENVIRONMENT_PREFIX + name.upper()) in environment:
            found[name] = environment[variable], variable
    _add_fallbacks(found, environment)
    given = {name: (value, COMMAND_LINE_ORIGIN) for name, value in arguments.items() if value is not None}
    if "index" in given:
        found.pop("qdrant_url", None)  # an index folder on the command line overrides a server
    return found | given


def _add_fallbacks(found: dict[str, tuple[Any, str]], environment: Mapping[str, str]) -> None:
    """Use other systems' variables for settings that are not set; a key goes only to the service it belongs to."""
    for each in fields(Settings):
        for variable in each.metadata.get("fallbacks", ()):
            if each.name in found or not environment.get(variable):
                continue
            url, _ = found.get(each.name.replace("_key", "_url"), ("", ""))
            if not _belongs_to_service(variable, str(url)) or not _is_usable(variable, environment[variable]):
                continue
            provider, _ = found.get("llm_provider", (DEFAULT_LLM_PROVIDER, ""))
            if each.name == "llm_key" and not _belongs_to_provider(variable, provider):
                continue
            found[each.name] = environment[variable], variable
            if variable == "OPENROUTER_API_KEY" and "llm_model" in found:
                found["llm_url"] = _SERVICE_URLS[variable], variable


def _is_usable(variable: str, value: str) -> bool:
    """Another program may use the same variable for something that Bookbound cannot use, such as a MySQL database."""
    return value.startswith(_FALLBACK_SCHEMES.get(variable, ""))


def _belongs_to_provider(variable: str, provider: Any) -> bool:
    known = LLM_PROVIDERS.get(provider) if isinstance(provider, str) else None  # another value is an error later
    return known is not None and variable in known.key_variables


def _belongs_to_service(variable: str, url: str) -> bool:
    """Whether the key of a variable may be sent to this URL, which may leave out the end of the service's path."""
    service_url = _SERVICE_URLS.get(variable)
    return not service_url or not url or f"{service_url}/".startswith(url.rstrip("/") + "/")


def _read_settings_file(folder: Path | None) -> dict[str, Any]:
    try:
        file = (folder or Path.cwd()) / SETTINGS_FILE
        if os.path.lexists(file) and not (file.is_file() or file.is_char_device()):  # /dev/null is no settings
            raise ConfigError(f"{SETTINGS_FILE} is not a file. Remove it, or make it a file with settings.")
        return tomllib.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    except FileNotFoundError as error:
        raise ConfigError("The working directory was removed. Change to one that exists.") from error
    except RecursionError:
        raise ConfigError(f"{SETTINGS_FILE} is nested too deeply.") from None
    except ValueError as error:  # not TOML, not UTF-8, or a number with too many digits
        raise ConfigError(f"{SETTINGS_FILE} is not valid TOML: {error}") from error


def _find_near_name(name: str, known: Sequence[str]) -> str:
    """The setting with almost the same name, or the only one that has all words of this name, or an empty text."""
    from difflib import get_close_matches

    wanted = name.lower().replace("-", "_")
    with_words = [each for each in known if set(wanted.split("_")) <= set(each.split("_"))]
    return next(iter(get_close_matches(wanted, known, 1, 0.75) or (with_words if len(with_words) == 1 else [])), "")


def _describe_unknown_names(values: Mapping[str, Any], known: Sequence[str]) -> str:
    """What to do about each value that is not a setting; an empty text if there is none."""
    hints: dict[str, str] = {}
    for name in sorted(values.keys() - set(known)):
        near = _find_near_name(name, known)
        section = " Write settings without a [section]." if isinstance(values[name], dict) else ""
        hints[name] = f" Did you mean {near}?" if near else section
    problems = " It ".join(f"sets `{name}`, which is not a setting.{hint}" for name, hint in hints.items())
    return problems if all(hints.values()) else f"{problems} Settings are: {', '.join(known)}."


_KINDS = {"str": "text", "Path": "a path", "int": "a whole number", "float": "a number"}


def _convert(name: str, kind: str, value: Any) -> Any:
    """Convert text from the environment to the type of a setting; a TOML value must already have it."""
    try:
        if kind in ("int", "float"):
            if isinstance(value, bool) or (isinstance(value, float) and kind == "int"):
                raise TypeError
            return int(value) if kind == "int" else float(value)
        if kind.startswith("tuple"):
            parts = value if isinstance(value, list | tuple) else _require_text(value).split(",")
            return tuple(part.strip() for part in map(_require_text, parts) if part.strip())
        text = _require_text(str(value) if isinstance(value, Path) else value)
        if kind == "Path" and not text.strip():
            raise ValueError
        return Path(text) if kind == "Path" else text
    except (TypeError, ValueError, OverflowError) as error:
        raise ConfigError(f"The setting `{name}` must be {_KINDS.get(kind, 'a list, or text with commas')}.") from error


def _require_text(value: Any) -> str:
    if not isinstance(value, str) or "\0" in value:
        raise TypeError
    return value
