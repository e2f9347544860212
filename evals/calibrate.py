"""`python -m evals.calibrate`: choose the operating point on the question sets, and keep it with its curve.

Every question for which a passage counts as relevant is answered; then each threshold is tried on what came out. The
point is chosen on all the sets together; `held_out` says what each book gets at the point chosen on the others. The
indexes are those of the last `python -m evals`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean

from rich.console import Console
from rich.progress import Progress

from bookbound import wire
from bookbound.judge.terms import MODEL
from bookbound.settings import Settings
from evals.__main__ import OUT, sets
from evals.measure import Outcome, put
from evals.questions import Sources, load

GRID = [round(i / 50, 2) for i in range(51)]
FOREIGN = ("off_topic", "injection")
COVERAGE = 0.75
Row = dict[str, float | None]


async def collect(name: str, questions: Path, source: Path, progress: Progress) -> list[Outcome]:
    """What becomes of each question when only those without a relevant passage are refused."""
    pipeline = await wire.pipeline(Settings(index=OUT / name))
    items = load(questions)
    bar = progress.add_task(name, total=len(items))
    daring = replace(pipeline, point=replace(pipeline.point, answered=0.0))
    return await put(daring, items, Sources(source), lambda: progress.advance(bar))


def at(threshold: float, outcomes: Sequence[Outcome]) -> Row:
    """Coverage, precision and refusals when only questions from this probability on are answered."""
    given = [o for o in outcomes if o.answered and o.reply.judgement.probability >= threshold]
    answerable = [o for o in outcomes if o.item.answerable]
    foreign = [o for o in outcomes if o.item.kind in FOREIGN]
    other = [o for o in outcomes if not o.item.answerable and o.item.kind not in FOREIGN]
    return {
        "answered": threshold,
        "coverage": _share([o in given for o in answerable]),
        "precision": _share([o.correct for o in given]),
        "foreign_refused": _share([o not in given for o in foreign]),
        "near_refused": _share([o not in given for o in other]),
    }


def _share(values: Sequence[bool]) -> float | None:
    return round(mean(values), 4) if values else None


def choose(outcomes: Sequence[Outcome]) -> float:
    """The strictest threshold that still answers three of four answerable questions.

    What is foreign to the book is refused there; near misses are not told from hits at any threshold.
    """
    return max(t for t in GRID if (at(t, outcomes)["coverage"] or 0) >= COVERAGE or t == GRID[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=MODEL)
    options = parser.parse_args()
    with Progress(console=Console(stderr=True)) as progress:
        found = {name: asyncio.run(collect(name, *files, progress)) for name, files in sets().items()}
    everything = [outcome for outcomes in found.values() for outcome in outcomes]
    held_out = {}
    for name, outcomes in found.items():
        others = [outcome for other, rows in found.items() if other != name for outcome in rows]
        held_out[name] = at(choose(others or outcomes), outcomes)
    kept = json.loads(options.out.read_text())
    kept["point"]["answered"] = choose(everything)
    kept["held_out"] = held_out
    kept["curve"] = [at(threshold, everything) for threshold in GRID]
    options.out.write_text(json.dumps(kept, indent=1) + "\n")
    for name, row in held_out.items():
        print(f"{name:20}", row)
    print("operating point", kept["point"])


if __name__ == "__main__":
    main()
