"""The parser that docutils runs for each list, quotation and body of a directive."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from docutils.parsers.rst import states


class Machine(states.NestedStateMachine):
    """Makes its states as it comes to them: most parts of a page need three of seventeen."""

    def add_states(self, state_classes: Iterable[Any]) -> None:
        self.states = _States(self, state_classes)


class _States(dict[str, Any]):
    """The states of one machine, by name."""

    def __init__(self, machine: Machine, classes: Iterable[Any]) -> None:
        super().__init__()
        self._machine = machine
        self._classes = {each.__name__: each for each in classes}

    def __missing__(self, name: str) -> Any:
        state = self[name] = self._classes[name](self._machine, self._machine.debug)
        if getattr(self._machine, "memo", None) is not None:
            state.runtime_init()
        return state
