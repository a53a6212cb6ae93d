"""Pictures of hair of any size: the camera frames what is there, a blank picture is an error, zoom and frames."""

import numpy as np
import pytest

from mane.body.shapes import Sphere
from mane.cli import main
from mane.groom.groom import Groom
from mane.io import write_groom
from mane.render.camera import Camera
from mane.render.cameras import FRAMED, look_at, outline
from mane.render.renderer import is_blank, render


def ball(scale=1.0, width=None):
    """Strands on a ball of 10 cm."""
    rng = np.random.default_rng(0)
    away = rng.normal(size=(400, 3))
    away /= np.linalg.norm(away, axis=1, keepdims=True)
    points = (scale * away[:, None] * (0.1 + np.linspace(0, 0.1, 6))[:, None]).astype(np.float32)
    return Groom.from_uniform(points, strand={} if width is None else {"width": np.full(400, width, np.float32)})


def picture(groom):
    camera = look_at([outline(groom)], aspect=1.0)[0]
    return render(groom, camera=camera, size=(64, 64), supersample=1)


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_the_picture_does_not_depend_on_the_unit(scale):
    """Hair of 0.1 mm and of 100 m is drawn as a model of hair of 30 cm; before, it was a white ball and grey dust."""
    size = 0.3 / 0.1  # the usual length over that of these strands
    usual = picture(ball(size)).astype(np.float64)
    assert usual.std() > 10
    assert np.abs(picture(ball(scale)) - usual).mean() < 1.0


def test_a_single_tiny_strand_is_framed():
    strand = np.array([[[0, 0, 0], [0, 1e-5, 0], [0, 2e-5, 0]]])
    camera = Camera.framing(strand[0])
    assert np.linalg.norm(np.subtract(camera.position, camera.look_at)) < 1e-3
    assert not is_blank(picture(Groom.from_uniform(strand)), (0, 0, 0))


def test_zoom_is_a_longer_lens():
    camera = Camera((0, 0, 1), (0, 0, 0), fov=0.5)
    assert np.tan(0.5 * camera.zoomed(2.0).fov) == pytest.approx(0.5 * np.tan(0.25))
    with pytest.raises(ValueError, match="zoom: must be a finite number above zero"):
        camera.zoomed(0.0)


def test_frames():
    body, hair = Sphere((0, 0, 0), 1.0).mesh(12), ball()
    sizes = {name: np.ptp(frame(hair, [body]), axis=0).max() for name, frame in FRAMED.items()}
    assert sizes["all"] > 1.0
    assert sizes["hair"] == pytest.approx(0.4, abs=0.01)
    assert sizes["head"] == pytest.approx(0.2 * (1 + 0.3 + 0.25), abs=0.01)


def test_the_command_zooms_and_refuses_a_blank_picture(tmp_path, capsys):
    write_groom(tmp_path / "ball.npz", ball())
    words = ["render", str(tmp_path / "ball.npz"), "-o", str(tmp_path / "out.png"), "--size", "48x48"]
    assert main([*words, "--frame", "head", "--zoom", "1.5", "--supersample", "1"]) == 0
    capsys.readouterr()
    (tmp_path / "out.png").unlink()
    write_groom(tmp_path / "thin.npz", ball(width=1e-12))
    assert main(["render", str(tmp_path / "thin.npz"), "-o", str(tmp_path / "out.png"), "--size", "48x48"]) == 2
    err = capsys.readouterr().err
    assert (
        "out.png: would be blank; strands of up to 0.1 m are too thin to be seen; --hair-width 0.0001 shows them" in err
    )
    assert not (tmp_path / "out.png").exists()
    assert main([*words, "--frame", "feet"]) == 2
    assert "--frame: 'feet' is unknown; choose from all, hair, head" in capsys.readouterr().err
    assert main([*words, "--zoom", "-1"]) == 2
    assert "--zoom: must be a finite number above zero" in capsys.readouterr().err
