"""The built files have what an installation needs and nothing else, and they answer without the checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

import bookbound
from bookbound.cli.source_commit import find_commit
from bookbound.domain.reply import NOT_IN_BOOK_MESSAGE
from bookbound.models import LARGE_FILES

# They build and install the distributions.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGE = REPOSITORY / "src" / "bookbound"
MAX_INDEX_FILE_BYTES = 100 * 2**20
"""What package indexes accept for one file by default."""


def run(*command: str | Path, cwd: Path, **variables: str) -> str:
    """Runs a command that sees neither the checkout nor the settings of this process, and returns what it printed."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("BOOKBOUND", "PYTHON", "PIP"))}
    done = subprocess.run(
        command, cwd=cwd, env=clean | variables, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the sdist and both wheels, built as `make dist` builds them."""
    dist = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(dist)]
    run(*build, str(REPOSITORY), cwd=dist)
    run(*build, "--wheel", str(REPOSITORY / "release" / "models"), cwd=dist)
    return dist


@pytest.fixture(scope="session")
def wheel_names(dist: Path) -> set[str]:
    with zipfile.ZipFile(next(dist.glob("bookbound-*.whl"))) as wheel:
        return {*wheel.namelist()}


@pytest.fixture(scope="session")
def environment(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new environment with both wheels; what they depend on is linked from the environment of the tests."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder / "venv", symlinks=os.name != "nt")
    others = folder / "others"
    others.mkdir()
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if path.suffix != ".pth" and not path.name.startswith("bookbound"):
            (others / path.name).symlink_to(path)
    paths = {"base": str(folder / "venv"), "platbase": str(folder / "venv")}
    site = Path(sysconfig.get_path("purelib", "venv", paths))
    (site / "others.pth").write_text(f"{others}\n")
    scripts = Path(sysconfig.get_path("scripts", "venv", paths))
    pip = [sys.executable, "-m", "pip", "--python", str(scripts / "python"), "--disable-pip-version-check"]
    wheel = next(dist.glob("bookbound-*.whl"))
    run(*pip, "install", "--quiet", "--no-index", "--find-links", str(dist), str(wheel), cwd=folder)
    return scripts


def test_the_wheel_has_every_file_that_the_package_reads(wheel_names: set[str]) -> None:
    files = {
        f"bookbound/{file.relative_to(PACKAGE).as_posix()}"
        for file in PACKAGE.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts and file.name not in LARGE_FILES
    }
    assert {"bookbound/py.typed", "bookbound/server/page/widget.js", "bookbound/models/reader.json"} <= files
    examples = {name for name in wheel_names if name.startswith("bookbound/examples/book/")}
    metadata = {name for name in wheel_names if ".dist-info/" in name}
    assert wheel_names - examples - metadata - files == {"bookbound/commit.txt"}
    assert files <= wheel_names
    assert "bookbound/examples/book/docs/intro.md" in examples
    assert {Path(name).name for name in metadata if "/licenses/" in name} == {"LICENSE", "NOTICE"}


def test_the_wheel_of_the_large_files_has_them_and_the_licences(dist: Path) -> None:
    with zipfile.ZipFile(next(dist.glob("bookbound_models-*.whl"))) as wheel:
        names = wheel.namelist()
        licence = wheel.read(next(name for name in names if name.endswith("licenses/LICENSE")))
    expected = {f"bookbound_models/{name}" for name in ("__init__.py", *LARGE_FILES)}
    assert {name for name in names if ".dist-info/" not in name} == expected
    assert licence == (REPOSITORY / "LICENSE").read_bytes()


def test_the_sdist_has_the_tests_and_neither_the_large_files_nor_the_lab(dist: Path) -> None:
    with tarfile.open(next(dist.glob("*.tar.gz"))) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    assert {"pyproject.toml", "LICENSE", "NOTICE", "tests/conftest.py", "release/commit_file.py"} <= names
    assert not {name for name in names if Path(name).name in LARGE_FILES}
    assert not {name for name in names if "lab" in Path(name).parts}


def test_no_file_is_too_large_for_a_package_index(dist: Path) -> None:
    assert len([*dist.iterdir()]) == 3
    assert {file.name: size for file in dist.iterdir() if (size := file.stat().st_size) > MAX_INDEX_FILE_BYTES} == {}


def test_the_installed_command_says_version_and_commit(environment: Path, tmp_path: Path) -> None:
    commit = find_commit(PACKAGE)
    assert (
        run(environment / "bookbound", "--version", cwd=tmp_path) == f"bookbound {bookbound.__version__} ({commit})\n"
    )


def test_the_installed_command_asks_the_example_book(environment: Path, tmp_path: Path) -> None:
    index = str(tmp_path / "index")
    output = run(environment / "bookbound", "demo", "--no-serve", "--index", index, cwd=tmp_path, HOME=str(tmp_path))
    assert "a thin toothed cup called the flexspline" in output
    assert NOT_IN_BOOK_MESSAGE in output
    question = "What are the three parts of a strain wave gear?"
    reply = json.loads(run(environment / "bookbound", "ask", question, "--index", index, "--json", cwd=tmp_path))
    assert "circular spline" in reply["answer"]


def test_the_installed_package_is_not_the_checkout(environment: Path, tmp_path: Path) -> None:
    code = (
        "import bookbound, bookbound.models as models, sys;"
        "print(bookbound.__file__, *map(models.find_model_file, models.LARGE_FILES), *sys.path, sep='\\n')"
    )
    for path in run(environment / "python", "-c", code, cwd=tmp_path).splitlines():
        assert not path.startswith(str(REPOSITORY / "src"))
