"""Guides by partitioning a graph of hairs that move alike, as before chai2017 (its reference [33], fig. 9).

chai2017 6.3 says of [33] that it clusters all hairs by how alike they moved, on a graph, and takes one guide of each
cluster. Here hairs are nodes, each joined to those that moved most like it; a multilevel partition in the manner of
METIS makes the clusters: edges are contracted, the heaviest first, under a bound on sizes, then hairs at the border of
a cluster change to the one that they are joined to most. Its guide is the hair that is joined most to its own cluster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mane.geometry.checks import IntArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

NEIGHBOURS = 10
IMBALANCE = 1.5  # a cluster holds at most so many times the mean
REFINEMENTS = 8


def partition_guides(features: NDArray[np.float64], count: int) -> IntArray:
    """One hair of each of `count` clusters of hairs with these features (S, D), rising, (count,)."""
    graph = similarity_graph(features)
    cluster = refined(graph, contracted(graph, features, count), count)
    edges = graph.tocoo()
    own = cluster[edges.row] == cluster[edges.col]
    inside = np.bincount(edges.row[own], edges.data[own], minlength=len(cluster))
    order = np.lexsort((np.arange(len(cluster)), -inside, cluster))
    return np.sort(order[np.flatnonzero(np.diff(cluster[order], prepend=-1))])


def similarity_graph(features: NDArray[np.float64]) -> csr_array:
    """Weights between hairs that moved alike, symmetric, (S, S): exp(-d^2 / mean d^2), d between their motions."""
    from scipy.sparse import csr_array
    from scipy.spatial import cKDTree

    hairs, reach = len(features), min(NEIGHBOURS + 1, len(features))
    distance, near = cKDTree(features).query(features, k=np.arange(1, reach + 1))
    scale = max(float((distance**2).mean()), 1e-30)
    rows = np.repeat(np.arange(hairs), reach)
    others = near.ravel() != rows
    weight = np.exp(-(distance.ravel()[others] ** 2) / scale)
    one_way = csr_array((weight, (rows[others], near.ravel()[others])), shape=(hairs, hairs))
    return one_way.maximum(one_way.T).tocsr()


def contracted(graph: csr_array, features: NDArray[np.float64], count: int) -> IntArray:
    """Clusters (S,), numbers below `count`, by contracting edges, the heaviest first, while none is too large."""
    hairs = graph.shape[0]
    edges = graph.tocoo()
    order = np.lexsort((edges.col, edges.row, -edges.data))
    largest = IMBALANCE * hairs / count
    parent, size, left = np.arange(hairs), np.ones(hairs, np.int64), hairs
    for a, b in zip(edges.row[order].tolist(), edges.col[order].tolist(), strict=True):
        if left == count:
            break
        first, second = _head(parent, a), _head(parent, b)
        if first != second and size[first] + size[second] <= largest:
            parent[second], left = first, left - 1
            size[first] += size[second]
    heads = np.array([_head(parent, hair) for hair in range(hairs)])
    return _merged(heads, features, count)


def _head(parent: IntArray, hair: int) -> int:
    while parent[hair] != hair:
        parent[hair] = parent[parent[hair]]
        hair = int(parent[hair])
    return hair


def _merged(heads: IntArray, features: NDArray[np.float64], count: int) -> IntArray:
    """Number clusters, after the smallest ones went to the cluster whose middle is nearest, until `count` are left."""
    _, cluster = np.unique(heads, return_inverse=True)
    while cluster.max() >= count:
        size = np.bincount(cluster)
        middle = np.stack([np.bincount(cluster, column) for column in features.T], axis=1) / size[:, None]
        smallest = int(size.argmin())
        away = ((middle - middle[smallest]) ** 2).sum(axis=1)
        away[smallest] = np.inf
        cluster[cluster == smallest] = int(away.argmin())
        _, cluster = np.unique(cluster, return_inverse=True)
    return cluster.astype(np.int64)


def refined(graph: csr_array, cluster: IntArray, count: int) -> IntArray:
    """Clusters (S,) after hairs went, one by one, to the cluster that they are joined to most, if it has room."""
    cluster, largest = cluster.copy(), IMBALANCE * len(cluster) / count
    size = np.bincount(cluster, minlength=count)
    starts, ends, weight = graph.indptr, graph.indices, graph.data
    for _ in range(REFINEMENTS):
        moved = 0
        for hair in range(len(cluster)):
            near = slice(starts[hair], starts[hair + 1])
            joined = np.bincount(cluster[ends[near]], weight[near], minlength=count)
            best, own = int(joined.argmax()), cluster[hair]
            if joined[best] > joined[own] and size[best] < largest and size[own] > 1:
                cluster[hair] = best
                size[own], size[best] = size[own] - 1, size[best] + 1
                moved += 1
        if moved == 0:
            break
    return cluster
