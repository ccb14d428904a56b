"""The texture pipeline: its reader of images against another, and histograms that tell textures apart."""

import hashlib
import io
import tarfile

import numpy as np
import pytest
from PIL import Image
from sklearn.neighbors import KNeighborsClassifier

from looping import loop
from onkel_papers import _textons
from onkel_papers._data import Missing


def texture(kind, side=96):
    """Stripes of one of several widths and directions, with noise."""
    noise = np.random.default_rng(kind).normal(0, 0.2, (side, side))
    wave = np.sin(np.arange(side) * (0.4 + 0.3 * (kind // 2)))
    plane = np.tile(wave, (side, 1))
    return ((plane.T if kind % 2 else plane) + noise).astype(np.float32)


def as_gif(image, **options):
    grey = ((image - image.min()) / np.ptp(image) * 255).astype(np.uint8)
    file = io.BytesIO()
    Image.fromarray(grey).save(file, "GIF", **options)
    return file.getvalue(), grey


@loop
@pytest.mark.parametrize("interlace", [0, 1])
@pytest.mark.parametrize("shape", [(1, 1), (7, 3), (65, 40), (96, 96)])
def test_gif_files_are_read_as_others_read_them(shape, interlace):
    data, grey = as_gif(np.random.default_rng(1).normal(size=shape) if min(shape) > 1 else np.float32([[0, 1]]),
                        interlace=interlace)  # fmt: skip
    np.testing.assert_array_equal(_textons.decode_gif(data), grey)


def test_a_file_of_another_kind_is_refused():
    with pytest.raises(ValueError, match=r"expected a GIF file, got a file that begins with b'\\x89PNG"):
        _textons.decode_gif(b"\x89PNG\r\n")


def test_histograms_are_the_same_each_time_and_tell_textures_apart():
    images = [texture(kind) for kind in range(4)]
    X, y = _textons.histograms(images, 300, n_textons=16, patch=16)
    again, labels = _textons.histograms(images, 300, n_textons=16, patch=16)
    np.testing.assert_array_equal(X, again)
    np.testing.assert_array_equal(y, labels)
    np.testing.assert_allclose(X.sum(axis=1), 1)
    assert np.bincount(y).min() > 40
    assert KNeighborsClassifier(1).fit(X[:200], y[:200]).score(X[200:], y[200:]) > 0.95


def test_contrast_does_not_matter():
    images = [texture(kind) for kind in range(2)]
    X, _ = _textons.histograms(images, 50, n_textons=8, patch=16)
    other, _ = _textons.histograms([3 * images[0] + 7, images[1]], 50, n_textons=8, patch=16)
    np.testing.assert_allclose(X, other, atol=0.02)


def test_images_come_from_the_archive(tmp_path, monkeypatch):
    with tarfile.open(tmp_path / "brodatz-textures.tar", "w") as archive:
        for i, number in enumerate(_textons.TEXTURES):
            data, _ = as_gif(texture(i, side=48))
            info = tarfile.TarInfo(f"brodatz-textures/D{number}.gif")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    monkeypatch.setenv("ONKEL_DATA", str(tmp_path))
    with pytest.raises(Missing, match=r"brodatz-textures.tar is not the expected file: its SHA-256 is "):
        _textons.textures()
    digest = hashlib.sha256((tmp_path / "brodatz-textures.tar").read_bytes()).hexdigest()
    monkeypatch.setattr(_textons, "_SHA256", digest)
    _textons._patches.cache_clear()
    X, y, X_test, y_test = _textons.brodatz(400, 100)
    _textons._patches.cache_clear()
    assert X.shape == (400, 256)
    assert X_test.shape == (100, 256)
    assert set(y) == set(range(13)) >= set(y_test)


def test_without_the_archive_the_set_is_missing(monkeypatch):
    monkeypatch.delenv("ONKEL_DATA", raising=False)
    _textons._patches.cache_clear()
    with pytest.raises(Missing, match=r"put brodatz-textures.tar in a folder and set ONKEL_DATA to it"):
        _textons.brodatz()
