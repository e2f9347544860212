"""The Dockerfile is consistent; the tests need no Docker."""

from __future__ import annotations

import json
import re

from tests.deploy.files import PODS, PORT, REPOSITORY, SERVICES, read_instructions, read_stages


def test_the_files_that_the_build_copies_exist_and_are_not_ignored() -> None:
    allowed = {line[1:] for line in (REPOSITORY / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    sources = [
        name
        for word, rest in read_instructions()
        if word == "COPY" and not rest.startswith("--from")
        for name in rest.split()[:-1]
    ]
    assert {"requirements.lock", "requirements-dev.lock", "src"} <= set(sources)
    for name in sources:
        assert (REPOSITORY / name).exists(), name
        assert name.split("/")[0] in allowed, name


def test_packages_are_verified_by_hashes_and_downloaded_before_the_source_is_copied() -> None:
    build = read_stages()["build"]
    runs = [rest for word, rest in build if word == "RUN"]
    downloads = [rest for rest in runs if "--no-index" not in rest]
    assert len(downloads) == 1
    assert "pip download --require-hashes --only-binary=:all:" in downloads[0]
    assert build.index(("RUN", downloads[0])) < build.index(("COPY", "src src"))
    assert any("--no-index" in rest and "--require-hashes --requirement requirements.lock" in rest for rest in runs)


def test_the_extras_of_the_image_exist() -> None:
    project = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    known = set(re.findall(r"^(\w+) = \[", project.partition("[project.optional-dependencies]")[2], re.MULTILINE))
    arguments = [rest.partition("=")[2] for word, rest in read_instructions() if rest.startswith("EXTRAS=")]
    arguments.append(SERVICES["bookbound"]["build"]["args"]["EXTRAS"])
    assert all(set(each.split(",")) <= known for each in arguments)


def test_the_image_runs_as_a_numbered_user() -> None:
    run = read_stages()["run"]
    words = [word for word, _ in run]
    assert words.index("RUN") < words.index("USER") < words.index("ENTRYPOINT") < words.index("CMD")
    assert words.index("USER") < words.index("HEALTHCHECK")
    instruction = dict(run)
    user = instruction["USER"]
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", user)
    assert instruction["EXPOSE"] == str(PORT)
    assert instruction["VOLUME"] == instruction["WORKDIR"]
    assert f"BOOKBOUND_INDEX={instruction['VOLUME']}/" in instruction["ENV"]
    assert json.loads(instruction["ENTRYPOINT"]) == ["bookbound"]
    assert json.loads(instruction["CMD"])[0] == "serve"
    assert {SERVICES[name]["user"] for name in ("bookbound", "index")} == {user}
    for pod in PODS.values():
        assert f"{pod['securityContext']['runAsUser']}:{pod['securityContext']['runAsGroup']}" == user


def test_the_last_stage_is_the_service() -> None:
    assert list(read_stages())[-1] == "service"
    assert read_stages()["service"] == []
    assert read_instructions()[-1] == ("FROM", "run AS service")
    assert SERVICES["bookbound"]["build"]["target"] == "service"
