"""The volume skin on a body that deforms: identities, lengths, push-out, drift, styles, files."""

import numpy as np
import pytest

from mane.body.motion import Pose
from mane.body.shapes import Sphere
from mane.body.solid import Solid
from mane.groom import styles as grooms
from mane.groom.groom import Groom
from mane.groom.select import select_guides
from mane.scene.simulation import Simulation
from mane.skin.table import make_skin
from mane.volume.file import read_kdsm, write_kdsm
from mane.volume.motion import PlayedMesh
from mane.volume.shot import record_shot
from mane.volume.styles import make_styles

TURN = np.array([[0.8, 0.0, 0.6], [0.0, 1.0, 0.0], [-0.6, 0.0, 0.8]])
STRETCH = np.diag([1.2, 0.9, 1.1])
MAPS = (np.eye(3), TURN, STRETCH @ TURN, STRETCH)


class Scene:
    """A ball of hair whose skin goes through affine maps, half a second each."""

    def __init__(self):
        mesh = Sphere((0.0, 0.0, 0.0), 0.06).mesh(20)
        points = mesh.points.astype(np.float64)
        self.times = np.arange(len(MAPS)) * 0.5
        self.body = Solid.animated(mesh, self.times, np.stack([points @ m.T for m in MAPS]).astype(np.float32))
        self.groom = grooms.make("ball", strands=60, vertices=10, seed=3, length=0.05)
        guides = select_guides(self.groom, 6, seed=1)
        self.simulation = Simulation(guides, "cosserat", body=self.body, substeps=1, preroll=0.0)
        self.skin = self.bound()
        mesh = self.skin.motion.mesh
        self.affine = PlayedMesh(mesh, self.times, np.stack([mesh.nodes @ m.T for m in MAPS]))

    def bound(self, **settings):
        return make_skin("volume", self.groom, self.simulation, spacing=0.025, **settings)

    def frame(self, time):
        """A frame of guides that nobody looks at, on the body at a time."""
        from dataclasses import replace

        rest = self.simulation.rest
        return replace(rest, time=time, is_rest_pose=False, solid_poses=(Pose.identity(),))


@pytest.fixture(scope="module")
def scene():
    return Scene()


def lengths(points):
    return np.linalg.norm(np.diff(points.astype(np.float64), axis=1), axis=2)


def test_rest_gives_the_groom(scene):
    np.testing.assert_allclose(scene.skin(scene.simulation.rest), scene.groom.as_uniform(), atol=1e-5)


def test_a_rigid_motion_is_exact(scene):
    """The mesh settles on the turned body by itself."""
    scene.skin.reset()
    hair = scene.skin(scene.frame(0.5))
    np.testing.assert_allclose(hair, scene.groom.as_uniform() @ TURN.T, atol=2e-6)


def test_an_affine_motion_of_the_mesh_turns_every_segment_exactly(scene):
    """Positions are those of the map but for lengths, which are kept."""
    skin = scene.bound(mesh=scene.affine, tau=0.0)
    hair = skin(scene.frame(1.5))
    edge = np.diff(scene.groom.as_uniform().astype(np.float64), axis=1) @ STRETCH.T
    size = lengths(scene.groom.as_uniform())
    wanted = edge * (size / np.linalg.norm(edge, axis=2))[..., None]
    roots = scene.groom.roots.astype(np.float64) @ STRETCH.T
    expected = np.concatenate([roots[:, None], roots[:, None] + np.cumsum(wanted, axis=1)], axis=1)
    # Roots sit 1.5 mm within the flat triangles of the ball, where the skin's turn is not that of the map.
    assert np.abs(hair - expected).max() < 2e-3
    assert np.abs(hair - expected).mean() < 2e-4


def test_the_printed_layout_gives_the_same_points(scene):
    """Barycentric weights of eq. 1 against positions at rest under the map of their tetrahedron."""
    from mane.volume import _kernels_embed as kernels

    mesh, own = scene.skin.motion.mesh, scene.skin.embedding
    nodes = mesh.nodes + 0.004 * np.random.default_rng(0).normal(size=mesh.nodes.shape)
    weights = mesh.weights(own.rest, own.tets.astype(np.int64))
    assert weights.min() > -1e-5
    printed = np.empty_like(own.rest)
    kernels.embed_barycentric(own.tets, weights[:, 1:].astype(np.float32), mesh.tets, nodes.astype(np.float32), printed)
    maps = mesh.affine_maps(nodes)[own.tets]
    ours = np.einsum("pij,pj->pi", maps[:, :, :3], own.rest) + maps[:, :, 3]
    np.testing.assert_allclose(ours, printed, atol=1e-6)
    exact = np.einsum("pa,pad->pd", weights, nodes[mesh.tets[own.tets]])
    np.testing.assert_allclose(printed, exact, atol=1e-6)


def test_lengths_follicles_and_skin_are_kept_at_once(scene):
    """Through the whole shot, stepped: hair is as long as groomed, roots on the skin, nothing deeper than 0.5 mm."""
    skin = scene.bound()
    rest = lengths(scene.groom.as_uniform())
    at_rest = scene.body.rest_distance(scene.groom.points).reshape(len(rest), -1)
    for time in np.arange(37) / 24:
        hair = skin(scene.frame(float(time)))
        np.testing.assert_allclose(lengths(hair), rest, rtol=1e-4)
        distance = scene.body.distance(hair.reshape(-1, 3), float(time)).reshape(len(rest), -1)
        assert (distance[:, 1:] - np.minimum(at_rest[:, 1:], 0)).min() > -5e-4
    assert len(skin.fallback_hairs) == 0


def test_the_printed_way_to_keep_lengths_loses_them_for_good(scene):
    """Shortening that persists: after two cycles of the shot hair is shorter; ours is not, and frames need no order."""
    found = {}
    for way in ("printed", "direction", "point"):
        skin = scene.bound(mesh=scene.affine, lengths=way, tau=0.0)
        for time in (0.0, 0.25, 0.5, 1.0, 1.5, 1.0, 0.5, 0.0) * 2:
            hair = skin(scene.frame(time))
        found[way] = float((lengths(hair).sum(axis=1) / scene.groom.lengths).mean())
        assert skin.remembers == (way == "printed")
    assert found["printed"] < 0.97
    assert abs(found["direction"] - 1) < 1e-4
    assert abs(found["point"] - 1) < 1e-4


def test_hair_sinks_continuously_and_never_through_the_skin():
    from mane.volume import _kernels_embed as kernels

    height, tau = np.linspace(-0.02, 0.01, 4001, dtype=np.float32), np.float32(0.002)
    for rest in (0.03, 0.001, -0.001):
        pushed = np.array([kernels.pushed_height(one, np.float32(rest), tau) for one in height])
        assert np.abs(np.diff(pushed)).max() < 2 * (height[1] - height[0])  # as printed it would jump by tau
        assert pushed.min() >= min(rest, 0.0) - 1e-9
        top = min(rest, 0.002)
        np.testing.assert_array_equal(pushed[height >= top], height[height >= top])


# -- styles ------------------------------------------------------------------------------------------------------------


def test_levels_are_styles_and_what_lies_between_is_between(scene):
    settings = {"styles": ("clumped", "matted"), "wetness": ((0.0, 0.0), (1.0, 2.0))}
    skin = scene.bound(mesh=PlayedMesh(scene.affine.mesh, scene.times[:1], scene.affine.samples[:1]), **settings)
    rest = scene.simulation.rest
    hairs = {}
    for level in (0.0, 0.5, 1.0, 2.0):
        skin._level = lambda time, points, level=level: np.full(len(points), level, np.float32)
        hairs[level] = skin(rest, copy=True)
        np.testing.assert_allclose(lengths(hairs[level]), lengths(scene.groom.as_uniform()), rtol=1e-4)
    np.testing.assert_allclose(hairs[0.0], scene.groom.as_uniform(), atol=1e-5)
    np.testing.assert_allclose(hairs[1.0], skin.styles.points(0).reshape(hairs[1.0].shape), atol=1e-5)
    low = np.linalg.norm(hairs[0.5] - hairs[0.0], axis=2).mean()
    high = np.linalg.norm(hairs[1.0] - hairs[0.0], axis=2).mean()
    assert 0.3 * high < low < 0.7 * high
    # Matted hair lies on the skin, clumped hair does not.
    flat, full = (scene.body.rest_distance(hairs[k][:, -1]).mean() for k in (2.0, 0.0))
    assert flat < 0.2 * full


def test_styles_take_eight_bytes_per_point_and_lose_half_a_micrometre(scene):
    skin = scene.bound(mesh=scene.affine, styles=("clumped", "matted"), wetness=((0.0, 0.0), (1.0, 2.0)))
    made = make_styles(("clumped", "matted"), scene.groom, scene.body, scene.affine.mesh)
    points = len(skin.embedding.rest)
    assert skin.styles.places.nbytes + skin.styles.tets.nbytes == 2 * 8 * points
    for number, style in enumerate(made):
        off = np.abs(skin.styles.points(number) - style.points).max()
        assert off < 0.51 * skin.styles.units[number] + 1e-8  # and rounding of float32 at 0.1 m
        assert off < 1e-6


def test_wetness_rises_over_time_and_faster_where_it_is_told():
    from mane.volume.styles import Wetness

    points = np.array([[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]], np.float32)
    wet = Wetness(((0.0, 0.0), (2.0, 1.0)), ((0.0, 2.0), (1.0, 0.5)))
    np.testing.assert_allclose(wet(0.5, points), [0.5, 0.125])
    np.testing.assert_allclose(Wetness(((0.0, 0.0), (2.0, 1.0)))(1.0, points), [0.5, 0.5])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"styles": ("soaked",), "wetness": ((0.0, 0.0),)}, "styles: 'soaked' is unknown; choose from clumped"),
        ({"styles": ("clumped",)}, "styles: must come with wetness"),
        ({"styles": ("clumped",), "wetness": ((1.0, 0.0), (0.0, 1.0))}, "wetness: must be rows of two numbers"),
        ({"lengths": "long"}, "lengths: .*choose from direction, point, printed|lengths"),
        ({"tau": -1.0}, "tau: must be at least 0, got"),
    ],
)
def test_bad_settings_are_refused_in_one_line(scene, settings, message):
    with pytest.raises(ValueError, match=message) as error:
        scene.bound(**settings)
    assert "\n" not in str(error.value)


# -- files -------------------------------------------------------------------------------------------------------------


def test_a_shot_on_disk_plays_as_it_was_stepped(scene, tmp_path):
    mesh = scene.skin.motion.mesh
    shot = record_shot(scene.body, mesh, duration=0.25)
    assert shot.left.max() == 0
    path = write_kdsm(tmp_path / "shot.kdsm", mesh, shot.times, shot.samples, body=scene.body)
    assert path.name == "shot.kdsm.usdc"
    played = scene.bound(mesh=str(tmp_path / "shot.kdsm"))
    stepped = scene.bound()
    for time in shot.times:
        np.testing.assert_allclose(played(scene.frame(time)), stepped(scene.frame(time)), atol=2e-6)
    assert not played.remembers
    from pxr import Usd, UsdGeom

    stage = Usd.Stage.Open(str(path))
    surface = UsdGeom.Mesh(stage.GetPrimAtPath("/Kdsm/Surface"))
    assert len(surface.GetPointsAttr().GetTimeSamples()) == len(shot.times)
    assert UsdGeom.TetMesh(stage.GetPrimAtPath("/Kdsm/Tets"))


def test_files_of_another_body_or_damaged_ones_are_refused_in_one_line(scene, tmp_path):
    mesh = scene.skin.motion.mesh
    path = write_kdsm(tmp_path / "a.usda", mesh, np.zeros(1), mesh.nodes[None], body=scene.body)
    with pytest.raises(ValueError, match="belongs to another body") as error:
        read_kdsm(path, Solid(Sphere((0.0, 0.0, 0.0), 0.06).mesh(12)))
    assert "\n" not in str(error.value)
    text = path.read_text()
    (tmp_path / "b.usda").write_text(text.replace("mane:keys", "mane:kays"))
    with pytest.raises(ValueError, match="lacks mane:keys; the file is damaged"):
        read_kdsm(tmp_path / "b.usda")
    (tmp_path / "c.usda").write_text("#usda 1.0\n")
    with pytest.raises(ValueError, match="holds no mesh of a shot"):
        read_kdsm(tmp_path / "c.usda")


def test_hair_outside_of_the_mesh_is_refused_by_name(scene):
    far = scene.groom.as_uniform().copy()
    far[7, 4:] += np.array([0.3, 0.0, 0.0], np.float32)
    groom = Groom.from_uniform(far)
    with pytest.raises(ValueError, match="groom: strand 7 leaves the mesh"):
        make_skin("volume", groom, scene.simulation, mesh=scene.affine)
