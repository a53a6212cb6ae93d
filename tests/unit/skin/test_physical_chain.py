"""Hairs whose segments feel each other both ways: sweeps towards the balance of the chain, and that balance itself."""

from dataclasses import replace

import numpy as np
import pytest
from plain_physical import given_to
from skin_frames import SOMEWHERE, curls, frame_of, guides_of, other_guides

from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.skin.physical import _reference as reference
from mane.skin.physical.skin import PhysicalSkin
from mane.strand.cosserat.solver import CosseratSolver
from mane.strand.material import Material
from mane.strand.ports import Load
from mane.strand.roots import RootPose
from mane.strand.state import StrandState

# The skin has one stiffness for bending and twisting, which are the same without Poisson's ratio.
HAIR = Material(poisson=0.0)


def settled(guides: Guides, seconds: float = 60.0) -> StrandState:
    """Guides that have come to rest under their weight; the solver of guides knows nothing of skins."""
    model = HAIR.model(guides)
    solver = CosseratSolver(model, sag_free=False)
    roots = RootPose.checked(model.rest_points[:, 0], np.tile([0.0, 0, 0, 1], (guides.capacity, 1)), guides.capacity)
    state, load = solver.rest_state(roots), Load.empty(guides.capacity, guides.vertex_count)
    for _ in range(round(10 * seconds)):
        solver.step(state, state, roots, load, dt=0.1)
    assert np.abs(state.velocity).max() < 1e-6
    return state


def frame_at(guides: Guides, state: StrandState):
    return replace(frame_of(guides, points=state.points), cut_force=state.cut_force.astype(np.float32))


def cantilevers(loads: np.ndarray, vertices: int = 26) -> Groom:
    """Straight hairs that stand out sideways, by their load G = (weight per length) L^3 / E I."""
    one = HAIR.model(np.linspace(0, 1, 3)[None, :, None] * np.array([1.0, 0, 0]))
    length = np.cbrt(loads * one.bend_stiffness[0, 0] / (one.mass.sum() * 9.81))
    points = np.zeros((len(loads), vertices, 3), np.float32)
    points[:, :, 0] = length[:, None] * np.linspace(0, 1, vertices)
    points[:, :, 2] = 0.02 * np.arange(len(loads))[:, None]
    return Groom.from_uniform(points)


LOADS = np.array([0.1, 1.0, 10.0, 100.0, 300.0])


@pytest.fixture(scope="module")
def sagged():
    groom = cantilevers(LOADS)
    guides = Guides.from_groom(groom)
    return groom, guides, settled(guides)


def off_by(groom, guides, state, **settings):
    """How far hairs are from the guides whose shape they have, as a share of their length."""
    skin = PhysicalSkin(groom, guides, binding="single", material=HAIR, sag_free=False, **settings)
    found = skin(frame_at(guides, state))
    return np.linalg.norm(found - state.points, axis=2).max(axis=1) / groom.lengths


def test_a_hair_of_its_guides_shape_sags_as_the_guide_does(sagged):
    # Both are balanced to 1e-9 of a joint's stiffness; what is left is the float32 of the frame.
    assert off_by(*sagged, sweeps="converged", alpha=0.0).max() < 1e-5


def test_a_curl_of_its_guides_shape_unwinds_as_the_guide_does():
    standing = curls(6, 20, seed=3, length=0.15)
    groom = standing.with_points(standing.points * np.float32([1, -1, 1]))  # hanging, so that it settles soon
    guides = Guides.from_groom(groom)
    assert off_by(groom, guides, settled(guides), sweeps="converged", alpha=0.0).max() < 1e-4


def test_one_sweep_does_not_feel_what_lies_beyond_and_drift_correction_hides_it(sagged):
    """hsu2024's own method on its worst case; the numbers are in `mane validate physical`."""
    alone = off_by(*sagged, alpha=0.0, load="force")
    corrected = off_by(*sagged, alpha=0.1, drift=10.0, load="force")
    middle = (LOADS >= 1) & (LOADS <= 100)
    assert (alone[middle] > 0.1).all()
    assert (corrected[middle] < alone[middle]).all()


def test_one_sweep_sags_as_the_guide_does_where_the_guide_hands_on_its_moments(sagged):
    """A frame is float32: 26 tangents off by 6e-8 L / (L / 25) each, over the length of the hair."""
    assert off_by(*sagged).max() < 1e-5
    assert off_by(*sagged, alpha=0.0).max() < 1e-5


def test_more_sweeps_come_closer_to_the_balance(sagged):
    off = np.array([off_by(*sagged, sweeps=n, alpha=0.0, load="force")[3:].max() for n in (1, 10, 100, 1000)])
    assert (np.diff(off) < 0).all()
    assert off[-1] < 0.01


def pulled(guides, pose=None):
    weight = HAIR.model(guides).mass.sum(axis=1) * 9.81
    force = np.random.default_rng(3).normal(0, 0.3, (guides.capacity, guides.vertex_count - 1, 3))
    frame = frame_of(guides, pose)
    return replace(frame, cut_force=(force * weight[:, None, None]).astype(np.float32))


@pytest.mark.parametrize(
    "settings",
    [
        {"sweeps": 2},
        {"sweeps": 5, "stretch": "paper", "drift": 10.0},
        {"sweeps": 3, "alpha": 0.0},
        {"sweeps": 3, "drift_from": "unloaded", "drift": 1.0},
    ],
)
def test_sweeps_are_those_of_the_reference(settings):
    groom, guides = curls(40, 12), other_guides(8, 12)
    hair = replace(HAIR, stiffness=2.0)
    skin = PhysicalSkin(groom, guides, material=hair, **settings)
    assert skin.stiffened_count == 0
    frame = pulled(guides, SOMEWHERE)
    expected = given_to(groom, guides, frame, material=hair, **settings).swept(settings["sweeps"])
    # Both compute in double precision; the points are rounded to float32 at some 2 m.
    np.testing.assert_allclose(skin(frame), expected, atol=3e-7)


@pytest.mark.parametrize(
    ("settings", "stiffness"), [({"alpha": 0.0}, 16.0), ({}, 2.0), ({"stretch": "paper"}, 4.0), ({"drift": 30.0}, 2.0)]
)
def test_the_chain_is_balanced_where_sweeps_would_end(settings, stiffness):
    """Newton's method on the whole chain against sweeps of the reference that hardly change anything any more.

    What sweeps leave, if each changes a hair by the same factor less than the one before, is the sum of a geometric
    series; beside it there is the float32 of the points. Some hairs that are drawn to their targets, sweeps do not
    bring to rest in that time, and say nothing.
    """
    groom, guides = curls(12, 6), other_guides(4, 6)
    settings = settings | {"sweeps": "converged", "material": replace(HAIR, stiffness=stiffness)}
    skin = PhysicalSkin(groom, guides, **settings)
    assert skin.stiffened_count == 0
    frame = pulled(guides)
    plain = given_to(groom, guides, frame, **settings)
    given = plain.hairs, plain.guidance, plain.rules
    points, frames = reference.sweeps(*given, 300)
    change = []
    for _ in range(21):
        before, (points, frames) = points, reference.sweep(*given, frames)
        change.append(np.abs(points - before).max(axis=(1, 2)))
    factor = (np.maximum(change[-1], 1e-15) / np.maximum(change[0], 1e-15)) ** (1 / 20)
    left = change[-1] / np.maximum(1 - factor, 1e-3)
    is_resting = left < 1e-5
    assert is_resting.sum() >= 8
    assert (np.abs(skin(frame) - points).max(axis=(1, 2)) < left + 3e-7)[is_resting].all()


def test_a_warm_start_carries_on_from_the_frame_before():
    groom = curls(30, 10)
    guides = guides_of(groom, 6)
    frame = pulled(guides, SOMEWHERE)
    warm = PhysicalSkin(groom, guides, material=HAIR, sweeps=2, warm_start="previous")
    once = [warm(frame).copy() for _ in range(3)]
    for calls, sweeps in ((1, 2), (2, 4), (3, 6)):
        cold = PhysicalSkin(groom, guides, material=HAIR, sweeps=sweeps)
        np.testing.assert_allclose(once[calls - 1], cold(frame), atol=3e-7)


def test_a_toppling_groom_is_stiffened_until_it_stands():
    """Upright hairs of 15 cm buckle under their weight; the chain solve needs help to hold them, and says so."""
    points = np.zeros((3, 16, 3), np.float32)
    points[:, :, 1] = np.linspace(0, 0.15, 16)
    points[:, :, 0] = 0.01 * np.arange(3)[:, None]
    groom = Groom.from_uniform(points)
    guides = Guides.from_groom(groom)
    skin = PhysicalSkin(groom, guides, material=HAIR, sweeps="converged", alpha=0.0)
    assert skin.stiffened_count == 3
    assert PhysicalSkin(groom, guides, material=HAIR).stiffened_count == 0
    model = HAIR.model(guides)
    weight = np.cumsum(model.mass[:, :0:-1], axis=1)[:, ::-1, None] * model.gravity
    nudged = weight + 0.01 * np.abs(weight).max() * np.array([1.0, 0, 0])
    frame = replace(frame_of(guides), cut_force=nudged.astype(np.float32))
    # A hair that is barely stable bends a little under a hundredth of its weight, and does not fall over.
    assert np.abs(skin(frame) - points).max() < 0.05
