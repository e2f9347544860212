"""Where settings come from, and which are refused."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields
from pathlib import Path

import pytest

from bookbound.domain.errors import ConfigError
from bookbound.settings import Settings, load_settings


def test_without_file_and_environment_the_defaults_hold(tmp_path: Path) -> None:
    assert load_settings({}, tmp_path) == Settings()


def test_what_is_given_goes_before_the_environment_and_that_before_the_file(tmp_path: Path) -> None:
    (tmp_path / "bookbound.toml").write_text('index = "from-file"\nthreads = 3\nqdrant_collection = "from-file"\n')
    environment = {"BOOKBOUND_INDEX": "from-environment", "BOOKBOUND_THREADS": "4"}
    found = load_settings(environment, tmp_path, index=Path("given"), threads=None)
    assert found == Settings(index=Path("given"), threads=4, qdrant_collection="from-file")


def test_text_becomes_what_the_setting_is(tmp_path: Path) -> None:
    found = load_settings({"BOOKBOUND_ANSWERED": "0.25", "BOOKBOUND_INDEX": "a/b", "BOOKBOUND_THREADS": "1"}, tmp_path)
    assert (found.answered, found.index, found.threads) == (0.25, Path("a/b"), 1)


def test_a_whole_number_in_the_file_serves_as_a_number(tmp_path: Path) -> None:
    (tmp_path / "bookbound.toml").write_text("answered = 1\n")
    assert load_settings({}, tmp_path).answered == 1.0


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"BOOKBOUND_THREADS": "many"}, "`threads` must be a whole number"),
        ({"BOOKBOUND_THREADS": "0"}, "`threads` must be from 1 to 256"),
        ({"BOOKBOUND_ANSWERED": "often"}, "`answered` must be a number"),
        ({"BOOKBOUND_ANSWERED": "1.5"}, "from 0 to 1"),
        ({"BOOKBOUND_ANSWERED": "nan"}, "from 0 to 1"),
        ({"BOOKBOUND_INDEX": " "}, "`index` must be a path"),
        ({"BOOKBOUND_QUEUE": "-1"}, "`queue` must be from 0 to 65536"),
        ({"BOOKBOUND_TEMPERATURE": "2.1"}, "`temperature` must be from 0 to 2"),
        ({"BOOKBOUND_TEMPERATURE": "nan"}, "`temperature` must be from 0 to 2"),
        ({"BOOKBOUND_DEADLINE": "0"}, "`deadline` must be from 0.1 to 600"),
        ({"BOOKBOUND_MODEL_API": "legacy"}, "`model_api` must be one of chat, responses"),
        ({"BOOKBOUND_ON_MODEL_FAILURE": "cry"}, "`on_model_failure` must be one of quotes, error"),
        ({"BOOKBOUND_EMBEDDER": "remote"}, "`embedder` must be one of local, cohere, openai"),
        ({"BOOKBOUND_EXAMINER": "openai"}, "`examiner` must be one of local, cohere"),
        ({"BOOKBOUND_LOG": "no"}, "`log` must be one of on, off"),
        ({"BOOKBOUND_LOG_ADDRESSES": "none"}, "`log_addresses` must be one of hashed, plain"),
        ({"BOOKBOUND_LOG_DAYS": "0"}, "`log_days` must be from 1 to 36500"),
        ({"BOOKBOUND_LOG_DAYS": "1.5"}, "`log_days` must be a whole number"),
    ],
)
def test_a_value_that_makes_no_sense_is_refused_by_name(
    tmp_path: Path, environment: dict[str, str], words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        load_settings(environment, tmp_path)


@pytest.mark.parametrize(
    "line",
    [
        "answered = true",
        f"answered = 1{'0' * 400}",
        "threads = 2.9",
        "threads = true",
        f"threads = 1{'0' * 400}",
        "index = 3",
        'index = "a\\u0000b"',
        "qdrant_collection = {}",
        "qdrant_collection = 3",
        "log = false",
        "origins = [1, 2]",
        "origins = {a = 1}",
    ],
)
def test_a_value_of_another_kind_in_the_file_is_refused(tmp_path: Path, line: str) -> None:
    (tmp_path / "bookbound.toml").write_text(line)
    with pytest.raises(ConfigError, match="must be"):
        load_settings({}, tmp_path)


def test_an_unknown_name_in_the_file_is_refused_and_the_known_are_listed(tmp_path: Path) -> None:
    (tmp_path / "bookbound.toml").write_text("treads = 3\n")
    with pytest.raises(ConfigError, match=r"`treads`.*known are .*threads"):
        load_settings({}, tmp_path)


@pytest.mark.parametrize("content", [b"index = ", b"index = '\xff'", b"threads = " + b"9" * 5000])
def test_a_file_that_is_no_toml_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "bookbound.toml").write_bytes(content)
    with pytest.raises(ConfigError, match="not valid TOML"):
        load_settings({}, tmp_path)


def test_a_file_that_is_nested_beyond_all_measure_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bookbound.toml").write_text(f"index = {'[' * 5000}")
    with pytest.raises(ConfigError, match="nested too deeply"):
        load_settings({}, tmp_path)


def test_a_working_directory_that_is_gone_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (gone := tmp_path / "gone").mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(ConfigError, match="working directory was removed"):
        load_settings({})


def test_an_unknown_name_in_the_environment_is_no_matter_of_ours(tmp_path: Path) -> None:
    assert load_settings({"BOOKBOUND_DEBUG": "1", "PATH": "/bin"}, tmp_path) == Settings()


def test_a_key_and_an_address_are_never_shown() -> None:
    names = [field.name for field in fields(Settings) if field.name.endswith(("_key", "_url"))]
    assert len(names) == 12
    shown = repr(Settings(**dict.fromkeys(names, "http://me:a-secret@host")))  # type: ignore[arg-type]
    assert "secret" not in shown
    assert "threads=2" in shown


def test_questions_are_logged_for_ninety_days_and_addresses_hashed_unless_something_else_is_set(tmp_path: Path) -> None:
    usual = load_settings({}, tmp_path)
    assert (usual.log, usual.log_url, usual.log_days, usual.log_addresses) == ("on", None, 90, "hashed")
    (tmp_path / "bookbound.toml").write_text('log = "off"\nlog_days = 7\nlog_addresses = "plain"\n')
    found = load_settings({"BOOKBOUND_LOG_URL": "sqlite:///questions.db"}, tmp_path)
    assert (found.log, found.log_url, found.log_days, found.log_addresses) == (
        "off",
        "sqlite:///questions.db",
        7,
        "plain",
    )


def test_naming_a_folder_goes_before_a_server(tmp_path: Path) -> None:
    environment = {"BOOKBOUND_QDRANT_URL": "http://host"}
    assert load_settings(environment, tmp_path).qdrant_url == "http://host"
    assert load_settings(environment, tmp_path, index=Path("given")).qdrant_url is None


def test_a_list_comes_from_text_with_commas_or_from_the_file(tmp_path: Path) -> None:
    assert load_settings({"BOOKBOUND_ORIGINS": "https://a.example, https://b.example"}, tmp_path).origins == (
        "https://a.example",
        "https://b.example",
    )
    (tmp_path / "bookbound.toml").write_text('origins = ["https://a.example"]\n')
    assert load_settings({}, tmp_path).origins == ("https://a.example",)


def test_settings_do_not_change() -> None:
    with pytest.raises(FrozenInstanceError):
        Settings().threads = 3  # type: ignore[misc]
