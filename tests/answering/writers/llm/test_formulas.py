from __future__ import annotations

import pytest

from bookbound.answering.writers.llm.formulas import spell_formulas

BOOK = r"The torque \tau = F \times r is \frac{1}{2} of it. It costs $5 here."


@pytest.mark.parametrize(
    ("drafted", "shown"),
    [
        (r"It is \(\omega = 2 \pi f\).", "It is ω = 2 π f."),
        (r"It is $\omega$ or $$\Omega \leq 3$$.", "It is ω or Ω ≤ 3."),
        (r"It is \[ \frac{3}{4} \cdot x_{max} \].", "It is 3 / 4 · x_max."),
        (r"It turns by $90^\circ$ at $5\,\text{kg}$.", "It turns by 90° at 5 kg."),
        (r"It is \(\left( a \right)\) and $\unknown{x}$.", r"It is ( a ) and \unknown{x}."),
    ],
)
def test_a_formula_is_written_in_plain_signs(drafted: str, shown: str) -> None:
    assert spell_formulas(drafted, BOOK) == shown


@pytest.mark.parametrize(
    ("drafted", "shown"),
    [
        (r"It is \(\tau = F \times r\).", r"It is \tau = F \times r."),
        (r"It is $\tau$, so $\frac{1}{2}$ of $\alpha$.", r"It is \tau, so \frac{1}{2} of α."),
    ],
)
def test_the_book_s_own_formulas_stay(drafted: str, shown: str) -> None:
    assert spell_formulas(drafted, BOOK) == shown


@pytest.mark.parametrize(
    "text",
    [
        "It costs $5 and $6.",
        "Set $HOME/bin:$PATH first.",
        r"Open C:\temp\times and C:\new.",
        r"Write `$\alpha$` and `\(x\)`.",
        r"A regex has \d and \w.",
    ],
)
def test_prices_variables_paths_and_code_are_no_formulas(text: str) -> None:
    assert spell_formulas(text, BOOK) == text
