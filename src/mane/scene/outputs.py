"""What a scene's [output] asks for: its cache, its log, and the refusals before a long run."""

from __future__ import annotations

from pathlib import Path

from mane.scene.build import Assembly
from mane.scene.cache import HEADER, Cache, remove_leftovers
from mane.scene.config import Scene
from mane.scene.run_log import RunLog
from mane.scene.scene_file import SceneError, location
from mane.stage.memory import versions

LOG_NAME = "log.csv"


def cache_folder(scene: Scene) -> Path | None:
    """Folder of the cache that a scene asks for, or None."""
    return None if scene.output.cache is None else scene.path(scene.output.cache)


def check_output(scene: Scene, *, resume: bool, restart: bool) -> None:
    """Refuse, before anything is built, what cannot be written, resumed, or would be lost; make missing folders."""
    check_cache(scene, cache_folder(scene), resume, restart)
    make_folders(scene)


def check_cache(scene: Scene, path: Path | None, resume: bool, restart: bool) -> None:
    """Refuse what cannot be resumed, and what would be lost."""
    if resume and restart:
        raise ValueError("resume: must be left out with restart")
    if path is None:
        if resume:
            raise SceneError(f"{location(scene.locations, 'output')}: [output] cache: must be given to go on from it")
        return
    if path.exists() and not path.is_dir():
        raise SceneError(
            f"{location(scene.locations, 'output.cache')}: [output] cache: must be a folder, {path} is a file"
        )
    if path.is_dir() and any(path.iterdir()) and not (path / HEADER).is_file() and not resume:
        foreign = next(iter(sorted(path.iterdir()))).name
        if not foreign.startswith(".") and foreign != "guides.npz":
            raise SceneError(
                f"{location(scene.locations, 'output.cache')}: [output] cache: {path} holds other things ({foreign}); "
                "choose a folder of its own"
            )
    if not resume and not restart and (path / HEADER).is_file() and Cache.open(path).frames:
        raise ValueError(f"{path}: holds frames of an earlier run; --resume goes on, --restart begins anew")


def open_or_make(path: Path, assembly: Assembly, resume: bool) -> Cache:
    """Return the cache of a run that is resumed, if it is of the same scene and the same methods, or a new one."""
    hair = assembly.hair_stage.stages if assembly.may_return_load else ()  # it then decides what is simulated
    stages = versions((*assembly.source.stages, *hair))
    if resume and (path / HEADER).is_file():
        cache = Cache.open(path)
        different = cache.difference(assembly.scene, assembly.keys, hair_decides=assembly.may_return_load)
        if different:
            raise ValueError(f"{path}: cannot be resumed, {different}; --restart begins anew")
        upgraded = cache.upgraded(stages)
        if upgraded:
            raise ValueError(f"{path}: cannot be resumed, {upgraded}, or --restart begins anew")
        remove_leftovers(path)
        return cache
    return Cache.make(path, assembly.scene, assembly.guides, assembly.keys, stages)


def make_folders(scene: Scene) -> None:
    """Make the folders that outputs are to be written to, so that nothing is refused after a long wait."""
    output = scene.output
    for key in ("usd", "movie", "metrics", "log", "pictures", "cache"):
        name = getattr(output, key)
        if name is None:
            continue
        folder = scene.path(name).parent
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise type(error)(f"{scene.path(name)}: its folder cannot be made ({why}); choose another one") from None


def make_log(scene: Scene, cache_path: Path | None, keep_before: int | None) -> RunLog | None:
    """Return the log of a run, beside its other outputs or in its cache; rows of frames from `keep_before` on go."""
    if scene.output.log is not None:
        return RunLog(scene.path(scene.output.log), keep_before)
    return None if cache_path is None else RunLog(cache_path / LOG_NAME, keep_before)
