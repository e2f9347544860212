"""Finds the route of a request before any layer handles it, so that every rule applies to the route."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

from starlette.routing import BaseRoute, Route
from starlette.types import Scope

OTHER = "other"
"""Replaces a method or path that is not ours, so that logs and metrics contain no text from clients."""


@dataclass(frozen=True, slots=True)
class MatchedRoute:
    """The path of a route as the server defines it, and the name of its contract."""

    path: str = ""
    contract: str = OTHER


NO_ROUTE = MatchedRoute()


class RouteTable:
    """Finds routes by their whole path; the router itself ignores a line break at the end of one."""

    def __init__(self, list_routes: Callable[[], Iterable[BaseRoute]]) -> None:
        self._list_routes = list_routes

    def match(self, path: str) -> MatchedRoute:
        return next((found for route, found in self._routes if route.path_regex.fullmatch(path)), NO_ROUTE)

    @cached_property
    def _routes(self) -> list[tuple[Route, MatchedRoute]]:
        routes = [route for route in self._list_routes() if isinstance(route, Route)]
        return [(route, MatchedRoute(route.path, str((getattr(route, "tags", ()) or [OTHER])[0]))) for route in routes]


def matched_route(scope: Scope) -> MatchedRoute:
    """The route that the outermost layer found for a request."""
    found: MatchedRoute = scope["state"]["route"]
    return found
