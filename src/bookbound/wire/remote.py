"""The parts that are services elsewhere, as the settings name them: only what is named is imported."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bookbound.errors import BadSetup
from bookbound.ports import Agent, Embedder, Examiner, Writer
from bookbound.settings import Settings
from bookbound.upstream import fit_address, fit_key

if TYPE_CHECKING:
    from bookbound.judge.cohere import RerankExaminer
    from bookbound.models.cohere import Cohere
    from bookbound.models.onnx import Models

Close = Callable[[], Awaitable[None]]


def embedder(settings: Settings, models: Models, dimension: int | None) -> Embedder:
    """The embedder of the settings, which remembers questions; its vectors have the dimension that is given."""
    from bookbound.embed.remembered import RememberedEmbedder

    return RememberedEmbedder(_embedder(settings, models, dimension), settings.remembered)


def examiner(settings: Settings, reader: Examiner) -> RerankExaminer:
    """The examiner of the settings: Cohere puts in order what `reader` reads."""
    cohere = _cohere(settings, "examiner")
    from bookbound.judge.cohere import RerankExaminer

    return RerankExaminer(cohere, reader, settings.rerank_model)


def language_model(settings: Settings) -> tuple[Writer, Agent, Close]:
    """The writer and the agent on the language model of the settings, and what closes their connections."""
    _needs_key(settings, "model", "model_key", "model_url")
    with extra("agents", "model"):
        from bookbound.answer.agents import AgentsWriter, SearchingAgent
        from bookbound.answer.agents_model import LanguageModel
    model = LanguageModel(
        settings.model or "",
        url=fit_address(settings.model_url, "model_url") if settings.model_url else None,
        key=fit_key(settings.model_key, "model_key") if settings.model_key else None,
        api=settings.model_api,
        temperature=settings.temperature,
    )
    return AgentsWriter(model), SearchingAgent(model), model.close


def _embedder(settings: Settings, models: Models, dimension: int | None) -> Embedder:
    if settings.embedder == "cohere":
        cohere = _cohere(settings, "embedder")
        from bookbound.embed.cohere import CohereEmbedder

        return CohereEmbedder(cohere, settings.embed_model, models)
    _needs_key(settings, "embedder", "embed_key", "embed_url")
    with extra("openai", "embedder"):
        from bookbound.embed.openai import OpenAIEmbedder
    key, model, url = settings.embed_key, settings.embed_model, settings.embed_url
    return OpenAIEmbedder(key, model, url, dimension=dimension, models=models)


def _cohere(settings: Settings, setting: str) -> Cohere:
    _needs_key(settings, setting, "cohere_key")
    with extra("cohere", setting):
        from bookbound.models.cohere import Cohere
    return Cohere(settings.cohere_key or "", settings.cohere_url)


def _needs_key(settings: Settings, setting: str, key: str, url: str = "") -> None:
    """That there is a key, unless a URL of one's own is given: who serves there may need none."""
    if not getattr(settings, key) and not (url and getattr(settings, url)):
        instead = f", or `{url}` for a service of your own" if url else ""
        raise BadSetup(f"The setting `{setting}` needs a key: set `{key}` in the environment{instead}.")


@contextmanager
def extra(name: str, setting: str) -> Iterator[None]:
    """Within this block a package that is missing is told with what installs it."""
    try:
        yield
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] == "bookbound":
            raise
        raise BadSetup(f'The setting `{setting}` needs more packages: pip install "bookbound[{name}]"') from missing
