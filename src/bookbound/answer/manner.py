"""How a language model is asked, and what asking comes to: no vendor's words."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bookbound.dialogue import Usage
from bookbound.errors import ServiceTrouble

SERVICE = "language model"
NOT_TAKEN = "The language model does not take the request. Check the settings `model`, `model_url` and `model_api`."


@dataclass(frozen=True, slots=True)
class Manner:
    """How a model is asked; an endpoint that does not take all of it is asked with less."""

    temperature: float | None
    shaped: bool = True  # the reply's JSON schema is sent along
    counted: bool = True  # tokens are reported in streams

    def eased(self, refused: str | None) -> Manner | None:
        """Without the parameter that was refused, or without all that can be left out; nothing where that is none."""
        plain = Manner(None, shaped=False, counted=False)
        if refused == "temperature" and self.temperature is not None:
            return replace(self, temperature=None)
        return None if self == plain else plain


@dataclass(frozen=True, slots=True)
class Answered:
    """The end of a run: the whole text of the last reply, and what all of it took."""

    text: str
    usage: Usage


class Unfit(ServiceTrouble):
    """An endpoint does not take a request as it is; `parameter` is what it names as the reason."""

    def __init__(self, parameter: str | None) -> None:
        super().__init__(NOT_TAKEN, service=SERVICE)
        self.parameter = parameter
