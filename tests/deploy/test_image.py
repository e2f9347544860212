"""What the Dockerfile says holds together; no engine is needed."""

from __future__ import annotations

import json
import re

from tests.deploy.files import PODS, PORT, REPOSITORY, SERVICES, instructions, stages


def test_what_the_build_copies_is_there_and_let_in() -> None:
    let_in = {line[1:] for line in (REPOSITORY / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    sources = [
        name
        for word, rest in instructions()
        if word == "COPY" and not rest.startswith("--from")
        for name in rest.split()[:-1]
    ]
    assert {"requirements.lock", "requirements-dev.lock", "src"} <= set(sources)
    for name in sources:
        assert (REPOSITORY / name).exists(), name
        assert name.split("/")[0] in let_in, name


def test_packages_are_installed_from_what_hashes_vouch_for_and_fetched_before_the_source_comes_in() -> None:
    build = stages()["build"]
    runs = [rest for word, rest in build if word == "RUN"]
    fetching = [rest for rest in runs if "--no-index" not in rest]
    assert len(fetching) == 1
    assert "pip download --require-hashes --only-binary=:all:" in fetching[0]
    assert build.index(("RUN", fetching[0])) < build.index(("COPY", "src src"))
    assert any("--no-index" in rest and "--require-hashes --requirement requirements.lock" in rest for rest in runs)


def test_the_extras_that_are_built_in_are_extras() -> None:
    project = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    known = set(re.findall(r"^(\w+) = \[", project.partition("[project.optional-dependencies]")[2], re.MULTILINE))
    arguments = [rest.partition("=")[2] for word, rest in instructions() if rest.startswith("EXTRAS=")]
    arguments.append(SERVICES["bookbound"]["build"]["args"]["EXTRAS"])
    assert all(set(each.split(",")) <= known for each in arguments)


def test_the_image_runs_as_a_numbered_user_with_what_follows_in_order() -> None:
    run = stages()["run"]
    words = [word for word, _ in run]
    assert words.index("RUN") < words.index("USER") < words.index("ENTRYPOINT") < words.index("CMD")
    assert words.index("USER") < words.index("HEALTHCHECK")
    told = dict(run)
    user = told["USER"]
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", user)
    assert told["EXPOSE"] == str(PORT)
    assert told["VOLUME"] == told["WORKDIR"]
    assert f"BOOKBOUND_INDEX={told['VOLUME']}/" in told["ENV"]
    assert json.loads(told["ENTRYPOINT"]) == ["bookbound"]
    assert json.loads(told["CMD"])[0] == "serve"
    assert {SERVICES[name]["user"] for name in ("bookbound", "index")} == {user}
    for pod in PODS.values():
        assert f"{pod['securityContext']['runAsUser']}:{pod['securityContext']['runAsGroup']}" == user


def test_the_last_stage_is_the_service_and_adds_nothing() -> None:
    assert list(stages())[-1] == "service"
    assert stages()["service"] == []
    assert instructions()[-1] == ("FROM", "run AS service")
    assert SERVICES["bookbound"]["build"]["target"] == "service"
