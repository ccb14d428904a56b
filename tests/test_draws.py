"""The random numbers: Philox4x32-10 as published, uniform, and new ones for each purpose, kernel, step and index."""

import numpy as np
import pytest

from looping import loop
from onkel import _core


def philox(counter, key):
    """Philox4x32-10 (Salmon, Moraes, Dror and Shaw 2011), word by word."""
    (c0, c1, c2, c3), (k0, k1) = counter, key
    for _ in range(10):
        high0, low0 = divmod(0xD2511F53 * c0, 2**32)
        high1, low1 = divmod(0xCD9E8D57 * c2, 2**32)
        c0, c1, c2, c3 = high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0
        k0, k1 = (k0 + 0x9E3779B9) % 2**32, (k1 + 0xBB67AE85) % 2**32
    return c0, c1, c2, c3


# Random123's kat_vectors.
KNOWN = [
    ((0,) * 4, (0,) * 2, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        "d16cfe09 94fdcceb 5001e420 24126ea1",
    ),
]


@loop
@pytest.mark.parametrize(("counter", "key", "words"), KNOWN)
def test_philox_here_is_the_published_one(counter, key, words):
    assert philox(counter, key) == tuple(int(word, 16) for word in words.split())


def expected_uniform(seed, kernel, step, purpose, index):
    counter = (step % 2**32, step >> 32, index, kernel << 8 | purpose)
    high, low, *_ = philox(counter, (seed % 2**32, seed >> 32))
    return (high << 32 | low) // 2**11 * 2.0**-53


@loop
@pytest.mark.parametrize("seed", [0, 1, 2**32, 2**64 - 1, 0x299F31D0A4093822])
def test_the_core_draws_the_published_words(seed):
    for step in (0, 1, 2**31, 2**33 + 5, 2**62):
        for kernel, purpose, index in [(0, 0, 0), (3, 1, 2), (255, 2, 2**32 - 1)]:
            place = (seed, kernel, step, purpose, index)
            assert _core.uniform(*place) == expected_uniform(*place)


def test_first_known_answer_by_the_core():
    assert _core.uniform(0, 0, 0, 0) == (0x6627E8D5E169C58D >> 11) * 2.0**-53


def test_uniform():
    draws = np.array([_core.uniform(7, 0, t, 0) for t in range(1, 20_001)])
    assert draws.min() >= 0
    assert draws.max() < 1
    counts = np.histogram(draws, bins=20, range=(0, 1))[0]
    chi_squared = ((counts - 1000) ** 2 / 1000).sum()
    assert chi_squared < 43.8  # the 0.999 quantile with 19 degrees of freedom


@loop
@pytest.mark.parametrize("changed", ["seed", "kernel", "step", "purpose", "index"])
def test_each_coordinate_gives_other_numbers(changed):
    def draws(**coordinates):
        base = {"seed": 7, "kernel": 0, "purpose": 0, "index": 0}
        shift = coordinates.pop("step", 0)
        return np.array([_core.uniform(**(base | coordinates), step=t + shift) for t in range(1, 2001)])

    one, other = draws(), draws(**{changed: 8 if changed == "seed" else 1})
    assert not np.isclose(one, other).all()
    assert abs(np.corrcoef(one, other)[0, 1]) < 0.08  # 3.6 standard errors
