"""The frame loop: every pair of model and skin, sinks, resuming, baking, refusals."""

import errno
import json
from dataclasses import replace

import numpy as np
import pytest

import mane
from mane.scene import cache as cache_module
from mane.scene.build import build
from mane.scene.cache import ARRAYS, Cache
from mane.scene.config import (
    CameraTable,
    FinishTable,
    FramesTable,
    GroomTable,
    GuidesTable,
    InteractionTable,
    OutputTable,
    SkinTable,
    SolidTable,
    WindTable,
)
from mane.scene.loop import bake_cache, run_assembly, run_scene
from mane.scene.scene_file import SceneError
from mane.skin.table import SKINS
from mane.strand.cosserat.solver import CosseratSolver
from mane.strand.solver import SOLVERS

ONLY_CACHE = OutputTable(cache="a.cache")


def bytes_of(folder):
    """Contents of all files of a run but those that hold times or the range of frames."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name not in ("cache.json", "log.csv"))
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def points_of(cache):
    return np.stack([cache.read_frame(index).points for index in cache.frames])


@pytest.mark.parametrize("skin", SKINS)
@pytest.mark.parametrize("model", SOLVERS)
def test_every_model_with_every_skin(model, skin, tmp_path, tiny_scene):
    scene = tiny_scene(tmp_path, model=model, method=skin, frame_count=3, output=ONLY_CACHE)
    summary = run_scene(scene)
    assert summary.frames == 3
    assembly = build(scene)
    cache = Cache.open(tmp_path / "a.cache")
    rest = assembly.hair.groom.as_uniform()
    length = np.linalg.norm(np.diff(rest, axis=1), axis=2).sum(axis=1)
    for index in cache.frames:
        frame = cache.read_frame(index)
        hair = assembly.hair_stage(frame)
        # Roots ride on the head; float32 keeps a few 1e-8 of the ball's 6 cm.
        np.testing.assert_allclose(hair[:, 0], frame.head.apply(rest[:, 0]), atol=1e-6)
        moved = np.linalg.norm(np.diff(hair, axis=1), axis=2).sum(axis=1)
        assert np.isfinite(hair).all()
        # Hardly any stretch in three frames: linear skins shorten hair between guides that turn apart. Steps of 20 ms
        # are far too long for iterations to converge.
        assert np.abs(moved / length - 1).max() < (0.2 if SOLVERS.find(model).is_converged else 1.0)
    assert not np.array_equal(hair, rest)


def test_the_first_frame_is_the_groom_and_time_counts_from_it(tmp_path, tiny_scene):
    run_scene(tiny_scene(tmp_path, output=ONLY_CACHE, frames=FramesTable(start=101, end=103, rate=48.0)))
    cache = Cache.open(tmp_path / "a.cache")
    assert cache.frames == [101, 102, 103]
    np.testing.assert_allclose([cache.read_frame(i).time for i in cache.frames], [0, 1 / 48, 2 / 48], atol=1e-12)
    first = cache.read_frame(101)
    np.testing.assert_allclose(first.points, build(cache.scene).guides.rest, atol=1e-6)


def test_a_preroll_gives_wind_its_time(tmp_path, tiny_scene):
    windy = WindTable(velocity=(3.0, 0.0, 0.0))
    scene = tiny_scene(tmp_path, output=ONLY_CACHE, wind=windy, frames=FramesTable(end=1, preroll=0.25))
    run_scene(scene)
    frame = Cache.open(tmp_path / "a.cache").read_frame(1)
    assert frame.time == pytest.approx(0.0, abs=1e-12)
    assert (frame.points - build(scene).guides.rest)[:, -1, 0].mean() > 1e-4  # the tips lean downwind


def test_guides_alone_bind_no_skin(tmp_path, tiny_scene):
    summary = run_scene(tiny_scene(tmp_path, output=ONLY_CACHE))
    assert not {"skin", "finish"} & set(summary.stages)
    assert "bind skin" not in summary.setup
    assert {"guides", "contact", "air", "write cache"} <= set(summary.stages)


def test_a_log_has_the_seconds_of_every_stage(tmp_path, tiny_scene):
    summary = run_scene(tiny_scene(tmp_path, output=replace(ONLY_CACHE, log="log/run.csv")))
    rows = [line.split(",") for line in (tmp_path / "log" / "run.csv").read_text().splitlines()]
    assert rows[0] == ["frame", "stage", "seconds"]
    guides = sum(float(seconds) for _, stage, seconds in rows[1:] if stage == "guides")
    assert guides == pytest.approx(summary.stages["guides"], rel=1e-4)
    assert {frame for frame, _, _ in rows[1:]} == {"setup", "1", "2", "3", "4"}


# -- sinks and resuming ------------------------------------------------------------------------------------------------

MOVING_BALL = SolidTable(
    shape="sphere", keyframes=((0, 0.2, 0, 0), (0.2, 0, 0, 0)), settings={"center": [0, 0, 0], "radius": 0.03}
)
FADING = [[0, 5], [1, 1]]
EVERYTHING = OutputTable(
    cache="a.cache", usd="hair.usda", pictures="pictures", every=2, movie="hair.mp4", metrics="metrics.json"
)


def everything(folder, tiny_scene, **tables):
    """A scene with every sink, a solid, interactions that remember, and a skin that does."""
    folder.mkdir()
    return tiny_scene(
        folder,
        frame_count=6,
        output=EVERYTHING,
        camera=CameraTable(size=(64, 48)),
        finish=FinishTable(subdivide=1),
        skin=SkinTable("physical", {"sweeps": 2, "warm_start": "previous"}),
        solids=(MOVING_BALL,),
        interactions=(InteractionTable("links", {"rate": 30}), InteractionTable("root_damping", {"rate": FADING})),
        **tables,
    )


def test_a_resumed_run_is_the_same_in_every_sink(tmp_path, tiny_scene):
    whole = everything(tmp_path / "whole", tiny_scene)
    assert run_scene(whole).frames == 6
    parts = everything(tmp_path / "parts", tiny_scene)
    # The first run has fewer sinks: those that come later are brought up to date from the cache.
    few = replace(EVERYTHING, movie=None, usd=None)
    run_scene(replace(parts, frames=FramesTable(end=2), output=few))
    run_scene(replace(parts, frames=FramesTable(end=5), output=replace(EVERYTHING, movie=None)), resume=True)
    summary = run_scene(parts, resume=True)
    assert (summary.resumed_after, summary.frames) == (5, 1)
    ours, theirs = bytes_of(tmp_path / "parts"), bytes_of(tmp_path / "whole")
    assert ours.keys() == theirs.keys()
    assert {name for name in ours if ours[name] != theirs[name]} == set()
    assert sorted(path.name for path in (tmp_path / "whole" / "pictures").iterdir()) == [
        f"picture.000{k}.png" for k in (1, 3, 5)
    ]
    metrics = json.loads((tmp_path / "whole" / "metrics.json").read_text())
    assert len(metrics["frames"]) == 6
    assert metrics["means"]["flicker"] > 0
    # A finished run has nothing left to do.
    assert run_scene(parts, resume=True).frames == 0


@pytest.mark.parametrize("model", SOLVERS)
def test_threads_do_not_change_a_run(model, tmp_path, tiny_scene, on_threads):
    def files():
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        run_scene(
            tiny_scene(
                folder,
                model=model,
                method="physical",
                guides=GuidesTable(count=24),
                output=OutputTable(cache="a.cache", usd="hair.usda", metrics="metrics.json"),
                solids=(MOVING_BALL,),
                interactions=(InteractionTable("links", {"rate": 30}), InteractionTable("grid")),
                wind=WindTable(velocity=(2.0, 0.0, 0.0), gusts=0.2),
            )
        )
        return bytes_of(folder)

    on_threads(files)


def test_usd_holds_the_hair_of_the_cache(tmp_path, tiny_scene):
    scene = tiny_scene(
        tmp_path, output=OutputTable(cache="a.cache", usd="hair.usda"), finish=FinishTable(push_out=False)
    )
    run_scene(scene)
    assembly = build(scene)
    hair = assembly.hair_stage(Cache.open(tmp_path / "a.cache").read_frame(4))
    read = mane.read_groom(tmp_path / "hair.usda", time=4)
    np.testing.assert_array_equal(read.as_uniform(), hair)


def test_a_layer_keeps_the_curves_of_the_file(tmp_path, tiny_scene):
    rng = np.random.default_rng(0)
    ball = mane.styles.make("ball", strands=40, vertices=10)
    ragged = mane.Groom.from_strands([strand[: rng.integers(5, 11)] for strand in ball.as_uniform()])
    mane.write_groom(tmp_path / "artist.usda", ragged)
    scene = tiny_scene(
        tmp_path,
        groom=GroomTable(file="artist.usda", vertices=8),
        output=OutputTable(cache="a.cache", usd="moved.usda", usd_layer=True),
    )
    run_scene(scene)
    moved = mane.read_groom(tmp_path / "moved.usda", time=1)
    np.testing.assert_array_equal(moved.offsets, ragged.offsets)
    # The first frame is the groom: what resampling took away is given back, up to float32.
    np.testing.assert_allclose(moved.points, ragged.points, atol=1e-5)
    assert np.abs(mane.read_groom(tmp_path / "moved.usda", time=4).points - ragged.points).max() > 1e-4


# -- what can go wrong -------------------------------------------------------------------------------------------------


def test_a_full_disk_is_one_line_and_the_run_goes_on(tmp_path, tiny_scene, monkeypatch):
    run_scene(tiny_scene(tmp_path, output=OutputTable(cache="whole.cache")))
    scene = tiny_scene(tmp_path, output=ONLY_CACHE)
    calls, save = [], np.savez

    def full(file, **arrays):
        calls.append(file)
        if len(calls) > 4:  # guides, two files of frame 1, one of frame 2
            raise OSError(errno.ENOSPC, "No space left on device")
        save(file, **arrays)

    with monkeypatch.context() as patch:
        patch.setattr(cache_module.np, "savez", full)
        with pytest.raises(OSError, match=r"no space left on device\); free some space.*--resume goes on"):
            run_scene(scene)
    assert not list((tmp_path / "a.cache").glob(".*"))
    run_scene(scene, resume=True)
    assert bytes_of(tmp_path / "a.cache") == bytes_of(tmp_path / "whole.cache")


def test_another_scene_cannot_go_on_with_a_cache(tmp_path, tiny_scene):
    scene = tiny_scene(tmp_path, output=ONLY_CACHE)
    run_scene(scene)
    with pytest.raises(ValueError, match=r"holds frames of an earlier run; --resume goes on, --restart begins anew"):
        run_scene(scene)
    with pytest.raises(ValueError, match=r"cannot be resumed, seed was 3 and is 4; --restart"):
        run_scene(replace(scene, seed=4), resume=True)
    assert run_scene(replace(scene, seed=4), restart=True).frames == 4


def header_with(folder, **changes):
    path = folder / "a.cache" / "cache.json"
    header = json.loads(path.read_text())
    for name, value in changes.items():
        header.pop(name) if value is None else header.update({name: value})
    path.write_text(json.dumps(header))


def test_an_upgraded_program_does_not_go_on_with_an_older_run(tmp_path, tiny_scene):
    scene = tiny_scene(tmp_path, output=ONLY_CACHE)
    run_scene(replace(scene, frames=FramesTable(end=2)))
    made = Cache.open(tmp_path / "a.cache").header
    for name in ("mane", "numpy", "numba"):
        header_with(tmp_path, versions={**made["versions"], name: "0.0.1"})
        message = rf"it was made with {name} 0.0.1 and this is .*`pip install {name}==0.0.1` goes on, or --restart"
        with pytest.raises(ValueError, match=message) as error:
            run_scene(scene, resume=True)
        assert "\n" not in str(error.value)
    header_with(tmp_path, versions=made["versions"], stages={**made["stages"], "strand.cosserat": 0})
    with pytest.raises(
        ValueError, match=rf"its 'strand.cosserat' is of version 0 and this one of version {CosseratSolver.version}"
    ):
        run_scene(scene, resume=True)
    header_with(tmp_path, stages=None)
    with pytest.raises(ValueError, match="it was made by an older mane"):
        run_scene(scene, resume=True)
    # What was simulated can still be looked at, with any version.
    assert bake_cache(tmp_path / "a.cache", OutputTable(usd="baked.usda")).frames == 2
    header_with(tmp_path, stages=made["stages"])
    assert run_scene(scene, resume=True).resumed_after == 2


def test_a_skin_that_remembers_is_not_replayed(tmp_path, tiny_scene, monkeypatch):
    """Its memory and that of the sinks are in the checkpoint, so that no frame of the cache is read again."""
    skin = SkinTable("physical", {"sweeps": 2, "warm_start": "previous"})
    output = OutputTable(cache="a.cache", usd="hair.usda", metrics="metrics.json")
    for folder in ("whole", "parts"):
        (tmp_path / folder).mkdir()
    whole, parts = (tiny_scene(tmp_path / name, skin=skin, output=output, frame_count=6) for name in ("whole", "parts"))
    run_scene(whole)
    run_scene(replace(parts, frames=FramesTable(end=4)))
    read = []
    with monkeypatch.context() as patch:
        patch.setattr(Cache, "read_frame", lambda *args: read.append(args))
        run_scene(parts, resume=True)
    assert read == []
    assert bytes_of(tmp_path / "parts") == bytes_of(tmp_path / "whole")


def test_a_skin_with_other_settings_does_not_continue_files_of_the_old_one(tmp_path, tiny_scene):
    """Memory of a warm start means nothing to other settings, and one file must not hold hair of two skins."""
    warm = SkinTable("physical", {"sweeps": 2, "warm_start": "previous"})
    scene = tiny_scene(tmp_path, skin=warm, output=OutputTable(cache="a.cache", usd="hair.usda"), frame_count=5)
    run_scene(replace(scene, frames=FramesTable(end=3)))
    for settings in ({"sweeps": 2}, {"sweeps": 2, "warm_start": "previous", "alpha": 0.2}):
        other = replace(scene, skin=SkinTable("physical", settings))
        with pytest.raises(ValueError, match=r"cannot be resumed, usd has frames of another version or other settings"):
            run_scene(other, resume=True)
    # Where no file has hair yet, the guides are all that is resumed, and hair is made anew from the first frame on.
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    fresh = replace(scene, folder=elsewhere)
    run_scene(replace(fresh, frames=FramesTable(end=3), output=ONLY_CACHE))
    run_scene(fresh, resume=True)
    (tmp_path / "whole").mkdir()
    run_scene(replace(scene, folder=tmp_path / "whole"))
    for index in range(1, 6):
        name = f"hair.frames/frame.000{index}.usdc"
        assert (elsewhere / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_metrics_that_missed_frames_catch_up_with_their_flicker(tmp_path, tiny_scene):
    both = OutputTable(cache="a.cache", metrics="metrics.json")
    for folder in ("whole", "gap"):
        (tmp_path / folder).mkdir()
    run_scene(tiny_scene(tmp_path / "whole", output=both, frame_count=8))
    for end, output in ((4, both), (6, ONLY_CACHE), (8, both)):
        run_scene(tiny_scene(tmp_path / "gap", output=output, frame_count=end), resume=end > 4)
    assert (tmp_path / "gap" / "metrics.json").read_bytes() == (tmp_path / "whole" / "metrics.json").read_bytes()


def test_an_assembly_can_be_run_again(tmp_path, tiny_scene):
    """Hair that remembers begins anew, as the guides do."""
    skin = SkinTable("physical", {"sweeps": 2, "warm_start": "previous"})
    assembly = build(tiny_scene(tmp_path, skin=skin, output=OutputTable(usd="hair.usda")))
    run_assembly(assembly)
    first = bytes_of(tmp_path)
    run_assembly(assembly)
    assert bytes_of(tmp_path) == first


def test_a_bake_of_some_frames_with_a_skin_that_remembers_shows_it_all_of_them(tmp_path, tiny_scene):
    skin = SkinTable("physical", {"sweeps": 2, "warm_start": "previous"})
    run_scene(tiny_scene(tmp_path, skin=skin, output=OutputTable(cache="a.cache", usd="run.usda"), frame_count=5))
    bake_cache(tmp_path / "a.cache", OutputTable(usd="some.usda"), every=2)
    made = sorted(path.name for path in (tmp_path / "some.frames").glob("frame.*"))
    assert made == ["frame.0001.usdc", "frame.0003.usdc", "frame.0005.usdc"]
    for name in made:
        assert (tmp_path / "some.frames" / name).read_bytes() == (tmp_path / "run.frames" / name).read_bytes()


def test_five_lines_of_python_give_the_hair_of_a_scene(tmp_path, tiny_scene):
    """One way to make a skin: what the README does is what `mane simulate` does."""
    scene = tiny_scene(tmp_path, method="physical", output=OutputTable(usd="hair.usda"))
    run_scene(replace(scene, finish=FinishTable(push_out=False)))
    groom = mane.styles.make("ball", strands=60, vertices=8, seed=3, length=0.06)
    guides = mane.select_guides(groom, 6, seed=3)
    head = mane.make_motion("shake", ease_in=0.05, seed=3)
    body, cohesion = mane.styles.body("ball"), mane.forces.Attraction(rate=1.0)
    sim = mane.Simulation(guides, "cosserat", body=body, head=head, forces=[cohesion], substeps=2)
    skin = mane.skin("physical", groom, sim)
    for index in range(2, 5):
        points = skin(sim.step())
        assert mane.read_groom(tmp_path / "hair.usda", time=index).as_uniform().tobytes() == points.tobytes()


def test_a_groom_file_that_changed_is_noticed(tmp_path, tiny_scene):
    groom = mane.styles.make("ball", strands=30, vertices=8)
    mane.write_groom(tmp_path / "hair.npz", groom)
    scene = tiny_scene(tmp_path, groom=GroomTable(file="hair.npz"), output=ONLY_CACHE)
    run_scene(scene)
    mane.write_groom(tmp_path / "hair.npz", groom.with_points(groom.points * 1.01))
    with pytest.raises(ValueError, match="the hair are other ones"):
        run_scene(scene, resume=True)
    with pytest.raises(ValueError, match="cannot be baked"):
        bake_cache(Cache.open(tmp_path / "a.cache"), OutputTable(usd=str(tmp_path / "x.usda")))


def test_a_place_that_cannot_be_written_is_refused_at_once(tmp_path, tiny_scene):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"file/a.cache: its folder cannot be made"):
        run_scene(tiny_scene(tmp_path, output=OutputTable(cache="file/a.cache")))
    with pytest.raises(SceneError, match="must be a folder"):
        run_scene(tiny_scene(tmp_path, output=OutputTable(cache="file")))
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.txt").write_text("")
    with pytest.raises(SceneError, match=r"holds other things \(thesis.txt\)"):
        run_scene(tiny_scene(tmp_path, output=OutputTable(cache="home")))


def test_without_a_cache_nothing_can_be_resumed(tmp_path, tiny_scene):
    with pytest.raises(SceneError, match=r"\[output\] cache: must be given"):
        run_scene(tiny_scene(tmp_path), resume=True)


# -- baking ------------------------------------------------------------------------------------------------------------


def test_a_bake_is_what_the_run_would_have_written(tmp_path, tiny_scene):
    run_scene(tiny_scene(tmp_path, output=OutputTable(cache="a.cache", usd="run.usda"), method="physical"))
    cache = Cache.open(tmp_path / "a.cache")
    bake_cache(cache, OutputTable(usd="baked.usda"))
    for file in (tmp_path / "run.frames").glob("frame.*"):
        assert file.read_bytes() == (tmp_path / "baked.frames" / file.name).read_bytes()


def test_a_bake_as_a_layer_over_the_groom_is_what_the_run_would_have_written(tmp_path, tiny_scene):
    mane.write_groom(tmp_path / "artist.usda", mane.styles.make("ball", strands=30, vertices=8))
    output = OutputTable(cache="a.cache", usd="run.usda", usd_layer=True)
    run_scene(tiny_scene(tmp_path, groom=GroomTable(file="artist.usda"), output=output))
    summary = bake_cache(tmp_path / "a.cache", OutputTable(usd="baked.usda", usd_layer=True), every=2)
    assert summary.frames == 2
    for index in (1, 3):
        name = f"frame.000{index}.usdc"
        assert (tmp_path / "baked.frames" / name).read_bytes() == (tmp_path / "run.frames" / name).read_bytes()
    assert "artist.usda" in (tmp_path / "baked.usda").read_text()
    moved = mane.read_groom(tmp_path / "baked.usda", time=3)
    np.testing.assert_array_equal(moved.points, mane.read_groom(tmp_path / "run.usda", time=3).points)


def test_a_layer_needs_a_usd_groom(tmp_path, tiny_scene):
    run_scene(tiny_scene(tmp_path, output=ONLY_CACHE))
    with pytest.raises(ValueError, match="must lie over the groom's own USD file"):
        bake_cache(tmp_path / "a.cache", OutputTable(usd="baked.usda", usd_layer=True))


def test_a_bake_with_another_skin_fewer_strands_and_frames(tmp_path, tiny_scene):
    run_scene(tiny_scene(tmp_path, output=ONLY_CACHE, method="linear"))
    cache = Cache.open(tmp_path / "a.cache")
    scene = replace(cache.scene, skin=SkinTable("rigid"))
    summary = bake_cache(cache, OutputTable(usd="few.usda"), scene=scene, strands=20, every=3)
    assert (summary.frames, summary.strands) == (2, 20)
    assert sorted(path.name for path in (tmp_path / "few.frames").glob("frame.*")) == [
        "frame.0001.usdc",
        "frame.0004.usdc",
    ]
    few = mane.read_groom(tmp_path / "few.usda", time=1)
    everyone = build(cache.scene).hair.groom
    assert few.strand_count == 20
    assert {tuple(root) for root in few.roots} <= {tuple(root) for root in everyone.roots}


def test_frames_are_those_of_the_simulation_itself(tmp_path, tiny_scene):
    """The loop adds nothing: stepping by hand gives the same bytes."""
    scene = tiny_scene(tmp_path, output=ONLY_CACHE)
    run_scene(scene)
    simulation = build(scene).source
    by_hand = [simulation.frame, *(simulation.step() for _ in range(3))]
    cache = Cache.open(tmp_path / "a.cache")
    for index, frame in enumerate(by_hand, 1):
        for name in ARRAYS:
            assert getattr(cache.read_frame(index), name).tobytes() == getattr(frame, name).tobytes()
    assert points_of(cache).shape == (4, 6, 8, 3)
