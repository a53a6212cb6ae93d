"""What is learned is the same bytes whatever number of threads the linear algebra of NumPy has."""

import numpy as np
from threadpoolctl import threadpool_limits

from learned_hair import KnownHair
from mane.dataset.learn.adaptive import AdaptiveTraining, learn_from_motion
from mane.dataset.learn.motion import TrainingMotion
from mane.groom import styles
from mane.reduced.training import MultilinearTraining, fit_model


def shaken_hair(hairs=1500, frames=60, vertices=12):
    """Hairs that swing by few mixtures of a few motions, so that many are equally far from each other."""
    rng = np.random.default_rng(2)
    rest = styles.make("straight", strands=hairs, vertices=vertices, seed=1).as_uniform()
    swing = np.cumsum(rng.normal(0, 1e-3, (6, frames, 1, 3)), axis=1) * np.linspace(0, 1, vertices)[:, None] ** 2
    displacement = np.einsum("sk,kfvc->sfvc", rng.integers(-1, 2, size=(hairs, 6)), swing).astype(np.float32)
    return TrainingMotion(rest, displacement, np.arange(frames) == 0, 0.04)


def arrays_of(file):
    return {name: array.tobytes() for name, array in file.arrays.items()}


def test_an_adaptive_model():
    motion = shaken_hair()
    models = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            models.append(arrays_of(learn_from_motion(motion, AdaptiveTraining(guides=40)).to_file()))
    assert models[0] == models[1]


def test_a_multilinear_model():
    rest = styles.make("straight", strands=150, vertices=15, seed=1).as_uniform()
    hair = KnownHair((("softness", [1, 2]),), rest=np.stack([rest, rest]), motions=5, frames=80)
    models = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            models.append(arrays_of(fit_model(hair, MultilinearTraining(dimensions=100)).model.to_file()))
    assert models[0] == models[1]
