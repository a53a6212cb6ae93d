"""Characters made in code in scene files: `[body] motion`, its options, refusals, and what `mane new` writes."""

import numpy as np
import pytest

from mane.scene.bodies import make_body
from mane.scene.scene_file import SceneError, parse_scene
from mane.scene.starter import starter_text

NO_ROOTS = np.zeros((0, 3), np.float32)


def body_of(text):
    return make_body(parse_scene(text), NO_ROOTS).solid


def test_a_motion_moves_the_body_of_a_style():
    text = '[groom]\nstyle = "fox"\n[frames]\nend = 12\n[body]\nmotion = "walk"\n'
    slow, quick = body_of(text + "speed = 0.3\n"), body_of(text + "speed = 0.9\n")
    assert slow.animation.times[-1] >= 11 / 24
    way = [np.ptp(one.animation.points(0.4)[:, 2] - one.animation.points(0.0)[:, 2]) for one in (slow, quick)]
    ahead = [(one.animation.points(0.4) - one.animation.points(0.0))[:, 2].mean() for one in (slow, quick)]
    assert ahead == pytest.approx([0.12, 0.36], rel=0.1)
    assert min(way) > 0.02  # legs swing


def test_a_bust_turns_its_head():
    body = body_of('[groom]\nstyle = "bob"\n[body]\nmotion = "nod"\n')
    moved = np.linalg.norm(body.animation.points(0.5) - body.mesh.points, axis=1)
    assert moved.max() > 0.01
    assert moved.min() < 1e-3  # the chest stays


def test_a_bust_nods_as_often_as_it_is_told():
    text = '[groom]\nstyle = "bob"\n[body]\nmotion = "nod"\n'
    slow, quick = body_of(text + "frequency = 0.5\n"), body_of(text + "frequency = 1.0\n")
    assert np.abs(slow.animation.points(0.5) - quick.animation.points(0.5)).max() > 0.01


def test_a_bust_has_the_presets_of_a_head_with_amplitude_rate_and_seed():
    text = '[groom]\nstyle = "bob"\n[body]\nmesh = "bust"\nmotion = "walk"\n'
    scene = parse_scene(text + "rate = 1.2\nseed = 4\n")
    assert scene.body.settings == {"rate": 1.2, "seed": 4}
    slow, quick = body_of(text + "rate = 1.2\n"), body_of(text + "rate = 2.4\n")
    ahead = [(one.animation.points(1.5) - one.animation.points(0.0))[:, 2].mean() for one in (slow, quick)]
    assert ahead[1] == pytest.approx(2.0 * ahead[0], rel=0.02)  # as many steps of the same length per second
    assert ahead[0] == pytest.approx(1.2 * 0.75 * (1.5 - 0.5 * 0.5), rel=0.02)


def test_the_creature_can_carry_any_groom():
    assert body_of('[groom]\nstyle = "bob"\n[body]\nmesh = "creature"\nmotion = "breathe"\n').mesh.face_count > 10_000


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('motion = "wlk"', r"\[body\] motion: 'wlk' is unknown; choose from breathe, shake, violent, walk"),
        ('motion = "walk"\nsped = 1.0', r"\[body\] has no key 'sped'; .*did you mean 'speed'"),
        ('motion = "walk"\nspeed = 9.0', r":5: \[body\] speed: must be from 0.1 to 1.2, got 9.0"),
        ('motion = "shake"\nstrength = 9.0', r":5: \[body\] strength: must be from 0 to 1.3, got 9.0"),
        (
            'mesh = "bust"\nmotion = "nod"\nrate = 2.0',
            r":6: \[body\] rate: is for a mesh from a file, and no option of",
        ),
        ('mesh = "bust"\nrate = 2.0', r":5: \[body\] rate: is for a mesh from a file"),
        ('mesh = "a.usd"\nmotion = "walk"', r"motion: is for a body made in code"),
        ('mesh = "none"\nmotion = "walk"', r"motion: needs a body with joints; set mesh to 'bust' or 'creature'"),
    ],
)
def test_what_cannot_move_is_refused_in_one_line(body, message):
    with pytest.raises(SceneError, match=message):
        parse_scene(f'[groom]\nstyle = "fox"\n[body]\n{body}\n')


def test_a_scene_of_the_name_creature_is_one_that_walks():
    scene = parse_scene(starter_text("creature"))
    assert (scene.groom.style, scene.body.motion, scene.head.motion) == ("fox", "walk", "still")
    assert parse_scene(starter_text("curls")).groom.style == "curly"
