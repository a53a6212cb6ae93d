"""Learned sets of the adaptive skin: what is chosen frame after frame, and what hairs come to, against plain NumPy."""

from itertools import combinations

import numpy as np
import pytest
from skin_frames import curls, frame_of

from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.skin.adaptive import _reference as reference
from mane.skin.adaptive.model import LOG_UNIT, AdaptiveModel
from mane.skin.adaptive.skin import AdaptiveSkin

HAIRS, GUIDES, ELIGIBLE, VERTICES = 24, 9, 6, 7


def model_of_random_sets(degree=0, seed=0, **facts):
    """A lock of curls of one length and a model whose sets, errors and weights are drawn at random."""
    rng = np.random.default_rng(seed)
    bent = curls(HAIRS, VERTICES, seed=2)
    points, roots = bent.as_uniform(), bent.roots[:, None]
    groom = Groom.from_uniform(roots + 0.15 / bent.lengths[:, None, None] * (points - roots))
    slots = np.stack([rng.permutation(GUIDES)[:ELIGIBLE] for _ in range(HAIRS)]).astype(np.int32)
    several = [mask for mask in range(1, 1 << ELIGIBLE) if 2 <= mask.bit_count() <= 4]
    singles = [1 << a for a in range(ELIGIBLE)]
    masks, errors, coefficients = [], [], []
    for _ in range(HAIRS):
        own = [*rng.choice(several, 20, replace=False), *rng.permutation(singles)]
        masks += own
        errors += [0, *np.sort(rng.choice(np.arange(1, 60), len(own) - 1, replace=False))]
        for mask in own:
            weights = rng.uniform(0.1, 1, (int(mask).bit_count(), 1))
            bends = 0.4 * rng.normal(size=(len(weights), degree))
            coefficients.append(np.hstack([weights / weights.sum(), bends - bends.mean(axis=0)]))
    scale = 1e-4
    pairs = np.array(list(combinations(range(GUIDES), 2)))
    model = AdaptiveModel(
        guides=np.arange(GUIDES),
        slots=slots,
        counts=np.full(HAIRS, ELIGIBLE, np.int32),
        first=np.arange(HAIRS + 1, dtype=np.int64) * 26,
        masks=np.array(masks, np.uint16),
        log_error=np.array(errors, np.uint8),
        coefficients=np.rint(np.concatenate(coefficients) / scale).astype(np.int16),
        scale=scale,
        pairs=pairs,
        position=np.ones(len(pairs)),
        velocity=np.ones(len(pairs)),
        usual=np.ones(len(pairs)),
        facts=facts,
    )
    model.check("model")
    return groom, Guides.chosen(groom, model.guides), model


class RandomEdges:
    """Puts edges that are drawn at random in the place of those of a graph, and keeps them as matrices."""

    def __init__(self, skin, probability, seed=0):
        self._rng, self._graph, self.probability = np.random.default_rng(seed), skin.graph, probability
        skin.graph.update = self.update

    def update(self, *_):
        graph, (i, j) = self._graph, self._graph.scale.pairs.T
        has_edge = self._rng.random(len(i)) < self.probability
        graph.difference[:] = self._rng.random(len(i))
        self.edges, self.difference = np.eye(GUIDES, dtype=bool), np.full((GUIDES, GUIDES), np.inf)
        self.edges[i, j] = self.edges[j, i] = has_edge
        self.difference[i, j] = self.difference[j, i] = graph.difference
        words = self.edges.astype(np.uint64) << np.arange(GUIDES, dtype=np.uint64)
        graph.edges[:, 0] = words.sum(axis=1)


def moved_frames(guides, count, seed=5):
    """Guides that bend far, another way in every frame, with their roots where they were."""
    rng = np.random.default_rng(seed)
    along = np.linspace(0, 1, guides.vertex_count)[:, None]
    for _ in range(count):
        shift = rng.normal(0, 0.01, (guides.capacity, 1, 3)) * along + rng.normal(0, 0.02, (1, 1, 3)) * along**2
        yield frame_of(guides, points=guides.rest + shift)


def sets_of(model, s):
    """Sets of a hair as frozensets of slots -> their number, error over that of the best and coefficients."""
    found = {}
    starts = np.concatenate([[0], np.cumsum(np.bitwise_count(model.masks).astype(int))])
    for number, k in enumerate(range(model.first[s], model.first[s + 1])):
        members = [int(model.slots[s, a]) for a in range(ELIGIBLE) if int(model.masks[k]) >> a & 1]
        own = model.scale * model.coefficients[starts[k] : starts[k + 1]].astype(np.float64)
        # Guides of a set stand in the order of their bits.
        found[frozenset(members)] = number, float(np.exp(LOG_UNIT * model.log_error[k])), members, own
    return found


@pytest.mark.parametrize("hysteresis", [1.0, 1.2])
def test_the_best_valid_set_is_chosen_and_kept_while_it_is_nearly_as_good(hysteresis):
    groom, guides, model = model_of_random_sets()
    skin = AdaptiveSkin(groom, guides, model=model, use_motion=True, hysteresis=hysteresis)
    random = RandomEdges(skin, 0.6)
    sets = [sets_of(model, s) for s in range(HAIRS)]
    held = [next(iter(own)) for own in sets]
    kept, changed = 0, 0
    for number, frame in enumerate(moved_frames(guides, 5)):
        random.probability = 1.0 if number == 4 else 0.6
        skin(frame)
        for s, own in enumerate(sets):
            valid = reference.valid_sets(own, random.edges)
            best = min(valid, key=lambda one, own=own: own[one][1])
            last = held[s]
            if last in valid and own[last][1] <= hysteresis * own[best][1]:
                kept += last != best
            else:
                changed += last != best
                held[s] = best
            assert frozenset(skin.hangs_on(s)) == held[s]
    assert changed > HAIRS
    assert (kept > 0) == (hysteresis > 1)
    # Every guide is connected to every other one in the last frame: hairs are back at a set about as good as the best.
    assert all(own[frozenset(skin.hangs_on(s))][1] <= hysteresis for s, own in enumerate(sets))


@pytest.mark.parametrize("degree", [0, 2])
@pytest.mark.parametrize("use_frames", [False, True])
def test_learned_sets_as_printed_move_hairs_least_and_hairs_never_come_back(degree, use_frames):
    """Algorithm 1 and eq. 3 over five frames, in states of positions and tangents, with weights below zero."""
    groom, guides, model = model_of_random_sets(degree, use_frames=use_frames)
    skin = AdaptiveSkin(groom, guides, model=model, paper=True)
    random = RandomEdges(skin, 0.6)
    rest, hairs = guides.rest.astype(np.float64), groom.as_uniform().astype(np.float64)
    sets = [sets_of(model, s) for s in range(HAIRS)]
    held, below, smaller = [next(iter(own)) for own in sets], 0, 0
    for number, frame in enumerate(moved_frames(guides, 5)):
        random.probability = 1.0 if number == 4 else 0.6
        made, now = skin(frame).astype(np.float64), frame.points.astype(np.float64)
        groups = reference.cliques(random.edges, random.difference)
        for s, own in enumerate(sets):
            carried = {
                g: np.hstack(reference.carried(hairs[s], rest[g], now[g], use_frames=use_frames))
                for g in map(int, model.slots[s])
            }

            def of_set(one, own=own, carried=carried):
                _, _, members, coefficients = own[one]
                weights = reference.played_weights(coefficients, VERTICES, negative_weights=True)
                return reference.interpolated(carried, dict(zip(members, weights, strict=True)))

            candidates = [one for one in reference.candidates(own, groups) if one in own]
            expected = reference.closest_to_last(of_set, candidates, held[s])
            chosen = frozenset(skin.hangs_on(s))
            ways = [((of_set(one) - of_set(held[s])) ** 2).sum() for one in (chosen, expected)]
            assert chosen in candidates
            assert ways[0] == pytest.approx(ways[1], rel=1e-4, abs=1e-9)
            np.testing.assert_allclose(made[s], of_set(chosen)[:, :3], atol=1e-4)
            below += (reference.played_weights(own[chosen][3], VERTICES, negative_weights=True) < -0.01).sum()
            smaller += len(chosen) < len(held[s])
            if number == 4:
                assert chosen == held[s]  # where every set is valid the last one is the closest, however bad
            held[s] = chosen
    assert smaller > HAIRS / 2
    assert (below > 0) == (degree == 2)
    assert np.mean([len(one) for one in held]) < 2
    assert sum(own[one][0] == 0 for own, one in zip(sets, held, strict=True)) < HAIRS / 4


@pytest.mark.parametrize("use_frames", [False, True])
@pytest.mark.parametrize("negative_weights", [False, True])
@pytest.mark.parametrize("degree", [0, 1, 2])
def test_hairs_of_learned_sets_are_those_of_eq_5(degree, negative_weights, use_frames):
    """Also where eq. 6 is below zero, clipped or as it is, and where guides turn what they carry."""
    facts = {"use_frames": use_frames, "negative_weights": negative_weights}
    groom, guides, model = model_of_random_sets(degree, seed=1, **facts)
    skin = AdaptiveSkin(groom, guides, model=model)
    assert skin.params.use_frames == use_frames
    hairs = groom.as_uniform().astype(np.float64)
    for frame in moved_frames(guides, 2):
        made = skin(frame)
        for s in range(HAIRS):
            _, _, members, coefficients = next(iter(sets_of(model, s).values()))
            weights = reference.played_weights(coefficients, VERTICES, negative_weights=negative_weights)
            states = {
                g: reference.carried(
                    hairs[s], guides.rest[g].astype(np.float64), frame.points[g].astype(np.float64),
                    use_frames=use_frames,
                )[0]
                for g in members
            }  # fmt: skip
            expected = reference.interpolated(states, dict(zip(members, weights, strict=True)))
            np.testing.assert_allclose(made[s], expected, atol=1e-4)
            np.testing.assert_allclose(
                skin.sets.weights(skin.tables, np.array([s]), skin.chosen)[0].sum(axis=0), 1, atol=1e-9
            )
