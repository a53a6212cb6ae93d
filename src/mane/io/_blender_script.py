"""Run by Blender, never by mane: `_blender_script.py -- SOURCE TARGET RATE KIND` writes a file as another.

Knows nothing but the standard library and `bpy`, because Blender's Python has no mane.
"""

import os
import sys

FAULT = "mane-fault: "  # begins the line with which the script says what is wrong with a file
IMPORTERS = {".abc": "alembic_import", ".usd": "usd_import", ".usda": "usd_import", ".usdc": "usd_import"}
# What a file is opened for -> types of Blender's objects that are it, and what to do where there are none.
KINDS = {
    "curves": (("CURVES", "CURVE"), "has no curves that Blender can read; export the hair as curves"),
    "meshes": (("MESH",), "has no mesh that Blender can read; export the body as a mesh"),
}
EXPORTERS = {".abc": "alembic_export", ".usd": "usd_export", ".usda": "usd_export", ".usdc": "usd_export"}


def main(source: str, target: str, rate: str, kind: str) -> None:
    """Open `source`, write `target`; the scene runs at `rate` frames per second and must hold things of `kind`."""
    import bpy

    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    # Before the file is opened: Blender places its seconds, or its time codes, by the scene's own rate.
    scene.render.fps = max(1, round(float(rate)))
    scene.render.fps_base = scene.render.fps / float(rate)
    _call(bpy, IMPORTERS[_suffix(source)], source)
    types, fault = KINDS[kind]
    if not any(item.type in types for item in bpy.data.objects):
        sys.exit(f"{FAULT}{fault}")
    frames = (scene.frame_start, scene.frame_end) if _is_moving(bpy) else (scene.frame_start, scene.frame_start)
    scene.frame_start, scene.frame_end = frames
    if _suffix(target) == ".abc":
        _call(bpy, EXPORTERS[".abc"], target, start=frames[0], end=frames[1], as_background_job=False)
    else:
        _call(bpy, EXPORTERS[_suffix(target)], target, export_animation=frames[0] < frames[1])


def _call(bpy, name, path, **options) -> None:  # type: ignore[no-untyped-def]
    if name == "alembic_import":
        options["as_background_job"] = False
    try:
        done = getattr(bpy.ops.wm, name)(filepath=path, **options)
    except RuntimeError as error:
        sys.exit(FAULT + " ".join(str(error).split()))
    if "FINISHED" not in done:
        sys.exit(f"{FAULT}could not be {'read' if 'import' in name else 'written'} by Blender")


def _is_moving(bpy) -> bool:  # type: ignore[no-untyped-def]
    caches = ("MESH_SEQUENCE_CACHE", "TRANSFORM_CACHE")
    return any(one.type in caches for item in bpy.data.objects for one in (*item.modifiers, *item.constraints))


def _suffix(path: str) -> str:
    return os.path.splitext(path)[1].lower()


if __name__ == "__main__":
    # Blender hands its own arguments on as well; those after the dashes are ours.
    main(*sys.argv[sys.argv.index("--") + 1 :])
