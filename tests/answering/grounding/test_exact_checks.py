from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from bookbound.answering.grounding.exact_checks import count_added_quantifiers, count_differences
from bookbound.answering.grounding.quantities import find_quantities
from bookbound.answering.grounding.supporting_units import CitedEvidence
from bookbound.domain.chunk import Passage
from bookbound.domain.judgement import Evidence

Make = Callable[..., Passage]
Count = Callable[..., dict[str, float]]
EXACT = ("numbers", "names", "negates", "swaps")
"""What a paraphrase never has more or other of than its evidence."""

GEAR = "The harmonic drive in the knee has a ratio of 100:1 and almost no backlash. It weighs 0.85 kg."
BUS = "Each of the three joint boards answers within 2 ms. The bus runs at 1,000 Hz and carries at most 64 bytes."
CLI = "Pass `--dry-run` to `gait.plan()` to see the steps. The plan is not written to /var/log/gait.log then."
PEOPLE = "Marc Raibert founded the Leg Laboratory in 1980. Its first machine hopped on one leg."


@pytest.fixture
def count(passage: Make) -> Count:
    """Counts what a sentence has that a text below headings has not."""

    def make(sentence: str, text: str, *headings: str) -> dict[str, float]:
        evidence = Evidence.from_chunk(passage(text).chunk, 0, len(text), 0.9)
        placed = replace(evidence, place=replace(evidence.place, headings=headings))
        return count_differences(sentence, CitedEvidence(sentence, [placed]))

    return make


def find_differences(counted: dict[str, float]) -> set[str]:
    return {name for name in EXACT if counted[name]}


@pytest.mark.parametrize(
    ("sentence", "evidence"),
    [
        ("The knee's harmonic drive has hardly any backlash.", GEAR),
        ("Backlash is almost absent from the knee gear, which weighs 0.850 kilograms.", GEAR),
        ("It takes each joint board 2 milliseconds at most to answer.", BUS),
        ("The bus works at 1000 hertz.", BUS),
        ("To look at the steps, call gait.plan with --dry-run.", CLI),
        ("The Leg Laboratory was founded by Raibert.", PEOPLE),
        ("Raibert's laboratory dates from 1980.", PEOPLE),
        ("One machine of the laboratory could hop.", PEOPLE),
        ("Both arms are needed.", "The arms are needed, the two of them."),
        ("Two arms are needed.", "Both arms are needed."),
        ("The bus runs at one thousand hertz.", BUS),
        ("With --dry-run the plan is not written to the log.", CLI),
        ("A gait is a pattern of steps.", "Every gait is a pattern of steps."),
        ("It is not just a toy.", "It is a toy and a tool."),
        ("Configuration is unnecessary.", "Configuration is not necessary."),
        ("It uses café as its name.", "Its name is CAFE."),
        ("It has 25 legs.", "It has twenty-five legs."),
        ("It costs 3 million.", "It costs 3,000,000."),
        ("The gain ω is 90°.", "The gain ω is 90 degrees."),
        ("Start it with `walk run --gait slow trot`.", "Open a shell and type walk run --gait slow trot there."),
        ("It was built in Siberia.", "It is a Siberian robot."),
        ("Set every other GPIO as an input.", "All other GPIOs are inputs."),
        ("It has more GPIOs.", "It has one more GPIO."),
        ("It was built by a Siberian.", "Siberians built it."),
        ("Install Redis with two GPIOs.", "Install `redis` with the first and the second GPIO."),
        ("It has two arms.", "It has a pair of arms."),
        ("It has two speeds.", "The second speed is its last."),
        ("The foot must not slip.", "The foot may not slip."),
        ("The foot slips, so the robot steps.", "The robot steps, because the foot slips."),
        ("It brakes at 2 metres per second squared.", "It brakes at 2 m/s²."),
        ("One leg of the robot is stiff.", "Each leg of the robot is stiff."),
        ("The legs unfold, and then the robot stands.", "The legs unfold, and then the robot stands up."),
        ("It is wrong that the foot slips. The gait is new.", "The gait is new. It is wrong that the foot slips."),
    ],
)
def test_a_paraphrase_differs_in_nothing_that_can_be_counted(count: Count, sentence: str, evidence: str) -> None:
    assert find_differences(count(sentence, evidence)) == set()


@pytest.mark.parametrize(
    ("sentence", "evidence", "differs"),
    [
        ("The knee's harmonic drive has a ratio of 160:1.", GEAR, "numbers"),
        ("The knee gear weighs 0.58 kg.", GEAR, "numbers"),
        ("The knee gear weighs 0.85 grams.", GEAR, "numbers"),
        ("The bus runs at 100 Hz.", BUS, "numbers"),
        ("Each of the four joint boards answers within 2 ms.", BUS, "numbers"),
        ("Each board answers within 2 seconds.", BUS, "numbers"),
        ("The bus carries at most 64 bits.", BUS, "numbers"),
        ("Pass --dry to see the steps.", CLI.replace("--dry-run", "--quiet"), "names"),
        ("Call gait.run to see the steps.", CLI, "names"),
        ("The plan is written to /var/log/gait.log then.", CLI, "negates"),
        ("The plan goes to /var/log/steps.log.", CLI, "names"),
        ("The Leg Laboratory was founded by Hogan.", PEOPLE.replace("It", "it").replace("Hogan", ""), "names"),
        ("In 1980 the laboratory at Stanford was founded.", PEOPLE, "names"),
        ("Its first machine never hopped on one leg.", PEOPLE, "negates"),
        ("Configuration is necessary.", "Configuration is not necessary.", "negates"),
        ("The robot can't climb stairs.", "The robot can climb stairs.", "negates"),
        ("Only trots are stable.", "Trots are stable.", "negates"),
        ("It has 26 legs.", "It has twenty-five legs.", "numbers"),
        ("The time is on /sim_time.", "Set use_sim_time. The time is on /clock.", "names"),
        (
            "Start it with `walk run --gait fast trot`.",
            "Open a shell and type walk run --gait slow trot. Go fast.",
            "names",
        ),
        ("The robot walks [7].", "The robot walks.", "numbers"),
        ("Use FTP for it.", "Use FTPS for it.", "names"),
        ("Use HTTPS for it.", "Use HTTP for it.", "names"),
        ("Call `gait.step` for it.", "Call `gait.steps` for it.", "names"),
        ("Pass `--legs` to it.", "Pass `--leg` to it.", "names"),
        ("It waits 2 seconds.", "It waits 5 seconds.", "numbers"),
        ("It waits 2 s.", "It waits for a 5 second timeout.", "numbers"),
        ("It takes 2 steps.", "It takes 3 steps per second.", "numbers"),
        ("The joint turns to -30 degrees.", "The joint turns to 30 degrees.", "numbers"),
        ("It brakes at 2 m/s.", "It brakes at 2 m/s².", "numbers"),
    ],
)
def test_what_a_near_miss_changes_is_counted(count: Count, sentence: str, evidence: str, differs: str) -> None:
    assert differs in find_differences(count(sentence, evidence))


def test_terms_in_each_others_places_are_found(count: Count) -> None:
    book = "A full turn of the wave generator moves the cup by two teeth."
    assert count("A full turn of the cup moves the wave generator by 2 teeth.", book)["swaps"]
    assert count("The robot pulls and never pushes.", "The robot pushes and never pulls.")["swaps"]
    assert not count("The cup is moved by two teeth in a full turn of the wave generator.", book)["swaps"]
    assert not count("The wave generator moves the cup.", book)["swaps"]


@pytest.mark.parametrize(
    ("further", "share"),
    [("", 0), ("The legs are long.", 0), ("It has two of them.", 0), ("That is a lie.", 1 / 5), ("Buy apples.", 2 / 6)],
)
def test_the_share_of_terms_that_the_evidence_lacks_is_counted(count: Count, further: str, share: float) -> None:
    evidence = "The robot walks on two legs, and both are long."
    assert count(f"The robot walks on two legs. {further}", evidence)["new"] == pytest.approx(share)


def test_a_name_may_come_from_a_heading(count: Count) -> None:
    assert count("The speed of the Cassie robot is 4 m/s.", "It walks at 4 m/s.")["names"] == 1
    assert count("The speed of the Cassie robot is 4 m/s.", "It walks at 4 m/s.", "Robots", "Cassie")["names"] == 0


@pytest.mark.parametrize(
    ("sentence", "evidence", "unknown"),
    [
        ("It has zero wheels.", "It has no wheels.", 0),
        ("It runs at 1 V.", "It runs at 5 V.", 1),
        ("It waits one second.", "It waits four seconds.", 1),
        ("It has two gaits.", "It can walk and gallop.", 0),
        ("It has 2 gaits.", "It can walk and gallop.", 1),
        ("It has three gaits.", "It can walk, trot and gallop.", 1),
        ("It has three gaits.", "It has four gaits: walk, trot, pace and gallop.", 1),
        ("It has 3 gaits.", "It can walk, trot and gallop.", 1),
        ("It has seven gaits at 7 V.", "It can walk, trot and gallop.", 2),
        ("It walks for seven seconds.", "It walks for four seconds.", 1),
        ("It walks for two seconds.", "It walks for four seconds.", 1),
    ],
)
def test_of_new_numbers_only_a_spelled_one_up_to_two_does_not_count(
    count: Count, sentence: str, evidence: str, unknown: int
) -> None:
    assert count(sentence, evidence)["numbers"] == unknown


@pytest.mark.parametrize(
    ("sentence", "added"),
    [
        ("Every leg is always stiff.", 2),
        ("Most legs are stiff.", 1),
        ("All legs are stiff, and all feet.", 0),
        ("The legs are almost stiff.", 0),
    ],
)
def test_only_quantifiers_that_the_evidence_lacks_are_counted(sentence: str, added: int) -> None:
    assert count_added_quantifiers(sentence, "All legs and feet are stiff.") == added


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1,000 ms", [("1000", "ms")]),
        ("one thousand milliseconds", [("1000", "ms")]),
        ("twenty-five %", [("25", "%")]),
        ("2.50 and 2.5", [("2.5", ""), ("2.5", "")]),
        ("Python 3.11", [("3.11", "")]),
        ("90-degree", [("90", "°")]),
        ("two hundred", [("200", "")]),
        ("-0.5 m and minus 2", [("-0.5", "m"), ("-2", "")]),
        ("5-6 kg", [("5", ""), ("6", "kg")]),
        ("3 metres per second squared", [("3", "m/s2")]),
        ("$3$ m/s", [("3", "m/s")]),
        ("2 kg per leg", [("2", "kg")]),
        ("someone weighs a tonne", []),
        ("", []),
    ],
)
def test_numbers_are_compared_by_value(text: str, found: list[tuple[str, str]]) -> None:
    assert [(value, unit) for value, unit, _ in find_quantities(text)] == found
