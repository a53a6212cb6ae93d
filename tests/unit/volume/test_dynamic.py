"""A mesh on springs to another one: it follows, deviates as it is told, and may be finer."""

import numpy as np
import pytest

from mane.body.shapes import Sphere
from mane.body.solid import Solid
from mane.volume.dynamic import DynamicMesh, DynamicParams
from mane.volume.mesh import mesh_around_body
from mane.volume.motion import MeshMotion
from mane.volume.springs import SpringParams

STRETCH = np.diag([1.25, 1.0, 1.0])


class Frame:
    """All that a mesh motion asks of a frame here."""

    def __init__(self, time):
        self.time = time


class Carrier(MeshMotion):
    """A mesh whose nodes are a function of time."""

    def __init__(self, mesh, path):
        self.mesh, self._path = mesh, path

    def nodes(self, frame):
        return self._path(self.mesh.nodes, frame.time)


@pytest.fixture(scope="module")
def mesh():
    skin = Sphere((0.0, 0.0, 0.0), 0.05).mesh(16)
    return mesh_around_body(Solid.animated(skin, [0.0], skin.points[None]), spacing=0.03, reach=0.03)


def played(dynamic, seconds, rate=24):
    for number in range(round(seconds * rate) + 1):
        nodes = dynamic.nodes(Frame(number / rate))
    return nodes


def stretched(nodes, time):
    return nodes @ (np.eye(3) + min(time / 0.2, 1.0) * (STRETCH - np.eye(3))).T


def test_what_stands_still_stays(mesh):
    dynamic = DynamicMesh(Carrier(mesh, lambda nodes, time: nodes))
    np.testing.assert_allclose(played(dynamic, 0.3), mesh.nodes, atol=1e-12)


def test_rest_lengths_that_follow_do_not_resist(mesh):
    """lee2018 3.2.1: with the first mesh's lengths the second comes to rest on it, with its own it does not."""
    far = {}
    for share in (0.0, 0.5, 1.0):
        params = DynamicParams(attachment=0.2, follow_shape=share)
        nodes = played(DynamicMesh(Carrier(mesh, stretched), params), 2.0)
        far[share] = np.abs(nodes - mesh.nodes @ STRETCH.T).max()
    assert far[1.0] < 1e-4
    assert far[0.5] > 10 * far[1.0]
    assert far[0.0] > 1.3 * far[0.5]


def test_the_share_may_vary_in_space(mesh):
    share = (mesh.nodes[:, 0] > 0).astype(np.float64)
    nodes = played(DynamicMesh(Carrier(mesh, stretched), DynamicParams(attachment=0.2, follow_shape=share)), 2.0)
    off = np.linalg.norm(nodes - mesh.nodes @ STRETCH.T, axis=1)
    ends = np.abs(mesh.nodes[:, 0]) > 0.05
    assert off[ends & (share == 1)].mean() < 0.5 * off[ends & (share == 0)].mean()


def test_stronger_attachment_deviates_less_and_following_positions_not_at_all(mesh):
    def swung(nodes, time):
        return nodes + [0.03 * np.sin(20 * time), 0.0, 0.0]

    def worst(**settings):
        dynamic, found = DynamicMesh(Carrier(mesh, swung), DynamicParams(**settings)), 0.0
        for number in range(25):
            nodes = dynamic.nodes(Frame(number / 24))
            found = max(found, np.abs(nodes - swung(mesh.nodes, number / 24)).max())
        return found

    weak, strong = worst(attachment=0.1), worst(attachment=2.0)
    assert strong < 0.5 * weak
    assert worst(attachment=0.1, follow_position=1.0) < 1e-9
    assert worst(attachment=0.1, follow_velocity=1.0) < 0.5 * weak


def test_weight_sinks_it_as_its_springs_say(mesh):
    """Every node on its own zero-length spring with shapes that follow: g over the square of its frequency."""
    params = DynamicParams(SpringParams(frequency=5.0, altitude_stiffness=0.0), attachment=1.0, gravity=0.3)
    nodes = played(DynamicMesh(Carrier(mesh, lambda nodes, time: nodes), params), 3.0)
    sunk = 0.3 * 9.81 / (2 * np.pi * 5.0) ** 2
    np.testing.assert_allclose((mesh.nodes - nodes)[:, 1], sunk, rtol=0.02)


def test_a_finer_mesh_rides_on_a_coarse_one(mesh):
    skin = Sphere((0.0, 0.0, 0.0), 0.05).mesh(16)
    body = Solid.animated(skin, [0.0], skin.points[None])
    fine = mesh_around_body(body, spacing=0.02, reach=0.012)
    nodes = played(DynamicMesh(Carrier(mesh, stretched), mesh=fine), 2.0)
    np.testing.assert_allclose(nodes, fine.nodes @ STRETCH.T, atol=2e-4)
    wide = mesh_around_body(body, spacing=0.03, reach=0.1)
    with pytest.raises(ValueError, match="mesh: must lie within the one that carries it"):
        DynamicMesh(Carrier(mesh, stretched), mesh=wide)


def test_going_on_from_memory_equals_not_stopping(mesh):
    whole, first, second = (DynamicMesh(Carrier(mesh, stretched), DynamicParams(follow_velocity=0.5)) for _ in range(3))
    expected = [whole.nodes(Frame(n / 24)).tobytes() for n in range(6)]
    for n in range(3):
        first.nodes(Frame(n / 24))
    second.restore(first.memory())
    assert [second.nodes(Frame(n / 24)).tobytes() for n in range(3, 6)] == expected[3:]


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"follow_shape": 1.5}, "follow_shape: must be from 0 to 1"), ({"attachment": -1.0}, "attachment: must be")],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        DynamicParams(**settings)
