"""Implements the commands of `llm`, which are about the language model."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer

from bookbound.cli.book_access import Bootstrap
from bookbound.cli.exit_codes import exit_on_error
from bookbound.cli.options import JsonOption
from bookbound.cli.terminal import StyledLine, format_table, print_result
from bookbound.contracts.serialization import JsonObject
from bookbound.domain.llm_providers import LLM_PROVIDERS
from bookbound.domain.question import Deadline
from bookbound.settings import Settings, load_settings

if TYPE_CHECKING:
    from bookbound.answering.writers.llm.model_check import ModelCheck

llm_app = typer.Typer(no_args_is_help=True, help="Check the language model.")


@llm_app.callback()
def commands() -> None:
    """Check the language model."""


@llm_app.command(epilog="Example: bookbound llm check --json")
def check(ctx: typer.Context, as_json: JsonOption = False) -> None:
    """Make one small call to the language model of the settings and say what works."""
    with exit_on_error(as_json):
        settings = load_settings()
        found = _serialize_check(settings, asyncio.run(_check_model(ctx.obj, settings)))
        print_result(found, _format_check(found), as_json)


async def _check_model(bootstrap: Bootstrap, settings: Settings) -> ModelCheck:
    from bookbound.answering.writers.llm.model_check import check_model

    model = bootstrap.build_llm_client(settings)
    try:
        return await check_model(model, Deadline.after(settings.answer_timeout_seconds))
    finally:
        await model.close()


def _serialize_check(settings: Settings, check: ModelCheck) -> JsonObject:
    """What works; an address has no password in it, because it was checked."""
    return {
        "provider": settings.llm_provider,
        "url": settings.llm_url or LLM_PROVIDERS[settings.llm_provider].url,
        "model": settings.llm_model,
        "pieces": check.pieces,
        "structured_output": check.takes_schema,
        "temperature": check.takes_temperature,
        "usage": {
            "calls": check.usage.calls,
            "read": check.usage.input_tokens,
            "written": check.usage.output_tokens,
        },
        "seconds": round(check.seconds, 2),
    }


def _format_check(found: JsonObject) -> Iterator[StyledLine]:
    read, written = found["usage"]["read"], found["usage"]["written"]
    tokens = f"{read} read, {written} written" if read or written else "not counted by the service"
    rows = [
        ("Provider", found["provider"]),
        ("Address", found["url"] or "that of the AWS region"),
        ("Model", found["model"]),
        ("Streaming", f"{found['pieces']} pieces" if found["pieces"] > 1 else "no, the reply came at once"),
        ("Structured output", _describe_option(found["structured_output"])),
        ("Temperature", _describe_option(found["temperature"])),
        ("Tokens", tokens),
        ("Seconds", f"{found['seconds']:.2f}"),
    ]
    yield from format_table(rows)


def _describe_option(is_accepted: bool) -> str:
    return "accepted" if is_accepted else "rejected, so it is left out"
