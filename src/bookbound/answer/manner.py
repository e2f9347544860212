"""How a language model is asked, and what asking comes to: no vendor's words."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bookbound.errors import ServiceTrouble

SERVICE = "language model"
NOT_TAKEN = "The language model does not take the request. Check the settings `model`, `model_url` and `model_api`."


@dataclass(frozen=True, slots=True)
class Manner:
    """How a model is asked; an endpoint that does not take all of it is asked with less."""

    temperature: float | None
    shaped: bool = True  # the reply's JSON schema is sent along
    counted: bool = True  # tokens are reported in streams

    @property
    def plain(self) -> Manner:
        """Without all that can be left out."""
        return Manner(None, shaped=False, counted=False)

    def without(self, parameter: str | None) -> Manner:
        """Without one parameter by its name; the same where it has none of that name."""
        match parameter:
            case "temperature":
                return replace(self, temperature=None)
            case "response_format" | "text":
                return replace(self, shaped=False)
            case "stream_options":
                return replace(self, counted=False)
        return self


@dataclass(frozen=True, slots=True)
class Answered:
    """The end of a run that came to one: the whole text of the last reply."""

    text: str


class Unfit(ServiceTrouble):
    """An endpoint does not take a request as it is; `parameter` is what it names as the reason."""

    def __init__(self, parameter: str | None) -> None:
        super().__init__(NOT_TAKEN, service=SERVICE)
        self.parameter = parameter
