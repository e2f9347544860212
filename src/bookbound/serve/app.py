"""The web application: every face over one desk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import partial
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.types import Scope

from bookbound import __version__
from bookbound.errors import BookboundError
from bookbound.faces import answers, ask, chat, problems, query
from bookbound.faces.face import Desk, Face, Problem
from bookbound.serve import health
from bookbound.serve.gate import REQUEST_ID, Gate
from bookbound.settings import Settings

FACES: tuple[Face, ...] = (ask.FACE, chat.FACE, query.FACE, answers.FACE)
Lifespan = Callable[[FastAPI], AbstractAsyncContextManager[None]]


def application(
    desk: Desk, settings: Settings, lifespan: Lifespan | None = None, faces: Sequence[Face] = FACES
) -> FastAPI:
    """The faces, health and what guards them, over one desk."""
    words = Words(faces, ours=answers.FACE)
    app = FastAPI(
        title="Bookbound",
        version=__version__,
        description="Answers readers' questions from one book and nothing else.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        middleware=_guards(settings, words),
    )
    for face in faces:
        app.include_router(face.routes(desk))
    app.include_router(health.routes(desk))
    app.openapi = partial(_documented, app, faces)  # type: ignore[method-assign]
    app.add_exception_handler(RequestValidationError, words.of_fields)
    app.add_exception_handler(BookboundError, words.of_error)
    app.add_exception_handler(HTTPException, words.of_status)
    return app


def _documented(app: FastAPI, faces: Sequence[Face]) -> dict[str, Any]:
    """The OpenAPI document, without the status for invalid input that a face does not give."""
    document = FastAPI.openapi(app)
    for face in faces:
        for path in face.paths:
            for operation in document["paths"].get(path, {}).values():
                if face.invalid != 422:
                    operation["responses"].pop("422", None)
    return document


def _guards(settings: Settings, words: Words) -> list[Middleware]:
    guards = [Middleware(Gate, largest_body=settings.largest_body, answer=words.at_the_gate)]
    if settings.origins:
        cors = Middleware(
            CORSMiddleware,
            allow_origins=list(settings.origins),
            allow_methods=["GET", "POST"],
            allow_headers=["Content-Type", REQUEST_ID],
            expose_headers=[REQUEST_ID, "Retry-After"],
        )
        guards.insert(0, cors)
    return guards


class Words:
    """What goes wrong, in the words of the face whose path was asked for, or else in ours."""

    def __init__(self, faces: Sequence[Face], ours: Face) -> None:
        self._faces = {path: face for face in faces for path in face.paths}
        self._ours = ours

    def at_the_gate(self, status: int, scope: Scope) -> JSONResponse:
        return self.response(problems.of_status(status, self._face(scope).invalid), scope)

    def response(self, problem: Problem, scope: Scope) -> JSONResponse:
        state = scope["state"]
        problem = replace(problem, session_id=state.get("session_id"))
        body = self._face(scope).body(problem, state["request_id"]).model_dump(mode="json")
        wait = {} if problem.retry_after is None else {"Retry-After": str(problem.retry_after)}
        return JSONResponse(body, problem.status, wait)

    async def of_fields(self, request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)
        return self.response(problems.of_fields(error.errors(), self._face(request.scope).invalid), request.scope)

    async def of_error(self, request: Request, error: Exception) -> JSONResponse:
        return self.response(problems.of_error(error, self._face(request.scope).invalid), request.scope)

    async def of_status(self, request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)
        response = self.at_the_gate(error.status_code, request.scope)
        response.headers.update(error.headers or {})
        return response

    def _face(self, scope: Scope) -> Face:
        return self._faces.get(scope["path"], self._ours)
