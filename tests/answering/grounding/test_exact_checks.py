from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from bookbound.answering.grounding.exact_checks import count_added_quantifiers, passes_exact_checks
from bookbound.answering.grounding.quantities import find_quantities
from bookbound.answering.grounding.supporting_units import CitedEvidence
from bookbound.domain.chunk import Passage
from bookbound.domain.judgement import Evidence

Make = Callable[..., Passage]
Check = Callable[..., bool]

GEAR = "The harmonic drive in the knee has a ratio of 100:1 and almost no backlash. It weighs 0.85 kg."
BUS = "Each of the three joint boards answers within 2 ms. The bus runs at 1,000 Hz and carries at most 64 bytes."
CLI = "Pass `--dry-run` to `gait.plan()` to see the steps. The plan is not written to /var/log/gait.log then."
PEOPLE = "Marc Raibert founded the Leg Laboratory in 1980. Its first machine hopped on one leg."


@pytest.fixture
def check(passage: Make) -> Check:
    """Checks a sentence against a text below headings."""

    def make(sentence: str, text: str, *headings: str) -> bool:
        evidence = Evidence.from_chunk(passage(text).chunk, 0, len(text), 0.9)
        placed = replace(evidence, place=replace(evidence.place, headings=headings))
        return passes_exact_checks(sentence, CitedEvidence(sentence, [placed]))

    return make


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
def test_a_paraphrase_without_exact_changes_passes(check: Check, sentence: str, evidence: str) -> None:
    assert check(sentence, evidence)


@pytest.mark.parametrize(
    ("sentence", "evidence"),
    [
        ("The knee's harmonic drive has a ratio of 160:1.", GEAR),
        ("The knee gear weighs 0.58 kg.", GEAR),
        ("The knee gear weighs 0.85 grams.", GEAR),
        ("The bus runs at 100 Hz.", BUS),
        ("Each of the four joint boards answers within 2 ms.", BUS),
        ("Each board answers within 2 seconds.", BUS),
        ("The bus carries at most 64 bits.", BUS),
        ("Pass --dry to see the steps.", CLI.replace("--dry-run", "--quiet")),
        ("Call gait.run to see the steps.", CLI),
        ("The plan is written to /var/log/gait.log then.", CLI),
        ("The plan goes to /var/log/steps.log.", CLI),
        ("The Leg Laboratory was founded by Hogan.", PEOPLE.replace("It", "it").replace("Hogan", "")),
        ("In 1980 the laboratory at Stanford was founded.", PEOPLE),
        ("Its first machine never hopped on one leg.", PEOPLE),
        ("Configuration is necessary.", "Configuration is not necessary."),
        ("The robot can't climb stairs.", "The robot can climb stairs."),
        ("Only trots are stable.", "Trots are stable."),
        ("It has 26 legs.", "It has twenty-five legs."),
        ("The time is on /sim_time.", "Set use_sim_time. The time is on /clock."),
        ("Start it with `walk run --gait fast trot`.", "Open a shell and type walk run --gait slow trot. Go fast."),
        ("The robot walks [7].", "The robot walks."),
        ("The robot walks on legs [2].", "The robot walks on 2 legs."),
        ("The robot is n\u043et stiff.", "The robot is stiff."),
        ("The robot is stiff. ❌", "The robot is stiff."),
        ("The foot must touch the wall.", "The foot must not touch the wall. It must hold the robot."),
        ("Use FTP for it.", "Use FTPS for it."),
        ("Use HTTPS for it.", "Use HTTP for it."),
        ("Call `gait.step` for it.", "Call `gait.steps` for it."),
        ("Pass `--legs` to it.", "Pass `--leg` to it."),
        ("It waits 2 seconds.", "It waits 5 seconds."),
        ("It waits 2 s.", "It waits for a 5 second timeout."),
        ("It takes 2 steps.", "It takes 3 steps per second."),
        ("The joint turns to -30 degrees.", "The joint turns to 30 degrees."),
        ("It brakes at 2 m/s.", "It brakes at 2 m/s²."),
    ],
)
def test_a_near_miss_fails(check: Check, sentence: str, evidence: str) -> None:
    assert not check(sentence, evidence)


def test_terms_in_each_others_places_fail(check: Check) -> None:
    book = "A full turn of the wave generator moves the cup by two teeth."
    assert not check("A full turn of the cup moves the wave generator by 2 teeth.", book)
    assert not check("The robot pulls and never pushes.", "The robot pushes and never pulls.")
    assert check("The cup is moved by two teeth in a full turn of the wave generator.", book)
    assert check("The wave generator moves the cup.", book)


@pytest.mark.parametrize(
    ("further", "passes"),
    [("That is a lie.", False), ("Buy apples.", False), ("It has two of them.", True), ("The legs are long.", True)],
)
def test_a_further_sentence_must_have_a_term_of_the_evidence(check: Check, further: str, passes: bool) -> None:
    evidence = "The robot walks on two legs, and both are long."
    assert check(f"The robot walks on two legs. {further}", evidence) == passes


def test_a_name_may_come_from_a_heading(check: Check) -> None:
    assert not check("The speed of the Cassie robot is 4 m/s.", "It walks at 4 m/s.")
    assert check("The speed of the Cassie robot is 4 m/s.", "It walks at 4 m/s.", "Robots", "Cassie")


def test_of_new_numbers_only_a_spelled_one_up_to_two_passes(check: Check) -> None:
    assert check("It has zero wheels.", "It has no wheels.")
    assert not check("It runs at 1 V.", "It runs at 5 V.")
    assert not check("It waits one second.", "It waits four seconds.")
    assert check("It has two gaits.", "It can walk and gallop.")
    assert not check("It has 2 gaits.", "It can walk and gallop.")
    assert not check("It has three gaits.", "It can walk, trot and gallop.")
    assert not check("It has three gaits.", "It has four gaits: walk, trot, pace and gallop.")
    assert not check("It has 3 gaits.", "It can walk, trot and gallop.")
    assert not check("It has seven gaits at 7 V.", "It can walk, trot and gallop.")
    assert not check("It walks for seven seconds.", "It walks for four seconds.")
    assert not check("It walks for two seconds.", "It walks for four seconds.")


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
