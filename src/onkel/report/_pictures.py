"""Small grey pictures inside a page, as PNG that needs no library."""

from __future__ import annotations

import struct
import zlib
from base64 import b64encode
from collections.abc import Mapping, Sequence
from html import escape


def pictures(title: str, named: Mapping[str, Sequence[Sequence[int]]]) -> str:
    """Return a figure of grey pictures side by side.

    Parameters
    ----------
    title : str
    named : dict of lists of lists of int
        The pixels of each picture, lines from above, 0 black and 255 white.

    Examples
    --------
    >>> pictures("A square", {"white": [[255, 255], [255, 255]]}).count("<img")
    1
    """
    shown = "".join(
        f'<figure><img alt="{escape(name)}" src="data:image/png;base64,{b64encode(png(pixels)).decode()}">'
        f"<figcaption>{escape(name)}</figcaption></figure>"
        for name, pixels in named.items()
    )
    return f'<figure class="pictures"><figcaption>{escape(title)}</figcaption><div>{shown}</div></figure>'


def png(pixels: Sequence[Sequence[int]]) -> bytes:
    r"""Return a grey picture as a PNG file.

    >>> png([[0, 255]])[:8]
    b'\x89PNG\r\n\x1a\n'
    """

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", len(pixels[0]), len(pixels), 8, 0, 0, 0, 0)  # 8 bits of grey
    lines = b"".join(b"\0" + bytes(line) for line in pixels)  # no filter
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines, 9)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body
