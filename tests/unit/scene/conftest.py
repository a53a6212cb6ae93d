"""What tests of this folder share."""

import importlib.util
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def tiny_scene():
    """The maker of quick scenes; see tiny.py."""
    spec = importlib.util.spec_from_file_location("tiny", Path(__file__).parent / "tiny.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.tiny_scene
