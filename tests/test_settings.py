"""Where settings come from, and which values are rejected."""

from __future__ import annotations

import warnings
from dataclasses import FrozenInstanceError, fields
from pathlib import Path

import pytest

from bookbound.domain.errors import ConfigError
from bookbound.settings import (
    ENVIRONMENT_PREFIX,
    SECRET_SUFFIXES,
    Settings,
    find_origins,
    load_settings,
    warn_unknown_variables,
)


def test_without_file_and_environment_the_defaults_apply(tmp_path: Path) -> None:
    assert load_settings({}, tmp_path) == Settings()


def test_the_command_line_overrides_the_environment_and_that_overrides_the_file(tmp_path: Path) -> None:
    (tmp_path / "bookbound.toml").write_text('index = "file"\nmodel_threads = 3\nqdrant_collection = "file"\n')
    environment = {"BOOKBOUND_INDEX": "environment", "BOOKBOUND_MODEL_THREADS": "4"}
    arguments = {"index": Path("argument"), "model_threads": None}
    found = load_settings(environment, tmp_path, **arguments)
    assert found == Settings(index=Path("argument"), model_threads=4, qdrant_collection="file")
    assert find_origins(environment, tmp_path, **arguments) == {
        "index": "command line",
        "model_threads": "BOOKBOUND_MODEL_THREADS",
        "qdrant_collection": "bookbound.toml",
    }


def test_text_is_converted_to_the_type_of_the_setting(tmp_path: Path) -> None:
    found = load_settings(
        {"BOOKBOUND_ANSWER_THRESHOLD": "0.25", "BOOKBOUND_INDEX": "a/b", "BOOKBOUND_MODEL_THREADS": "1"}, tmp_path
    )
    assert (found.answer_threshold, found.index, found.model_threads) == (0.25, Path("a/b"), 1)


def test_the_reader_is_the_strong_one_unless_a_setting_names_the_fast_one(tmp_path: Path) -> None:
    assert load_settings({}, tmp_path).reader == "strong"
    (tmp_path / "bookbound.toml").write_text('reader = "fast"\n')
    assert load_settings({}, tmp_path).reader == "fast"
    assert load_settings({"BOOKBOUND_READER": "strong"}, tmp_path).reader == "strong"


def test_a_whole_number_in_the_file_is_accepted_for_a_number(tmp_path: Path) -> None:
    (tmp_path / "bookbound.toml").write_text("answer_threshold = 1\n")
    assert load_settings({}, tmp_path).answer_threshold == 1.0


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"BOOKBOUND_MODEL_THREADS": "many"}, "`model_threads` must be a whole number"),
        ({"BOOKBOUND_MODEL_THREADS": "0"}, "`model_threads` must be from 1 to 256"),
        ({"BOOKBOUND_ANSWER_THRESHOLD": "often"}, "`answer_threshold` must be a number"),
        ({"BOOKBOUND_ANSWER_THRESHOLD": "1.5"}, "from 0 to 1"),
        ({"BOOKBOUND_ANSWER_THRESHOLD": "nan"}, "from 0 to 1"),
        ({"BOOKBOUND_INDEX": " "}, "`index` must be a path"),
        ({"BOOKBOUND_MAX_QUEUE": "-1"}, "`max_queue` must be from 0 to 65536"),
        ({"BOOKBOUND_LLM_TEMPERATURE": "nan"}, "`llm_temperature` must be from 0 to 2"),
        ({"BOOKBOUND_ANSWER_TIMEOUT_SECONDS": "0"}, "`answer_timeout_seconds` must be from 0.1 to 600"),
        ({"BOOKBOUND_LLM_API": "legacy"}, "`llm_api` must be one of chat, responses"),
        ({"BOOKBOUND_READER": "weak"}, "`reader` must be one of strong, fast"),
        ({"BOOKBOUND_RERANKER": "openai"}, "`reranker` must be one of local, cohere"),
        ({"BOOKBOUND_QUERY_LOG_DAYS": "1.5"}, "`query_log_days` must be a whole number"),
    ],
)
def test_a_wrong_value_is_rejected_with_what_is_allowed(
    tmp_path: Path, environment: dict[str, str], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        load_settings(environment, tmp_path)


@pytest.mark.parametrize(
    "line",
    [
        "answer_threshold = true",
        f"answer_threshold = 1{'0' * 400}",
        "model_threads = 2.9",
        "model_threads = true",
        f"model_threads = 1{'0' * 400}",
        "index = 3",
        'index = "a\\u0000b"',
        "qdrant_collection = {}",
        "qdrant_collection = 3",
        "query_log = false",
        "allowed_origins = [1, 2]",
        "allowed_origins = {a = 1}",
    ],
)
def test_a_value_of_another_type_in_the_file_is_rejected(tmp_path: Path, line: str) -> None:
    (tmp_path / "bookbound.toml").write_text(line)
    with pytest.raises(ConfigError, match="must be"):
        load_settings({}, tmp_path)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("model_treads", r"`model_treads`, which is not a setting\. Did you mean model_threads\?"),
        ("model-threads", r"`model-threads`, which is not a setting\. Did you mean model_threads\?"),
        ("MaxQueue", r"`MaxQueue`, which is not a setting\. Did you mean max_queue\?"),
        ("threshold", r"`threshold`, which is not a setting\. Did you mean answer_threshold\?"),
        ("timeout", r"`timeout`, which is not a setting\. Settings are: index, .*answer_timeout_seconds"),
        ("colour", r"`colour`, which is not a setting\. Settings are: index, .*model_threads"),
    ],
)
def test_an_unknown_name_in_the_file_is_an_error_with_a_suggestion(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "bookbound.toml").write_text(f"{name} = 3\n")
    with pytest.raises(ConfigError, match=message):
        load_settings({}, tmp_path)


def test_each_unknown_name_in_the_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "bookbound.toml").write_text("qdrant_ulr = 'x'\nmodel_treads = 3\n[bookbound]\nindex = 'a'\n")
    with pytest.raises(ConfigError) as raised:
        load_settings({}, tmp_path)
    assert str(raised.value) == (
        "bookbound.toml sets `bookbound`, which is not a setting. Write settings without a [section]."
        " It sets `model_treads`, which is not a setting. Did you mean model_threads?"
        " It sets `qdrant_ulr`, which is not a setting. Did you mean qdrant_url?"
    )


def test_a_variable_that_looks_like_a_setting_is_a_warning_with_a_suggestion() -> None:
    with pytest.warns(UserWarning, match="BOOKBOUND_RATE_LIMIT is not a setting. Did you mean BOOKBOUND_RATE_LIMITS?"):
        warn_unknown_variables({"BOOKBOUND_RATE_LIMIT": "off"})


@pytest.mark.parametrize("name", ["COLOUR", "HOME", "VERSION", "LOG_LEVEL", "USER"])
def test_no_far_fetched_setting_is_suggested(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_unknown_variables({f"BOOKBOUND_{name}": "x"})


def test_no_other_variable_is_a_warning() -> None:
    names = [ENVIRONMENT_PREFIX + each.name.upper() for each in fields(Settings)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_unknown_variables(dict.fromkeys([*names, "BOOKBOUND_DEBUG", "PATH", "BOOKBOUND_SOMETHING_ELSE"], "x"))


@pytest.mark.parametrize("kind", ["folder", "link to nothing", "link to itself"])
def test_settings_that_are_no_file_are_rejected(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "bookbound.toml"
    file.mkdir() if kind == "folder" else file.symlink_to(file if kind == "link to itself" else tmp_path / "x")
    with pytest.raises(ConfigError, match="is not a file"):
        load_settings({}, tmp_path)


@pytest.mark.parametrize("content", [b"index = ", b"index = '\xff'", b"model_threads = " + b"9" * 5000])
def test_a_file_that_is_not_toml_is_rejected(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "bookbound.toml").write_bytes(content)
    with pytest.raises(ConfigError, match="not valid TOML"):
        load_settings({}, tmp_path)


def test_a_file_that_is_nested_too_deeply_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "bookbound.toml").write_text(f"index = {'[' * 5000}")
    with pytest.raises(ConfigError, match="nested too deeply"):
        load_settings({}, tmp_path)


def test_a_working_directory_that_was_removed_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (gone := tmp_path / "gone").mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(ConfigError, match="working directory was removed"):
        load_settings({})


def test_keys_and_addresses_are_never_shown() -> None:
    names = [each.name for each in fields(Settings) if each.name.endswith(SECRET_SUFFIXES)]
    assert len(names) == 13
    shown = repr(Settings(**dict.fromkeys(names, "http://me:a-secret@host")))  # type: ignore[arg-type]
    assert "secret" not in shown
    assert "model_threads=2" in shown


def test_a_folder_on_the_command_line_overrides_a_server(tmp_path: Path) -> None:
    environment = {"BOOKBOUND_QDRANT_URL": "http://host"}
    assert load_settings(environment, tmp_path).qdrant_url == "http://host"
    assert load_settings(environment, tmp_path, index=Path("given")).qdrant_url is None
    assert "qdrant_url" not in find_origins(environment, tmp_path, index=Path("given"))


def test_a_list_comes_from_text_with_commas_or_from_the_file(tmp_path: Path) -> None:
    environment = {"BOOKBOUND_ALLOWED_ORIGINS": "https://a.example, https://b.example"}
    assert load_settings(environment, tmp_path).allowed_origins == ("https://a.example", "https://b.example")
    (tmp_path / "bookbound.toml").write_text('allowed_origins = ["https://a.example"]\n')
    assert load_settings({}, tmp_path).allowed_origins == ("https://a.example",)


def test_settings_do_not_change() -> None:
    with pytest.raises(FrozenInstanceError):
        Settings().model_threads = 3  # type: ignore[misc]


@pytest.mark.parametrize(
    ("variable", "name"),
    [
        ("COHERE_API_KEY", "cohere_key"),
        ("DATABASE_URL", "query_log_url"),
        ("OPENAI_API_KEY", "embedder_key"),
        ("OPENAI_API_KEY", "llm_key"),
        ("OPENROUTER_API_KEY", "llm_key"),
        ("QDRANT_API_KEY", "qdrant_key"),
        ("QDRANT_URL", "qdrant_url"),
    ],
)
def test_a_variable_of_another_system_is_a_fallback_for_ours(tmp_path: Path, variable: str, name: str) -> None:
    value = {"DATABASE_URL": "postgresql://theirs", "QDRANT_URL": "http://theirs"}.get(variable, "theirs")
    theirs, ours = {variable: value}, {ENVIRONMENT_PREFIX + name.upper(): "ours"}
    assert getattr(load_settings(theirs, tmp_path), name) == value
    assert find_origins(theirs, tmp_path)[name] == variable
    assert getattr(load_settings(theirs | ours, tmp_path), name) == "ours"
    assert getattr(load_settings({variable: ""}, tmp_path), name) is None
    (tmp_path / "bookbound.toml").write_text(f'{name} = "file"')
    assert getattr(load_settings(theirs, tmp_path), name) == "file"


@pytest.mark.parametrize(
    ("variable", "value", "name"),
    [("DATABASE_URL", "mysql://user:secret@host/shop", "query_log_url"), ("QDRANT_URL", "host:6334", "qdrant_url")],
)
def test_a_fallback_that_bookbound_cannot_use_is_ignored(tmp_path: Path, variable: str, value: str, name: str) -> None:
    assert getattr(load_settings({variable: value}, tmp_path), name) is None


@pytest.mark.parametrize(
    ("url", "key"),
    [
        (None, "openai"),
        ("https://api.openai.com/v1/", "openai"),
        ("https://openrouter.ai/api/v1", "openrouter"),
        ("http://localhost:11434/v1", None),
        ("https://api.openai.co", None),
    ],
)
def test_a_fallback_key_goes_only_to_the_service_it_belongs_to(
    tmp_path: Path, url: str | None, key: str | None
) -> None:
    environment = {"OPENAI_API_KEY": "openai", "OPENROUTER_API_KEY": "openrouter"}
    environment |= {"BOOKBOUND_LLM_URL": url, "BOOKBOUND_EMBEDDER_URL": url} if url else {}
    found = load_settings(environment, tmp_path)
    assert (found.llm_url, found.llm_key) == (url, key)
    assert found.embedder_key == ("openai" if key == "openai" else None)


def test_with_only_a_key_of_openrouter_its_models_write(tmp_path: Path) -> None:
    environment = {"OPENROUTER_API_KEY": "a-key", "BOOKBOUND_LLM_MODEL": "openai/gpt-4o-mini"}
    found = load_settings(environment, tmp_path)
    assert (found.llm_url, found.llm_key) == ("https://openrouter.ai/api/v1", "a-key")
    assert load_settings({"OPENROUTER_API_KEY": "a-key"}, tmp_path).llm_url is None
