"""Look after the log of questions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Protocol

import typer

from bookbound import settings
from bookbound.cli import show
from bookbound.cli.ago import ago
from bookbound.cli.outcome import told
from bookbound.cli.parts import AsJson, IndexFolder, Parts
from bookbound.cli.screen import Line, put, put_json
from bookbound.errors import BadSetup
from bookbound.ports import Embedder

if TYPE_CHECKING:
    from bookbound.record.database import Database
    from bookbound.record.holdings import Holdings

OlderThan = Annotated[
    timedelta | None,
    typer.Option(
        "--older-than",
        metavar="TIME",
        parser=ago,
        help="As in 30d; 0d is everything, and needs --yes. Default: what is kept by setting.",
        show_default=False,
    ),
]
Step = Annotated[str, typer.Argument(metavar="STEP", help="The step to go back to, such as 0001; or nothing.")]
Yes = Annotated[bool, typer.Option("--yes", help="What only later steps can hold may be deleted.")]
Everything = Annotated[bool, typer.Option("--yes", help="Every question may be deleted.")]


class Recording(Parts, Protocol):
    """What the commands for the log need besides."""

    def log(self, settings: settings.Settings) -> Database:
        """Where questions are logged."""

    def keep(self, settings: settings.Settings) -> timedelta:
        """For how long they are."""

    def embedder(self, settings: settings.Settings) -> Embedder:
        """What tells questions that are alike."""


app = typer.Typer(no_args_is_help=True, help="Look after the log of questions: what it holds, how old, its tables.")


@app.command(epilog="Example: bookbound log status")
def status(ctx: typer.Context, index: IndexFolder = None, as_json: AsJson = False) -> None:
    """Say where the log is, how much it holds, and what could not be logged. Nothing is changed."""
    with told(as_json):
        from bookbound.record.folder import beside
        from bookbound.record.holdings import holdings

        chosen = settings.load(index=index)
        with _opened(ctx.obj, chosen) as database:
            held, where = holdings(database, beside(chosen.index)), database.where
        oldest = held.oldest.isoformat(timespec="seconds") if held.oldest else None
        if as_json:
            put_json({"log": chosen.log, "where": where, **held._asdict(), "oldest": oldest})
        else:
            put(show.table(list(_rows(where, held, oldest or "none"))))


def _rows(where: str, held: Holdings, oldest: str) -> Iterator[tuple[str, str]]:
    yield "Log", where
    yield "Step", held.step
    yield "Questions", str(held.questions)
    yield "Oldest", oldest
    yield "Sessions", str(held.sessions)
    yield "Told as lost", str(held.lost)
    if held.outstanding:
        yield "Left untold", f"{held.outstanding}, by processes that are gone; the next server tells them"


@app.command(epilog="Example: bookbound log purge --older-than 30d")
def purge(
    ctx: typer.Context,
    older_than: OlderThan = None,
    everything: Everything = False,
    index: IndexFolder = None,
    as_json: AsJson = False,
) -> None:
    """Delete every question that is older than it need be. The server does so by itself, too."""
    with told(as_json):
        chosen = settings.load(index=index)
        parts: Recording = ctx.obj
        age = parts.keep(chosen) if older_than is None else older_than
        if not age and not everything:
            raise BadSetup("This deletes every question there is. Where that is meant, add --yes.")
        with _opened(parts, chosen) as database:
            deleted = _purged(database, datetime.now(UTC) - age)
        if as_json:
            put_json({"deleted": deleted})
        else:
            put([Line.of(f"Deleted {show.counted(deleted, 'question')}.")])


@app.command(epilog="Example: bookbound log upgrade")
def upgrade(ctx: typer.Context, index: IndexFolder = None) -> None:
    """Bring the tables of the log up to date. The server does so as it starts."""
    with told(), _opened(ctx.obj, settings.load(index=index)) as database:
        from bookbound.record import schema

        at = schema.migrate(database)
        put([Line.of(f"The log is at step {schema.HEAD}; it was at {at}.")])


@app.command(epilog="Example: bookbound log downgrade 0001 --yes")
def downgrade(ctx: typer.Context, step: Step, yes: Yes = False, index: IndexFolder = None) -> None:
    """Take the tables of the log back to an earlier step, for an older version of Bookbound."""
    with told(), _opened(ctx.obj, settings.load(index=index)) as database:
        from bookbound.record import schema

        if not yes:
            raise BadSetup("To go back deletes what an earlier step cannot hold. Where that is meant, add --yes.")
        at = schema.roll_back(database, step)
        put([Line.of(f"The log is at step {step}; it was at {at}.")])


@contextmanager
def _opened(parts: Recording, chosen: settings.Settings) -> Iterator[Database]:
    with closing(parts.log(chosen)) as database:
        yield database


def _purged(database: Database, before: datetime) -> int:
    from bookbound.record import ledger, schema

    if database.missing:
        return 0
    with database.read() as connection:
        if not schema.check(connection):
            return 0
    return ledger.purge(database, before)
