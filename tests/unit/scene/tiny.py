"""Scenes that are quick to run: a ball of few hairs."""

from mane.scene.config import FramesTable, GroomTable, GuidesTable, HeadTable, Scene, SkinTable, StrandTable


def tiny_scene(folder, *, frame_count=4, model="cosserat", method="linear", **tables):
    """A ball of short hair that shakes; paths are in `folder`. `tables` are those of `Scene`."""
    usual = {
        "groom": GroomTable(style="ball", strands=60, vertices=8, settings={"length": 0.06}),
        "seed": 3,
        "frames": FramesTable(end=frame_count),
        "guides": GuidesTable(count=6),
        "head": HeadTable(motion="shake", ease_in=0.05),
        "strand": StrandTable(model=model, substeps=2),
        "skin": SkinTable(method),
    }
    return Scene(**{**usual, **tables}, folder=folder)
