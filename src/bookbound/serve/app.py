"""The web application: every face over one desk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import partial
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.types import Scope

from bookbound import __version__
from bookbound.errors import BookboundError
from bookbound.faces import answers, ask, chat, problems, query
from bookbound.faces.face import Desk, Face, Problem
from bookbound.ports import Limiter
from bookbound.serve import health, index, keyfile, metrics
from bookbound.serve.access import SCHEMES, WAYS, Access, Refused
from bookbound.serve.address import networks
from bookbound.serve.gate import Gate
from bookbound.serve.keyfile import Watched
from bookbound.serve.leaving import Leaving
from bookbound.serve.limits import Limits, Policies
from bookbound.serve.onlooker import Onlooker
from bookbound.serve.origins import Origins
from bookbound.serve.shelf import Shelf
from bookbound.serve.volumes import Opening, Volumes
from bookbound.settings import Settings
from bookbound.watch import outcome
from bookbound.watch.desk import WatchedDesk
from bookbound.watch.visit import VISIT
from bookbound.watch.watch import Watch

FACES: tuple[Face, ...] = (ask.FACE, chat.FACE, query.FACE, answers.FACE)
Lifespan = Callable[[FastAPI], AbstractAsyncContextManager[None]]


def application(
    desk: Desk,
    settings: Settings,
    lifespan: Lifespan | None = None,
    faces: Sequence[Face] = FACES,
    store: index.Stores | None = None,
    limiter: Limiter | None = None,
    watch: Watch | None = None,
    shelf: Shelf | None = None,
) -> FastAPI:
    """The faces, health and what guards them, over one desk; and the index itself, where its store is given.

    Without a limiter, everybody may ask as much as they like. `watch` sees every request, and books that somebody names
    are opened on the `shelf`.
    """
    words, watch, seen = Words(faces, ours=answers.FACE), watch or Watch(), WatchedDesk(desk)
    routers = [*(face.routes(seen) for face in faces), health.routes(desk)]
    routers += [index.routes(store)] if store else []
    routers += [metrics.routes(watch.metrics)] if watch.metrics else []
    app = FastAPI(
        title="Bookbound",
        version=__version__,
        description="Answers readers' questions from one book and nothing else.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        middleware=[
            Middleware(Volumes),
            Middleware(Onlooker, watch=watch, faces=_named(routers)),
            *_guards(settings, words, faces, limiter),
            *([Middleware(Opening, shelf=shelf, answer=words.of_trouble)] if shelf else []),
        ],
    )
    for router in routers:
        app.include_router(router)
    app.openapi = partial(_documented, app, faces)  # type: ignore[method-assign]
    app.add_exception_handler(RequestValidationError, words.of_fields)
    app.add_exception_handler(BookboundError, words.of_error)
    app.add_exception_handler(HTTPException, words.of_status)
    return app


def _named(routers: Sequence[APIRouter]) -> dict[str, str]:
    """Each path that something answers at, with the name of what does."""
    routes = [route for router in routers for route in router.routes if isinstance(route, APIRoute)]
    return {route.path: str(next(iter(route.tags), "other")) for route in routes}


def _documented(app: FastAPI, faces: Sequence[Face]) -> dict[str, Any]:
    """The OpenAPI document, with the ways to send a key, and no status for invalid input that a face does not give."""
    document = FastAPI.openapi(app)
    document["components"]["securitySchemes"] = SCHEMES
    for face in faces:
        for path in face.paths:
            for operation in document["paths"].get(path, {}).values():
                operation["security"] = [{}, *WAYS]  # whether one is needed is a setting
                if face.invalid != 422:
                    operation["responses"].pop("422", None)
    return document


def _guards(settings: Settings, words: Words, faces: Sequence[Face], limiter: Limiter | None) -> list[Middleware]:
    """What a request passes on its way in, the outermost first."""
    keys = Watched(keyfile.place(settings))
    trusted = networks(settings.proxies)
    limits = []
    if limiter:
        policies = Policies.of(settings)
        limits = [Middleware(Limits, limiter=limiter, policies=policies, faces=faces, answer=words.response)]
    return [
        Middleware(Origins, names=settings.origins, keys=keys),
        Middleware(Gate, largest_body=settings.largest_body, answer=words.at_the_gate, trusted=trusted),
        Middleware(Access, keys=keys, needed=settings.access == "keys"),
        *limits,
        Middleware(Leaving),
    ]


class Words:
    """What goes wrong, in the words of the face whose path was asked for, or else in ours."""

    def __init__(self, faces: Sequence[Face], ours: Face) -> None:
        self._faces = {path: face for face in faces for path in face.paths}
        self._ours = ours

    def at_the_gate(self, status: int, scope: Scope, why: str) -> JSONResponse:
        problem = problems.of_status(status, self._face(scope).invalid)
        return self.response(replace(problem, message=why or problem.message), scope)

    def response(self, problem: Problem, scope: Scope) -> JSONResponse:
        state = scope["state"]
        problem = replace(problem, session_id=state.get("session_id"))
        body = self._face(scope).body(problem, state["request_id"]).model_dump(mode="json")
        wait = {} if problem.retry_after is None else {"Retry-After": str(problem.retry_after)}
        return JSONResponse(body, problem.status, wait)

    async def of_fields(self, request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)
        return self.response(problems.of_fields(error.errors(), self._face(request.scope).invalid), request.scope)

    def of_trouble(self, trouble: Exception, scope: Scope) -> JSONResponse:
        if visit := VISIT.get():
            visit.outcome = visit.outcome or outcome.of_trouble(trouble)
        return self.response(problems.of_error(trouble, self._face(scope).invalid), scope)

    async def of_error(self, request: Request, error: Exception) -> JSONResponse:
        return self.of_trouble(error, request.scope)

    async def of_status(self, request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)
        why = error.detail if isinstance(error, Refused) else ""
        response = self.at_the_gate(error.status_code, request.scope, why)
        response.headers.update(error.headers or {})
        return response

    def _face(self, scope: Scope) -> Face:
        return self._faces.get(scope["path"], self._ours)
