"""What a file is by its contents, whatever its name says."""

from __future__ import annotations

from mane.io import alembic, ct2hair, data, hair, npy, npz, ply, tfx
from mane.io.buffers import Buffer
from mane.io.interleaved import parse_interleaved

# first bytes -> what such a file is, for formats that mane reads and for those that are often mistaken for them
MAGICS: tuple[tuple[bytes, str], ...] = (
    (hair.MAGIC, ".hair"),
    (npy.MAGIC, ".npy"),
    (b"PXR-USDC", ".usdc"),
    (b"#usda", ".usda"),
    (b"glTF", ".glb"),
    (b"solid ", ".stl"),
    *((magic, alembic.SUFFIX) for magic in alembic.MAGICS),
    (b"\x89PNG", ".png"),
    (b"\xff\xd8\xff", ".jpg"),
    (b"Kaydara FBX", ".fbx"),
    (b"BLENDER", ".blend"),
    (b"\x1f\x8b", ".gz"),
    (b"%PDF", ".pdf"),
    (b"\x80\x04\x95", ".pkl"),
)


def suffix_of_contents(buffer: Buffer) -> str | None:
    """Return the suffix that the contents deserve, e.g. ".hair", or None where they do not tell."""
    head = bytes(buffer[:16])
    for magic, suffix in MAGICS:
        if head.startswith(magic):
            return suffix
    if head.startswith(npz.MAGIC):
        return ".usdz" if b".usd" in bytes(buffer[:256]) else ".npz"
    if head.startswith(ply.MAGIC) and head[3:4] in (b"\n", b"\r"):
        return ".ply"
    if tfx.is_tfx(buffer):
        return ".tfx"
    return _interleaved(buffer)


def _interleaved(buffer: Buffer) -> str | None:
    """Tell the two formats without a magic number by whether their counts lead exactly to the end of the file."""
    for suffix, channels in ((".data", data.CHANNELS), (".bin", ct2hair.CHANNELS)):
        try:
            parse_interleaved(buffer, channels)
        except ValueError:
            continue
        return suffix
    return None
