"""Motions of heads out of USD: a joint of a skeleton, a prim that moves, in any unit and with any axis up."""

import numpy as np
import pytest

import mane
from mane.geometry import quaternion
from mane.scene.parts import is_motion_file

HEADER = """#usda 1.0
(
    metersPerUnit = 0.01
    upAxis = "Z"
    timeCodesPerSecond = 24
)
"""
# The head was bound turned by a quarter about x, 160 cm above the hips. Within a second the hips go 50 cm along -y,
# which is forward, and the head turns by a sixth of a circle about the vertical.
SKELETON = """
def SkelRoot "Root"
{
    def Skeleton "Skel" (prepend apiSchemas = ["SkelBindingAPI"])
    {
        uniform token[] joints = ["Hips", "Hips/rig_Head"]
        uniform matrix4d[] bindTransforms = [
            ((1,0,0,0),(0,1,0,0),(0,0,1,0),(0,0,0,1)),
            ((1,0,0,0),(0,0,1,0),(0,-1,0,0),(0,0,160,1))]
        uniform matrix4d[] restTransforms = [
            ((1,0,0,0),(0,1,0,0),(0,0,1,0),(0,0,0,1)),
            ((1,0,0,0),(0,0,1,0),(0,-1,0,0),(0,0,160,1))]
        rel skel:animationSource = </Root/Skel/Anim>
        def SkelAnimation "Anim"
        {
            uniform token[] joints = ["Hips", "Hips/rig_Head"]
            float3[] translations.timeSamples = { 0: [(0,0,0), (0,0,160)], 24: [(0,-50,0), (0,0,160)] }
            quatf[] rotations.timeSamples = { 0: [(1,0,0,0), (0.70710678,0.70710678,0,0)], 24: [(1,0,0,0), %s] }
            half3[] scales = [(1,1,1), (1,1,1)]
        }
    }
}
"""
PRIMS = """
def Xform "Still" {}
def Xform "Group"
{
    double3 xformOp:translate = (0, 0, 100)
    uniform token[] xformOpOrder = ["xformOp:translate"]
    def Xform "Ball"
    {
        double xformOp:rotateX.timeSamples = { 0: 0, 12: 10 }
        uniform token[] xformOpOrder = ["xformOp:rotateX"]
    }
    def Xform "bone_head"
    {
        double3 xformOp:translate.timeSamples = { 0: (1, 0, 0), 24: (1, -50, 0) }
        double xformOp:rotateZ.timeSamples = { 0: 0, 24: 60 }
        uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:rotateZ"]
    }
}
"""


def write(path, text):
    path.write_text(HEADER + text)
    return path


def check(motion, turn=np.pi / 3):
    for time, share in ((0.0, 0.0), (1.0, 1.0)):
        pose = motion.pose(time)
        np.testing.assert_allclose(pose.position, [0, 0, 0.5 * share], atol=1e-6)
        expected = quaternion.exp(np.array([0.0, share * turn, 0.0]))
        assert abs(np.dot(pose.rotation, expected)) == pytest.approx(1.0, abs=1e-6)


def test_the_head_of_a_skeleton_is_turned_from_its_bind_pose(tmp_path):
    turn = quaternion.multiply(quaternion.exp(np.array([0, 0, np.pi / 3])), quaternion.exp(np.array([np.pi / 2, 0, 0])))
    x, y, z, w = turn
    path = write(tmp_path / "shot.usda", SKELETON % f"({w:.8f}, {x:.8f}, {y:.8f}, {z:.8f})")
    check(mane.read_motion(path))
    hips = mane.read_motion(path, prim="Hips")
    np.testing.assert_allclose(hips.pose(1.0).position, [0, 0, 0.5], atol=1e-6)
    assert abs(hips.pose(1.0).rotation[3]) == pytest.approx(1.0)
    with pytest.raises(ValueError, match=r"shot.usda: has no prim that is called 'Tail' and moves, .* it has Hips, "):
        mane.read_motion(path, prim="Tail")


def test_a_prim_that_moves_is_a_head(tmp_path):
    path = write(tmp_path / "shot.usda", PRIMS)
    check(mane.read_motion(path))
    check(mane.read_motion(path, prim="/Group/bone_head"))
    tilted = mane.read_motion(path, prim="Ball").pose(0.5)
    np.testing.assert_allclose(tilted.rotation, quaternion.exp(np.radians([10.0, 0.0, 0.0])), atol=1e-6)
    still = write(tmp_path / "still.usda", 'def Xform "Still" {}\n')
    with pytest.raises(
        ValueError, match=r"still.usda: has no prim that moves, and no joint that is called so; it has no"
    ):
        mane.read_motion(still)
    with pytest.raises(ValueError, match="prim: is for USD files"):
        mane.read_motion(tmp_path / "a.json", prim="x")
    assert is_motion_file("shot.USDA")
    assert not is_motion_file("shake")
