"""The package loads what is asked for and no more: the command must start at once."""

import subprocess
import sys

import pytest

import onkel


def python(program):
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_bare_import_loads_no_library():
    loaded = python("import sys, onkel; print(*sys.modules)").split()
    assert "onkel" in loaded
    assert not {"numpy", "scipy", "sklearn", "onkel._core"} & set(loaded)


def test_every_public_name_is_there():
    for name in onkel.__all__:
        assert getattr(onkel, name) is not None
    assert set(onkel.__all__) <= set(dir(onkel))
    names = {}
    exec("from onkel import *", names)
    assert set(onkel.__all__) <= set(names)


def test_an_unknown_name_is_refused():
    with pytest.raises(AttributeError, match="module 'onkel' has no attribute 'SPAMClassifier'"):
        _ = onkel.SPAMClassifier


# What others wrote is loaded once; each of ours is the first in a process of its own.
FIRST = """
import importlib, os, traceback
import numpy, scipy.sparse, sklearn.base, sklearn.utils.validation

modules = "files.persistence recipes files.checkpoint preprocess.pipeline streams evaluate _core".split()
for module in modules:
    if pid := os.fork():
        assert os.waitpid(pid, 0)[1] == 0, module
        continue
    try:
        importlib.import_module(f"onkel.{module}")
        import onkel
        assert repr(onkel.OGDClassifier()) == "OGDClassifier()"
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)
"""


def test_any_module_may_be_the_first():
    python(FIRST)


def test_a_file_is_loaded_by_a_program_that_named_no_estimator(tmp_path):
    onkel.save(onkel.SPAClassifier(gamma=1.0), tmp_path / "model")
    assert python(f"from onkel.files.persistence import load; print(load({str(tmp_path / 'model')!r}))") == (
        "SPAClassifier(gamma=1.0)\n"
    )
