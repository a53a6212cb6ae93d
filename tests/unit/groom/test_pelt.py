"""The fox's coat: roots on the skin, hair outside it, longer and shorter where a fox has it so, and no bald spot."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial import cKDTree

from mane.body.animated import AnimatedMesh
from mane.groom import styles
from mane.groom.roots import scatter_roots
from mane.groom.styles.pelt import load_pelt

STRANDS = 6000


@pytest.fixture(scope="module")
def coat():
    return styles.make("fox", strands=STRANDS, seed=3)


@pytest.fixture(scope="module")
def body():
    """The exact distance to the animal's triangles."""
    mesh = styles.body("fox")
    return AnimatedMesh(mesh, [0.0], mesh.points[None]).at(0.0)


def where(coat, joints):
    """Strands that grow on the skin of these joints."""
    creature = load_pelt().creature
    share = creature.joint_share(*joints)
    return share[cKDTree(creature.mesh.points).query(coat.roots)[1]] > 0.7


def test_roots_on_the_skin(coat, body):
    assert np.abs(body.distance(coat.roots)).max() < 1e-5


def test_no_hair_runs_through_the_body(coat, body):
    points = coat.as_uniform()
    inner = np.concatenate([points[:, 1:].reshape(-1, 3), 0.5 * (points[:, 1:] + points[:, :-1]).reshape(-1, 3)])
    assert body.distance(inner).min() > -5e-4


def test_lengths_are_those_of_a_fox(coat):
    median = {
        name: np.median(coat.lengths[where(coat, joints)])
        for name, joints in {
            "legs": ("wrist", "hock"),
            "trunk": ("spine", "chest"),
            "ruff": ("neck_1",),
            "tail": ("tail_3", "tail_4"),
        }.items()
    }
    muzzle = coat.roots[:, 2] > 0.40
    assert muzzle.sum() > 20
    assert np.median(coat.lengths[muzzle]) < 0.009
    assert median["legs"] < 0.012
    assert 0.035 < median["trunk"] < median["ruff"] < median["tail"]
    assert median["tail"] > 0.06


def test_fur_lies_along_the_body(coat):
    lay = coat.tips - coat.roots
    lay /= np.linalg.norm(lay, axis=1, keepdims=True)
    for joints, direction in (
        (("spine", "chest", "pelvis"), (0, 0, -1)),  # to the tail
        (("tail",), (0, 0, -1)),
        (("elbow", "wrist"), (0, -1, 0)),  # down
        (("ear",), (0, 1, 0)),
    ):
        along = lay[where(coat, joints)] @ np.array(direction)
        assert np.mean(along > 0) > 0.9, joints
    assert np.mean(lay[coat.roots[:, 2] > 0.36][:, 2] < 0) > 0.9  # back from the nose


def test_fur_never_stands_straight_out(coat, body):
    lean = body.distance(coat.tips) / coat.lengths
    brush = where(coat, ("tail",))  # bushy; at its end the skin itself faces where the fur points
    assert np.quantile(lean[~brush], 0.99) < 0.75
    assert np.quantile(lean[brush], 0.9) < 0.85
    assert np.median(lean) < 0.5


def test_eyes_nose_and_soles_are_bare(coat):
    creature = load_pelt().creature
    mesh = creature.mesh
    roots = scatter_roots(mesh, STRANDS, density=load_pelt().density, seed=3)
    assert_allclose(roots.points, coat.roots)
    assert not creature.is_bare[mesh.faces[roots.triangle]].all(axis=1).any()


def test_no_bald_spot():
    """Anywhere on furred skin a root is near, measured in the mean spacing that is meant there."""
    pelt = load_pelt()
    mesh = pelt.creature.mesh
    roots = scatter_roots(mesh, STRANDS, density=pelt.density, seed=3)
    probes = scatter_roots(mesh, 40_000, seed=9)
    density = np.einsum("sc,sc->s", probes.barycentric, pelt.density[mesh.faces[probes.triangle]])
    furred = ~pelt.creature.is_bare[mesh.faces[probes.triangle]].any(axis=1)
    total = np.sum(pelt.density[mesh.faces].mean(axis=1) * mesh.face_areas)
    spacing = np.sqrt(total / (STRANDS * density[furred]))
    gap = cKDTree(roots.points).query(probes.points[furred])[0] / spacing
    assert gap.max() < 2.5
    assert np.median(gap) < 0.6


def test_threads_change_no_byte(on_threads):
    on_threads(lambda: styles.make("fox", strands=200, seed=5))


def test_options(coat):
    short = styles.make("fox", strands=500, length=0.0375)
    assert_allclose(short.lengths.mean(), coat.lengths.mean() / 2, rtol=0.05)
    with pytest.raises(ValueError, match="lift: must be from 0 to 2, got 3"):
        styles.make("fox", strands=10, lift=3.0)


def test_a_red_fox_is_red_above_and_pale_below(coat):
    color = coat.strand["color"]
    assert color.min() >= 0
    assert color.max() <= 1
    back = where(coat, ("spine",)) & (coat.roots[:, 1] > 0.38)
    belly = where(coat, ("spine",)) & (coat.roots[:, 1] < 0.30)
    paws = where(coat, ("forepaw", "hindpaw"))
    assert (color[back, 0] > 3 * color[back, 1]).all()
    assert (color[belly].min(axis=1) > 0.2).mean() > 0.9
    assert color[paws].mean() < 0.1
