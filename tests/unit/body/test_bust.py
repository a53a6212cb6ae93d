"""The bust: a closed, symmetric, human-sized head and shoulders, with a hairline where people have one."""

import numpy as np
import pytest
from scipy.spatial import cKDTree

from mane.body.bust import Bust, make_bust
from mane.body.hairline import LANDMARKS, SKULL_CENTRE, Hairline
from mane.body.surface_nets import implicit_gradient


@pytest.fixture(scope="module")
def bust() -> Bust:
    return make_bust()


def skin_from(bust: Bust, start, direction) -> np.ndarray:
    """The first point of the skin along a direction."""
    steps = np.linspace(0.0, 0.25, 2501)
    points = np.asarray(start) + steps[:, None] * np.asarray(direction, float)
    return points[int((bust.implicit(points) < 0).argmax())]


def on_face(bust: Bust, x: float, y: float) -> np.ndarray:
    return skin_from(bust, (x, y, 0.2), (0, 0, -1))


def test_mesh_is_closed_and_faces_outwards(bust):
    assert bust.mesh.is_closed
    # Head 4.2 l, neck and chest: some ten litres. Positive only if the triangles face outwards.
    assert 0.008 < bust.mesh.volume < 0.013
    assert 20_000 <= bust.mesh.face_count <= 45_000


def test_mesh_is_symmetric(bust):
    distance, _ = cKDTree(bust.mesh.points).query(bust.mesh.points * np.float32([-1, 1, 1]))
    # The same operations on mirrored numbers; only the last Newton step's rounding differs.
    assert distance.max() < 2e-6


def test_mesh_lies_on_the_implicit_surface_and_shares_its_normals(bust):
    points = bust.mesh.points.astype(np.float64)
    # Four Newton steps end at the rounding of float32 positions: 0.2 m at 6e-8.
    assert np.abs(bust.implicit(points)).max() < 5e-8
    gradient = implicit_gradient(bust.implicit, points, 1e-4)
    slope = np.linalg.norm(gradient, axis=1)
    # Like a distance: a slope of 1, less where shapes blend into each other.
    low, high = np.quantile(slope, [0.05, 0.95])
    assert 0.65 < low < high < 1.05
    on_skull = points[:, 1] > 0.06
    assert np.abs(slope[on_skull] - 1.0).max() < 0.15
    aligned = np.einsum("ij,ij->i", gradient / slope[:, None], bust.mesh.vertex_normals)
    assert (aligned > 0.5).mean() > 0.995
    assert np.median(aligned) > 0.99


def test_proportions_are_human(bust):
    height = bust.crown[1] - bust.chin[1]
    assert height == pytest.approx(0.23, abs=0.005)
    points = bust.mesh.points
    skull = points[(points[:, 1] > 0.065) & (points[:, 1] < 0.12)]
    assert np.ptp(skull[:, 0]) == pytest.approx(0.155, abs=0.005)
    depth = on_face(bust, 0.0, 0.056)[2] - points[points[:, 1] > 0.03][:, 2].min()
    assert depth == pytest.approx(0.195, abs=0.006)
    assert np.ptp(points[:, 0]) == pytest.approx(0.42, abs=0.02)
    # The eyes lie half way up the head; the nose is the foremost point of the face, below them.
    nose = points[points[:, 2].argmax()]
    assert abs(nose[0]) < 0.002
    assert bust.chin[1] + 0.33 * height < nose[1] < bust.chin[1] + 0.45 * height


def test_ears_sit_between_brow_and_nose_behind_the_middle_of_the_head(bust):
    points = bust.mesh.points
    ear = points[(np.abs(points[:, 0]) > 0.081) & (points[:, 1] > -0.05)]
    assert ear[:, 1].max() == pytest.approx(bust.brow[1], abs=0.012)
    assert ear[:, 1].min() == pytest.approx(-0.005, abs=0.012)  # the base of the nose
    face, back = bust.brow[2], points[points[:, 1] > 0.03][:, 2].min()
    assert ear[:, 2].mean() < 0.5 * (face + back)


def test_neck_leans_forward_and_shoulders_are_lower_than_the_neck(bust):
    def middle_of_neck(y):
        return 0.5 * (skin_from(bust, (0, y, 0.09), (0, 0, -1))[2] + skin_from(bust, (0, y, -0.15), (0, 0, 1))[2])

    assert middle_of_neck(-0.10) > middle_of_neck(-0.14) + 0.003
    heights = [skin_from(bust, (x, -0.05, -0.05), (0, -1, 0))[1] for x in (0.07, 0.10, 0.13, 0.16, 0.19)]
    assert (np.diff(heights) < 0).all()


def test_hairline_includes_the_scalp(bust):
    behind_ear = skin_from(bust, (0.12, 0.03, -0.045), (-1, 0, 0))
    above_ear = skin_from(bust, (0.15, 0.085, 0.0), (-1, 0, 0))
    occiput = skin_from(bust, (0, 0.05, -0.2), (0, 0, 1))
    sideburn = skin_from(bust, (0.15, 0.025, 0.029), (-1, 0, 0))
    inside = bust.hairline_distance(np.array([bust.crown, behind_ear, above_ear, occiput, sideburn]))
    assert (inside > 0.001).all()
    assert inside[0] > 0.08  # from the crown it is a hand's breadth to any edge


def test_hairline_excludes_face_ears_and_neck(bust):
    face = [on_face(bust, x, y) for x in (-0.03, 0.0, 0.03) for y in (-0.06, -0.03, 0.0, 0.03, 0.06, 0.09)]
    neck = [skin_from(bust, (0, -0.10, -0.2), (0, 0, 1)), skin_from(bust, (0.2, -0.08, 0.0), (-1, 0, 0))]
    assert (bust.hairline_distance(np.array(face + neck)) < -0.005).all()
    points = bust.mesh.points
    ears = points[(np.abs(points[:, 0]) > 0.081) & (points[:, 1] > -0.05) & (points[:, 1] < 0.06)]
    assert len(ears) > 300
    assert (bust.hairline_distance(ears) < 0).all()
    assert (bust.hairline_distance(points[points[:, 1] < -0.06]) < 0).all()


def test_hairline_distance_measures_metres_along_the_skin(bust):
    heights = np.array([0.090, 0.100, 0.120, 0.125])
    forehead = np.array([on_face(bust, 0.0, y) for y in heights])
    along = np.linalg.norm(forehead - bust.front_hairline, axis=1) * np.sign(heights - bust.front_hairline[1])
    # Chord against arc over 2 cm of a 9 cm sphere, and the line's curvature at the widow's peak.
    np.testing.assert_allclose(bust.hairline_distance(forehead), along, atol=0.0015)


def test_hairline_curve_is_the_zero_of_its_distance():
    line = Hairline()
    skin = SKULL_CENTRE + 0.09 * line.curve
    away_from_ears = np.abs(skin[:, 0]) < 0.05
    # Zero on the polyline itself, up to rounding of float32 input; the ears cut their own edge elsewhere.
    assert np.abs(line.distance(skin[away_from_ears])).max() < 1e-6
    assert (line.distance(SKULL_CENTRE + 0.09 * line.curve) < 1e-6).all()


def test_hairline_landmarks_go_around_the_head_one_way():
    around = np.arctan2(LANDMARKS[:, 0], LANDMARKS[:, 2])
    assert (np.diff(around) > 0).all()
    assert around[0] == 0.0
    assert around[-1] == pytest.approx(np.pi)


def test_scalp_has_a_human_area_and_one_piece(bust):
    assert 0.06 < bust.mesh.face_areas[bust.scalp].sum() < 0.08
    scalp = bust.scalp_mesh()
    assert scalp.face_count == bust.scalp.sum()
    assert scalp.uv is not None
    np.testing.assert_allclose(scalp.face_areas.sum(), bust.mesh.face_areas[bust.scalp].sum(), rtol=1e-5)
    assert bust.hairline_distance(scalp.points).min() > -0.008  # no triangle reaches far over the edge


def test_partings_run_over_the_scalp(bust):
    for name, side in (("middle", 0.0), ("left", 0.03), ("right", -0.03)):
        line = bust.parting[name]
        np.testing.assert_allclose(line[:, 0], side, atol=1e-6)
        assert (bust.hairline_distance(line) > 0).all()
        assert (np.diff(line[:, 2]) < 0).all()
        assert np.abs(bust.implicit(line)).max() < 1e-4


def test_uv_is_a_spherical_map(bust):
    uv = bust.mesh.uv
    assert uv is not None
    assert uv.min() >= 0.0
    assert uv.max() <= 1.0
    offsets = bust.mesh.points - bust.skull_center
    left = (offsets[:, 0] > 0.05) & (np.abs(offsets[:, 2]) < 0.002)
    np.testing.assert_allclose(uv[left, 0], 0.75, atol=0.01)
    assert (np.diff(uv[np.argsort(uv[:, 1]), 1]) >= 0).all()
    assert uv[offsets[:, 1].argmax(), 1] > 0.95


def test_cached_bust_is_identical_to_the_built_one(monkeypatch, tmp_path):
    monkeypatch.setenv("MANE_CACHE", str(tmp_path))
    built = make_bust(0.007)
    assert len(list(tmp_path.glob("bust-*.npz"))) == 1
    monkeypatch.setattr("mane.body.bust._build", lambda cell_size: pytest.fail("built again"))
    cached = make_bust(0.007)
    for name in ("points", "faces", "uv"):
        np.testing.assert_array_equal(getattr(cached.mesh, name), getattr(built.mesh, name))
    assert cached.landmarks.keys() == built.landmarks.keys()
    for name, point in cached.landmarks.items():
        np.testing.assert_array_equal(point, built.landmarks[name])


def test_a_coarse_bust_is_closed_too():
    coarse = make_bust(0.005)
    assert coarse.mesh.is_closed
    assert coarse.mesh.face_count < 15_000


@pytest.mark.parametrize("cell_size", [0.0, -0.002, 0.05, float("nan")])
def test_cell_sizes_out_of_range_are_refused(cell_size):
    with pytest.raises(ValueError, match=r"cell_size: must lie between 0.0008 and 0.008 metres, got"):
        make_bust(cell_size)
