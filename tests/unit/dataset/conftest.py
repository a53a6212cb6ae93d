"""One tiny dataset, simulated once and copied for every test that changes it."""

import shutil

import pytest

from mane.dataset.run import run_dataset
from mane.dataset.spec import read_spec

SPEC = """\
seed = 3
frames = 6

[scene.groom]
style = "ball"
strands = 40
vertices = 5

[scene.guides]
count = 5

[[motions]]
motion = "random"
count = 3
amplitude = [0.2, 0.6]

[[motions]]
motion = "shake"
split = "test"

[[axes]]
key = "strand.properties.stiffness"
values = [0.5, 2.0]

[store]
fields = ["points", "velocity", "head", "hairs"]
"""


@pytest.fixture
def write_spec(tmp_path):
    """Write a spec file, with lines replaced, and return its path."""

    def write(*changes, text=SPEC):
        for old, new in changes:
            assert old in text, old
            text = text.replace(old, new)
        path = tmp_path / "spec.toml"
        path.write_text(text)
        return path

    return write


@pytest.fixture(scope="session")
def simulated(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dataset")
    (folder / "spec.toml").write_text(SPEC)
    run_dataset(read_spec(folder / "spec.toml"), folder / "hair.zarr", workers=0)
    return folder / "hair.zarr"


@pytest.fixture
def dataset_copy(simulated, tmp_path):
    """A dataset of one's own."""
    shutil.copytree(simulated.parent, tmp_path / "copy")
    return tmp_path / "copy" / "hair.zarr"
