"""`python -m lab.measure.load`: a load test over every interface with workers, PostgreSQL and Redis. Linux only."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic, sleep

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from bookbound import bootstrap
from bookbound.bootstrap import web_app
from bookbound.evaluation import question_set
from bookbound.settings import Settings
from lab.measure.load.bookbound_service import UNLIMITED, BookboundService
from lab.measure.load.clients import Clients
from lab.measure.load.random_kills import Chaos
from lab.measure.load.requirements import SAMPLE_SECONDS, Observation, Requirement, build_figures, check_requirements
from lab.measure.question_sets import BOOK, EXAMPLE, OUT
from tests.servers.backend_servers import Postgres, Redis

LIMITS = ("address_rate_limit", "query_address_rate_limit", "query_session_rate_limit", "key_rate_limit")


@dataclass(frozen=True, slots=True)
class LoadTestOptions:
    """The options of a load test."""

    minutes: float = 10
    clients: int = 16
    workers: int = 2
    chaos: bool = False
    seed: int = 0
    book: Path = BOOK
    out: Path = OUT

    @property
    def name(self) -> str:
        return "chaos" if self.chaos else "load"


def run(options: LoadTestOptions, questions: Sequence[str], console: Console) -> Observation:
    """Starts everything, asks, and reads the query log."""
    with ExitStack() as resources:
        folder = Path(resources.enter_context(tempfile.TemporaryDirectory(prefix="bookbound-load-")))
        postgres, redis = _start_servers(resources, folder, console)
        settings = Settings(index=folder / "index", query_log_url=postgres.database())
        bootstrap.index_book(options.book, settings)
        environment = {
            "index": settings.index,
            "query_log_url": settings.query_log_url,
            **dict.fromkeys(LIMITS, UNLIMITED),
        }
        with ExitStack() as running:
            service = BookboundService(
                environment | ({"redis_url": redis.url} if redis else {}), options.workers, folder / "output"
            )
            running.callback(service.stop)
            clients = Clients(service.address, options.clients, questions)
            running.callback(clients.stop)
            chaos = Chaos(service, postgres, redis, options.seed) if options.chaos else None
            if chaos:
                running.callback(chaos.stop)
            memory = _sample_memory(options, service, clients, console)
        (options.out / f"{options.name}.log").write_text(service.output)
        killed = chaos.killed if chaos else Counter[str]()
        rows, lost = _read_query_log(settings)
        return Observation(clients.requests, rows, lost, memory, killed, service.exit_code)
    raise AssertionError("an exit stack suppresses no error here")


def _start_servers(resources: ExitStack, folder: Path, console: Console) -> tuple[Postgres, Redis | None]:
    # Not below the folder: the database server may run as another user who cannot read that.
    data = Path(tempfile.mkdtemp(prefix="bookbound-postgres-"))
    resources.callback(shutil.rmtree, data, ignore_errors=True)
    postgres = Postgres(data)
    resources.callback(postgres.crash)
    if not Redis.is_installed():
        console.print("redis-server is not installed: each worker counts rate limits alone")
        return postgres, None
    redis = Redis(folder)
    resources.callback(redis.crash)
    return postgres, redis


def _sample_memory(
    options: LoadTestOptions, service: BookboundService, clients: Clients, console: Console
) -> dict[str, list[float]]:
    """Shows progress and samples the memory of each process until the time is over."""
    memory: dict[str, list[float]] = {}
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[status]}"),
    )
    start = monotonic()
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task(options.name, total=options.minutes * 60, status="")
        while (passed := monotonic() - start) < options.minutes * 60:
            for name, megabytes in service.memory().items():
                memory.setdefault(name, []).append(megabytes)
            statuses = clients.statuses
            status = f"{statuses[200]} answered, {statuses.total() - statuses[200]} not"
            progress.update(bar, completed=passed, status=status)
            sleep(min(SAMPLE_SECONDS, options.minutes * 60 - passed))
    return memory


def _read_query_log(settings: Settings) -> tuple[Counter[str], int]:
    """The questions of the log and the number of reported losses."""
    from sqlalchemy import text

    with closing(web_app.open_query_log(settings)) as database, database.read() as connection:
        rows = connection.execute(text("SELECT query_text FROM queries")).scalars().all()
        lost = connection.execute(text("SELECT coalesce(sum(lost), 0) FROM query_losses")).scalar_one()
    return Counter(rows), int(lost)


def report(options: LoadTestOptions, observed: Observation, console: Console) -> bool:
    """Prints and stores the figures and requirements; returns whether every requirement holds."""
    figures, requirements = build_figures(observed), check_requirements(observed)
    table = Table(title=f"{options.clients} clients, {options.workers} workers, {options.minutes:g} minutes")
    for column in ("path", "questions", "statuses", "p50 ms", "p95 ms", "p99 ms"):
        table.add_column(column, justify="left" if column == "path" else "right")
    for path, each in figures["requests"].items():
        statuses = ", ".join(f"{status}: {count}" for status, count in each["statuses"].items())
        table.add_row(path, str(each["count"]), statuses, *(f"{each[name]:.0f}" for name in ("p50", "p95", "p99")))
    console.print(table)
    for each in requirements:
        line = f"{'holds ' if each.holds else 'MISSED'}  {each.name}: {each.figures}"
        console.print(line, markup=False, highlight=False)
    if observed.killed:
        console.print(f"killed: {dict(observed.killed)}")
    _store(options, figures, requirements)
    return all(each.holds for each in requirements)


def _store(options: LoadTestOptions, figures: dict[str, object], requirements: Sequence[Requirement]) -> None:
    machine = {"cores": os.cpu_count(), "load": os.getloadavg(), "at": datetime.now(UTC).isoformat()}
    chosen = {name: getattr(options, name) for name in ("minutes", "clients", "workers", "seed")}
    result = {"plan": chosen, "machine": machine, **figures, "bars": [asdict(each) for each in requirements]}
    (options.out / f"{options.name}.json").write_text(json.dumps(result, indent=1) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("minutes", 10.0), ("clients", 16), ("workers", 2), ("seed", 0)):
        parser.add_argument(f"--{name}", type=type(default), default=default)
    parser.add_argument("--chaos", action="store_true", help="kill PostgreSQL, Redis and workers during the test")
    options = LoadTestOptions(**vars(parser.parse_args()))
    console = Console(width=110)
    OUT.mkdir(exist_ok=True)
    observed = run(options, [item.question for item in question_set.load_question_set(EXAMPLE)], console)
    return 0 if report(options, observed, console) else 1


if __name__ == "__main__":
    raise SystemExit(main())
