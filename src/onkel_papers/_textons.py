"""The POLK paper's "brodatz": histograms of textons in patches of texture images, from the images themselves.

The 13 textures are those of the USC-SIPI set, since the paper does not name its own. A pixel is described by gaussian
derivatives up to the second order at three scales (a filter of Leung and Malik at any angle is a sum of these), a
texton is a cluster of such descriptions, and a patch is described by the fraction of its pixels that belong to each
texton.
"""

from __future__ import annotations

import hashlib
import os
import tarfile
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter
from sklearn.cluster import MiniBatchKMeans
from sklearn.metrics import pairwise_distances_argmin

from onkel_papers._data import Missing

ARCHIVE = "brodatz-textures.tar"  # in the folder ONKEL_DATA; there is no address to fetch it from
_SHA256 = "9bd65ce99ba0741271ee21b7f3e29d2a38820d7993ae765f3b6f7b5fd9e78c93"
TEXTURES = (9, 12, 15, 16, 19, 24, 29, 38, 68, 84, 92, 94, 112)
N_TEXTONS = 256
PATCH = 24
_SCALES = (1.0, 2.0, 4.0)
_ORDERS = ((0, 0), (0, 1), (1, 0), (0, 2), (1, 1), (2, 0))
_PIXELS = 50_000  # the number of pixels that the textons are learned from

Image = NDArray[np.float32]


def brodatz(n_train: int = 10_000, n_test: int = 5_000) -> tuple[Any, Any, Any, Any]:
    """Return training histograms and labels, then those of the test set."""
    X, y = _patches(n_train + n_test)
    return X[:n_train], y[:n_train], X[n_train:], y[n_train:]


@lru_cache(maxsize=1)
def _patches(n: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    return histograms(textures(), n)


def textures() -> list[Image]:
    """Return the images."""
    path = Path(os.environ.get("ONKEL_DATA", "")) / ARCHIVE
    if not path.exists():
        raise Missing(f"brodatz cannot be fetched: put {ARCHIVE} in a folder and set ONKEL_DATA to it")
    if (digest := hashlib.sha256(path.read_bytes()).hexdigest()) != _SHA256:
        raise Missing(f"{path} is not the expected file: its SHA-256 is {digest}, expected {_SHA256}")
    with tarfile.open(path) as archive:
        files = [archive.extractfile(f"brodatz-textures/D{number}.gif") for number in TEXTURES]
        return [decode_gif(file.read()) for file in files if file is not None]


def histograms(
    images: list[Image], n_patches: int, *, n_textons: int = N_TEXTONS, patch: int = PATCH, seed: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the histograms of random patches, which are a function of the images and the seed, and their labels.

    Parameters
    ----------
    images : list of ndarray of shape (height, width)
    n_patches : int
        Number of patches, drawn without replacement from all positions in all images.
    n_textons : int, default=256
    patch : int, default=24
        Side of a patch in pixels.
    seed : int, default=0

    Examples
    --------
    >>> stripes = np.tile(np.float32([0, 1]), (32, 16))
    >>> X, y = histograms([stripes, stripes.T], 20, n_textons=4, patch=8)
    >>> X.shape, X.sum(axis=1).round(9).tolist() == [1.0] * 20, sorted(set(y.tolist()))
    ((20, 4), True, [0, 1])
    """
    rng = np.random.default_rng(seed)
    described = [_described(image) for image in images]
    pixels = np.concatenate([pixel.reshape(-1, pixel.shape[-1]) for pixel in described])
    some = pixels[np.sort(rng.choice(len(pixels), min(_PIXELS, len(pixels)), replace=False))]
    clusters = MiniBatchKMeans(n_textons, batch_size=4096, n_init=1, random_state=seed).fit(some)
    maps = [
        pairwise_distances_argmin(pixel.reshape(-1, pixel.shape[-1]), clusters.cluster_centers_).reshape(
            pixel.shape[:2]
        )
        for pixel in described
    ]
    shapes = np.array([(height - patch + 1, width - patch + 1) for height, width in (m.shape for m in maps)])
    ends = np.cumsum(shapes.prod(axis=1))
    places = rng.choice(ends[-1], n_patches, replace=False)
    labels = np.searchsorted(ends, places, side="right")
    histograms = np.empty((n_patches, n_textons))
    for i, (label, place) in enumerate(zip(labels, places - (ends - shapes.prod(axis=1))[labels], strict=True)):
        top, left = divmod(int(place), int(shapes[label, 1]))
        inside = maps[label][top : top + patch, left : left + patch]
        histograms[i] = np.bincount(inside.ravel(), minlength=n_textons)
    return histograms / patch**2, labels.astype(np.int64)


def _described(image: Image) -> Image:
    """The scale-normalised derivatives at each pixel of an image, standardised to mean 0 and variance 1."""
    normal = (image - image.mean()) / max(float(image.std()), 1e-6)
    return np.stack(
        [
            scale ** sum(order) * (2**0.5 if order == (1, 1) else 1.0) * gaussian_filter(normal, scale, order=order)
            for scale in _SCALES
            for order in _ORDERS
        ],
        axis=-1,
        dtype=np.float32,
    )


def decode_gif(data: bytes) -> Image:
    """Return the first image of a GIF file as grey levels: a small reader, so that 13 images need no library."""
    if data[:6] not in (b"GIF87a", b"GIF89a"):
        raise ValueError(f"expected a GIF file, got a file that begins with {data[:6]!r}")
    palette, place = _palette(data, data[10], 13)
    while data[place] != 0x2C:  # everything before the image is an extension
        _, place = _blocks(data, place + 2)
    width, height = (int.from_bytes(data[place + i : place + i + 2], "little") for i in (5, 7))
    flags = data[place + 9]
    own, place = _palette(data, flags, place + 10)
    pixels = np.frombuffer(_unpacked(_blocks(data, place + 1)[0], data[place]), np.uint8, width * height)
    colours = palette if own is None else own
    if colours is None:
        raise ValueError("the GIF file has no colours")
    grey = colours[pixels].mean(axis=1, dtype=np.float32).reshape(height, width)
    if not flags & 64:
        return np.asarray(grey)
    rows = np.concatenate([np.arange(first, height, step) for first, step in ((0, 8), (4, 8), (2, 4), (1, 2))])
    in_order = np.empty_like(grey)
    in_order[rows] = grey
    return np.asarray(in_order)


def _palette(data: bytes, flags: int, place: int) -> tuple[NDArray[np.uint8] | None, int]:
    """The palette at this place, if there is one, and the place after it."""
    if not flags & 128:
        return None, place
    n = 2 << (flags & 7)
    return np.frombuffer(data, np.uint8, 3 * n, place).reshape(n, 3), place + 3 * n


def _blocks(data: bytes, place: int) -> tuple[bytes, int]:
    """The data blocks at this place, joined, and the place after them."""
    blocks = []
    while data[place]:
        blocks.append(data[place + 1 : place + 1 + data[place]])
        place += 1 + data[place]
    return b"".join(blocks), place + 1


def _unpacked(packed: bytes, least: int) -> bytes:
    """Decompress the LZW of GIF: codes grow from least + 1 to 12 bits as words are added to the dictionary."""
    clear = 1 << least
    words: list[bytes] = []
    width, bits, n_bits, last = least + 1, 0, 0, b""
    unpacked: list[bytes] = []
    for byte in packed:
        bits |= byte << n_bits
        n_bits += 8
        while n_bits >= width:
            code = bits & ((1 << width) - 1)
            bits >>= width
            n_bits -= width
            if code == clear:
                words = [bytes([i]) for i in range(clear)] + [b"", b""]
                width, last = least + 1, b""
            elif code == clear + 1:
                return b"".join(unpacked)
            else:
                word = words[code] if code < len(words) else last + last[:1]
                unpacked.append(word)
                if last and len(words) < 4096:
                    words.append(last + word[:1])
                    if len(words) == 1 << width and width < 12:
                        width += 1
                last = word
    return b"".join(unpacked)
