"""`python -m lab.compare.judged_answers`: counts what two readers say about the answers of all systems.

It reads `answers.jsonl`, `systems.json` and `run.json` of `lab.compare.written_answers`, and the verdicts of the
readers in `judge-1.jsonl` and `judge-2.jsonl` of the same folder; `JUDGING.md` tells the readers how to judge. If they
differ, each verdict counts half. Figures go to `written.json`; `python -m lab.compare.results_page` makes the table.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lab.compare.written_answers import FOLDER, LANGCHAIN, LLAMA_INDEX, MODEL, QUOTES, WRITTEN

RESULTS = Path(__file__).resolve().parent / "written.json"
JUDGE_FILES = ("judge-1.jsonl", "judge-2.jsonl")
JUDGES = "two language models"
ORDER = (QUOTES, WRITTEN, LANGCHAIN, LLAMA_INDEX)
REFUSED, MADE_UP = "refused", "made_up"
ANSWERABLE_VERDICTS = ("right", "partly", "wrong", MADE_UP, REFUSED)
UNANSWERABLE_VERDICTS = (REFUSED, MADE_UP)
Row = dict[str, Any]


class JudgedAnswer(NamedTuple):
    """The answer of one system to one question, with the verdict of each reader."""

    book: str
    question: str
    answerable: bool
    system: str
    verdicts: tuple[str, ...]


def load_rows(file: Path) -> list[Row]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]


def find_problems(answers: Sequence[Row], judged: Sequence[Row]) -> list[str]:
    """Why the verdicts of one reader cannot be counted; an empty list if they can."""
    known = {row["id"]: row for row in answers}
    counts = Counter(row["id"] for row in judged)
    problems = [f"{name} has no verdict" for name in known if name not in counts]
    problems += [f"{name} has {count} verdicts" for name, count in counts.items() if count > 1]
    for row in judged:
        if row["id"] not in known:
            problems.append(f"{row['id']} is not an answer")
            continue
        is_answerable = known[row["id"]]["answerable"]
        allowed = ANSWERABLE_VERDICTS if is_answerable else UNANSWERABLE_VERDICTS
        if row["verdict"] not in allowed:
            kind = "answerable" if is_answerable else "unanswerable"
            problems.append(f"{row['id']} has the verdict “{row['verdict']}”; if {kind}, use {', '.join(allowed)}")
    return problems


def join_verdicts(
    answers: Sequence[Row], systems: Mapping[str, Row], readers: Sequence[Sequence[Row]]
) -> list[JudgedAnswer]:
    """The answers in the order of their questions, with the systems that wrote them and the verdicts."""
    verdicts = [{row["id"]: row["verdict"] for row in rows} for rows in readers]
    judged = [
        JudgedAnswer(
            row["book"],
            systems[row["id"]]["question"],
            row["answerable"],
            systems[row["id"]]["system"],
            tuple(each[row["id"]] for each in verdicts),
        )
        for row in answers
    ]
    return sorted(judged, key=lambda each: (each.question, ORDER.index(each.system)))


def measure_agreement(judged: Sequence[JudgedAnswer]) -> Row:
    """How often two readers give the same verdict, and Cohen's kappa, which is None if they only give one."""
    count = len(judged)
    first, second = (Counter(each.verdicts[reader] for each in judged) for reader in (0, 1))
    agreed = sum(one == other for one, other in (each.verdicts for each in judged)) / count
    by_chance = sum(first[verdict] * second[verdict] for verdict in first) / count**2
    kappa = None if by_chance == 1 else (agreed - by_chance) / (1 - by_chance)
    return {"answers": count, "share": agreed, "kappa": kappa}


def count_verdicts(judged: Sequence[JudgedAnswer], allowed: Sequence[str]) -> Row:
    """How many answers have each verdict; one on which the readers differ counts half for each of its two."""
    counts = Counter(verdict for each in judged for verdict in each.verdicts)
    return {"questions": len(judged), **{verdict: counts[verdict] / len(JUDGE_FILES) for verdict in allowed}}


def summarize_systems(judged: Sequence[JudgedAnswer]) -> Row:
    """The verdicts on each system, of answerable and of unanswerable questions."""
    figures: Row = {}
    for name in ORDER:
        own = [each for each in judged if each.system == name]
        figures[name] = {
            "answerable": count_verdicts([each for each in own if each.answerable], ANSWERABLE_VERDICTS),
            "unanswerable": count_verdicts([each for each in own if not each.answerable], UNANSWERABLE_VERDICTS),
        }
    return figures


def describe_books(judged: Sequence[JudgedAnswer]) -> Row:
    """How many questions each book has, and how many of them it answers."""
    questions = {each.question: each for each in judged}.values()
    counts = Counter(each.book for each in questions)
    answerable = Counter(each.book for each in questions if each.answerable)
    return {book: {"questions": counts[book], "answerable": answerable[book]} for book in sorted(counts)}


def summarize_judgements(folder: Path, judges: str = JUDGES) -> Row:
    """The figures of all answers in a folder; a verdict that is missing or not allowed ends the program."""
    answers, readers = load_rows(folder / "answers.jsonl"), [load_rows(folder / name) for name in JUDGE_FILES]
    problems = [
        f"{name}: {problem}"
        for name, rows in zip(JUDGE_FILES, readers, strict=True)
        for problem in find_problems(answers, rows)
    ]
    if problems:
        raise SystemExit("\n".join([*problems, "Nothing is counted: correct these rows and run it again."]))
    judged = join_verdicts(answers, json.loads((folder / "systems.json").read_text(encoding="utf-8")), readers)
    verdicts: dict[str, Row] = {}
    for each in judged:
        verdicts.setdefault(each.question, {})[each.system] = each.verdicts
    return {
        "machine": json.loads((folder / "run.json").read_text(encoding="utf-8")),
        "model": MODEL,
        "judges": judges,
        "books": describe_books(judged),
        "systems": summarize_systems(judged),
        "agreement": measure_agreement(judged),
        "verdicts": verdicts,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="the folder with the answers and the verdicts")
    parser.add_argument("--judges", default=JUDGES, help=f"who the readers are, for the page; default: {JUDGES}")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    figures = summarize_judgements(options.folder, options.judges)
    options.out.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    print(f"{options.out} has the verdicts on {figures['agreement']['answers']} answers.")


if __name__ == "__main__":
    main()
