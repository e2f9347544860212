"""`python -m evals.load`: readers by every face for minutes, against workers, PostgreSQL and Redis. Linux only."""

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
from uuid import UUID

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from bookbound import bootstrap
from bookbound.bootstrap import web_app
from bookbound.evaluation import question_set
from bookbound.server.query_log import log_folder
from bookbound.settings import Settings
from evals.load.chaos import Chaos
from evals.load.clients import Clients
from evals.load.service import UNLIMITED, Service
from evals.load.services import Postgres, Redis
from evals.load.verdict import EVERY, Bar, Observed, bars, figures
from evals.sets import BOOK, EXAMPLE, OUT

LIMITS = ("question_limit", "address_limit", "session_limit", "key_limit")


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do, and for how long."""

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


def run(plan: Plan, asked: Sequence[str], console: Console) -> Observed:
    """Start everything, ask, and see what is left of it."""
    with ExitStack() as held:
        folder = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="bookbound-load-")))
        postgres, redis = _services(held, folder, console)
        chosen = Settings(index=folder / "index", log_url=postgres.database())
        bootstrap.index_book(plan.book, chosen)
        given = {"index": chosen.index, "log_url": chosen.log_url, **dict.fromkeys(LIMITS, UNLIMITED)}
        with ExitStack() as busy:
            service = Service(given | ({"redis_url": redis.url} if redis else {}), plan.workers, folder / "said")
            busy.callback(service.stop)
            clients = Clients(service.address, plan.clients, asked)
            busy.callback(clients.stop)
            chaos = Chaos(service, log_folder(chosen.index), postgres, redis, plan.seed) if plan.chaos else None
            if chaos:
                busy.callback(chaos.stop)
            memory = _watch(plan, service, clients, console)
        (plan.out / f"{plan.name}.log").write_text(service.said)
        web_app.check_query_log(chosen)  # what the last who was killed left is counted as the next one starts
        return _observed(chosen, clients, chaos, memory, service.exit_code)
    raise AssertionError("what is held is let go of in silence")


def _services(held: ExitStack, folder: Path, console: Console) -> tuple[Postgres, Redis | None]:
    # Not below the folder: the server of the database may run as another user, who must be let in.
    data = Path(tempfile.mkdtemp(prefix="bookbound-postgres-"))
    held.callback(shutil.rmtree, data, ignore_errors=True)
    postgres = Postgres(data)
    held.callback(postgres.crash)
    if not Redis.installed():
        console.print("redis-server is not installed: limits are counted in each worker by itself")
        return postgres, None
    redis = Redis(folder)
    held.callback(redis.crash)
    return postgres, redis


def _watch(plan: Plan, service: Service, clients: Clients, console: Console) -> dict[str, list[float]]:
    """Show how it goes, and note the memory of each process, until the time is over."""
    memory: dict[str, list[float]] = {}
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn(), TextColumn("{task.fields[said]}"))
    start = monotonic()
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task(plan.name, total=plan.minutes * 60, said="")
        while (passed := monotonic() - start) < plan.minutes * 60:
            for name, held in service.memory().items():
                memory.setdefault(name, []).append(held)
            statuses = clients.statuses
            said = f"{statuses[200]} answered, {statuses.total() - statuses[200]} not"
            progress.update(bar, completed=passed, said=said)
            sleep(min(EVERY, plan.minutes * 60 - passed))
    return memory


def _observed(
    chosen: Settings, clients: Clients, chaos: Chaos | None, memory: dict[str, list[float]], code: int
) -> Observed:
    from sqlalchemy import text

    with closing(web_app.log(chosen)) as database, database.read() as connection:
        rows = connection.execute(text("SELECT query_id, query_text FROM queries")).all()
        lost = connection.execute(text("SELECT coalesce(sum(lost), 0) FROM query_losses")).scalar_one()
    ids = {UUID(str(row[0])) for row in rows}
    left = chaos.left if chaos else []
    owed = sum(each.loss.lost + len(each.entries - ids) for each in left)
    killed = chaos.killed if chaos else Counter[str]()
    return Observed(clients.requests, Counter(row[1] for row in rows), int(lost), memory, killed, owed, code)


def tell(plan: Plan, seen: Observed, console: Console) -> bool:
    """Show the figures and the bars, keep them as JSON, and say whether every bar holds."""
    told, held = figures(seen), bars(seen)
    table = Table(title=f"{plan.clients} clients, {plan.workers} workers, {plan.minutes:g} minutes")
    for column in ("asked by", "questions", "statuses", "p50 ms", "p95 ms", "p99 ms"):
        table.add_column(column, justify="left" if column == "asked by" else "right")
    for way, each in told["requests"].items():
        statuses = ", ".join(f"{status}: {count}" for status, count in each["statuses"].items())
        table.add_row(way, str(each["count"]), statuses, *(f"{each[name]:.0f}" for name in ("p50", "p95", "p99")))
    console.print(table)
    for bar in held:
        console.print(
            f"{'holds ' if bar.holds else 'MISSED'}  {bar.name}: {bar.figures}", markup=False, highlight=False
        )
    if seen.killed:
        console.print(f"killed: {dict(seen.killed)}")
    _keep(plan, told, held)
    return all(bar.holds for bar in held)


def _keep(plan: Plan, told: dict[str, object], held: Sequence[Bar]) -> None:
    machine = {"cores": os.cpu_count(), "load": os.getloadavg(), "at": datetime.now(UTC).isoformat()}
    chosen = {"minutes": plan.minutes, "clients": plan.clients, "workers": plan.workers, "seed": plan.seed}
    kept = {"plan": chosen, "machine": machine, **told, "bars": [asdict(bar) for bar in held]}
    (plan.out / f"{plan.name}.json").write_text(json.dumps(kept, indent=1) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("minutes", 10.0), ("clients", 16), ("workers", 2), ("seed", 0)):
        parser.add_argument(f"--{name}", type=type(default), default=default)
    parser.add_argument("--chaos", action="store_true", help="kill PostgreSQL, Redis and workers meanwhile")
    plan = Plan(**vars(parser.parse_args()))
    console = Console(width=110)
    OUT.mkdir(exist_ok=True)
    seen = run(plan, [item.question for item in question_set.load_question_set(EXAMPLE)], console)
    return 0 if tell(plan, seen, console) else 1


if __name__ == "__main__":
    raise SystemExit(main())
