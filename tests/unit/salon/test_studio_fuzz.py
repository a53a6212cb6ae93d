"""Whatever a page asks for is done or told: a studio under messages of every kind, with values of every size."""

import os

import numpy as np
import pytest
from salon_messages import SAMPLE
from test_studio import Page

from mane.salon.protocol import FROM_PAGE, ProtocolError, encode, read_from_page
from mane.salon.settings import CHOICES, SLIDERS

SHORT_RUN = 60
LONG_RUN = int(os.environ.get("MANE_STRESS_EXAMPLES", "1000"))
KINDS = [message for message in FROM_PAGE if message.name != "hello"]  # which the server keeps to itself
# Words that mean something somewhere, and some that do not; movies are a process each, and styles want a bust.
ACTIONS = ("play", "pause", "step", "reset", "record", "stop")
OTHERS = ("second", "pace", "speed", "server_strands", "as set", "scene", "usd", "picture", "..", "", SAMPLE["text"])
NUMBERS = (0.0, 1.0, -1.0, 0.5, 30.0, 700.0, 1e30, -1e30)


class Chance:
    """Draws messages of a page."""

    def __init__(self, seed, choices):
        self.rng, self.choices = np.random.default_rng(seed), choices
        entries = [entry for one in choices for entry in one.entries]
        self.words = [*(one.name for one in (*SLIDERS, *choices)), *entries, *ACTIONS, *OTHERS]

    def one_of(self, things):
        return things[self.rng.integers(len(things))]

    def value(self, field):
        if field.kind == "text":
            return self.one_of(ACTIONS if field.name == "action" else self.words)
        if field.kind == "u32":
            return int(self.one_of([0, 1, 2, 3, 7, 2**32 - 1]))
        if field.kind == "f32":
            return self.one_of(NUMBERS)
        size = self.one_of([0.0, 1e-3, 0.1, 1.0, 30.0])
        return np.clip(size * self.rng.normal(size=field.size), -100, 100)

    def fitting(self, name):
        """Values of a slider, a choice and a file that there are."""
        if name == "slide":
            slider = self.one_of(SLIDERS)
            return {"name": slider.name, "value": self.rng.uniform(slider.low, min(slider.high, 1500.0))}
        if name == "choose":
            choice = self.one_of(self.choices)
            return {"name": choice.name, "value": self.one_of(choice.entries)}
        if name == "save":
            return {"kind": self.one_of(["scene", "usd", "picture"]), "name": "x"}
        return {}

    def message(self, kind):
        """A message that the server lets through."""
        while True:
            values = {field.name: self.value(field) for field in kind.fields}
            if self.rng.random() < 0.7:
                values |= self.fitting(kind.name)
            try:
                return read_from_page(encode(kind.name, **values))
            except ProtocolError:
                continue


def check_studio(folder, count, chance):
    """Every message is done or told, and hair goes on whatever was done."""
    page = Page(folder, settings=["camera.size=[32, 24]"])
    for i in range(count):
        name, values = chance.message(KINDS[i % len(KINDS)])
        page.studio.apply(name, values)
        page.studio.step()
        assert np.isfinite(page.studio.frame.points).all(), (name, values)
        assert {"hair", "look", "frame", "state"} <= page.topics.keys(), (name, values)
    assert {path.parent for path in folder.rglob("*")} <= {folder}
    assert page.notices  # some things cannot be done


def test_messages_of_every_kind_are_done_or_told(tmp_path):
    check_studio(tmp_path, SHORT_RUN, Chance(1, [one for one in CHOICES if one.name == "look"]))


@pytest.mark.stress
@pytest.mark.parametrize("seed", [2, 3])
def test_very_many_messages_are_done_or_told(tmp_path, seed):
    check_studio(tmp_path, LONG_RUN, Chance(seed, [one for one in CHOICES if one.name != "style"]))
