"""A small picture against the one that was kept: a sphere with a tuft of hair under three kinds of light and the sky.

`python tests/golden/test_golden_render.py` draws it again and keeps it, after a change that is meant to be seen.
"""

from pathlib import Path

import numpy as np

from mane.body.shapes import Sphere
from mane.groom.groom import Groom
from mane.render.camera import Camera
from mane.render.lights import AmbientLight, DirectionalLight, PointLight, SpotLight
from mane.render.renderer import render

GOLDEN = Path(__file__).with_name("tuft.npz")
TILE = 8  # pixels


def tuft(strands=700, vertices=12):
    """Curls that grow out of the upper half of a sphere of 10 cm."""
    rng = np.random.default_rng(11)
    root = rng.normal(size=(strands, 1, 3))
    root[:, :, 1] = np.abs(root[:, :, 1])
    root *= 0.1 / np.linalg.norm(root, axis=2, keepdims=True)
    share = np.linspace(0.0, 1.0, vertices)[None, :, None]
    phase = rng.uniform(0, 2 * np.pi, (strands, 1, 1)) + 9.0 * share
    curl = 0.012 * share * np.concatenate([np.cos(phase), 0.3 * np.sin(2 * phase), np.sin(phase)], axis=2)
    points = root * (1.0 + 0.7 * share) + curl - [0.0, 0.05, 0.0] * share**2
    return Groom.from_uniform(points.astype(np.float32))


def draw():
    """Linear light and coverage, shape (64, 64, 4)."""
    lights = [
        DirectionalLight((0.5, 0.8, 0.6), (1.0, 0.9, 0.8), 1.2),
        PointLight((-0.5, 0.2, 0.3), (0.3, 0.5, 1.0), 0.2),
        SpotLight((0.1, 0.6, -0.5), (1.0, 0.6, 0.4), 0.6, look_at=(0.0, 0.1, 0.0), angle=0.3),
        AmbientLight((0.3, 0.32, 0.36), (0.15, 0.14, 0.13)),
    ]
    return render(
        tuft(), Sphere((0.0, 0.0, 0.0), 0.1).mesh(24), camera=Camera((0.1, 0.15, 0.95), (0.0, 0.03, 0.0)),
        size=(64, 64), lights=lights, look="light_brown", hair_width=6e-4, background=None, tone="linear",
    )  # fmt: skip


def tiles(picture):
    """Mean over tiles, shape (rows, columns, 4)."""
    height, width = picture.shape[:2]
    return picture.reshape(height // TILE, TILE, width // TILE, TILE, 4).mean(axis=(1, 3), dtype=np.float64)


def test_picture_is_the_kept_one():
    with np.load(GOLDEN, allow_pickle=False) as kept:
        golden = kept["light"].astype(np.float32)
    picture = draw()
    # Kept in half precision: 0.05 % of a pixel, less over a tile. Other processors fuse other sums: some 1e-6. One
    # strand, 6e-4 m of 0.44 m, is 0.09 pixels wide: lost, it takes 0.01 off a tile's coverage of one.
    np.testing.assert_allclose(tiles(picture), tiles(golden), rtol=2e-3, atol=5e-4)
    assert np.abs(picture - golden).max() < 0.02


if __name__ == "__main__":
    np.savez_compressed(GOLDEN, light=draw().astype(np.float16))
