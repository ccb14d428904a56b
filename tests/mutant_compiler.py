"""A compiler that remembers: `python mutant_compiler.py STORE g++ ... -o OBJECT -c SOURCE`.

An object is kept under a hash of the options and of what the preprocessor made of the source. So all workshops compile
a file once between them, and a file that is whole again after a mutant is not compiled again.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

OF_A_PLACE = ("-o", "-c", "-MF", "-MT", "-I", "-isystem")  # and what follows: says where, not what


def main(store: Path, command: list[str]) -> int:
    target = Path(command[command.index("-o") + 1])
    expanded = target.with_suffix(".expanded")
    words = {str(target): str(expanded), "-c": "-E"}
    if code := subprocess.call([*(words.get(word, word) for word in command), "-P"]):  # writes the dependencies, too
        return code
    digest = hashlib.sha256(expanded.read_bytes())
    expanded.unlink()
    for before, word in zip(["", *command], command, strict=False):
        if not word.startswith(OF_A_PLACE) and before not in OF_A_PLACE:
            digest.update(word.encode() + b"\0")
    kept = store / digest.hexdigest()
    if kept.exists():
        shutil.copyfile(kept, target)
        return 0
    if code := subprocess.call(command):
        return code
    store.mkdir(parents=True, exist_ok=True)
    unfinished = kept.with_suffix(f".{os.getpid()}")
    shutil.copyfile(target, unfinished)
    unfinished.rename(kept)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
