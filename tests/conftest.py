"""What all tests share: the environment, and Hypothesis profiles.

The examples are the same on every run, unless HYPOTHESIS_PROFILE=explore asks for new ones.
"""

import os
import signal

# The tests run in as many processes as there are cores; threads of BLAS that wait for one another would take them away.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from hypothesis import HealthCheck, settings

import native_build

# Tables are as wide as they need: the terminal that pytest runs in is not the one of the tests.
os.environ.pop("COLUMNS", None)

# A shell's background job ignores Ctrl-C, and so would the programs that tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile(
    "quick",
    derandomize=True,
    deadline=None,
    database=None,
    max_examples=10,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("whole", parent=settings.get_profile("quick"), max_examples=25)
settings.register_profile("explore", parent=settings.get_profile("quick"), derandomize=False, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "whole" if "ONKEL_WHOLE" in os.environ else "quick"))


def pytest_configure(config):
    """Let what is being compiled be seen: it may take a minute."""
    native_build.uncaptured = config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled


# Tests that start programs one after the other take the longest: they begin first, so that no core waits at the end.
LONG = (
    "test_native.py", "test_dask.py", "test_reproduce.py", "test_docs.py", "test_serve_kills.py", "test_examples.py",
    "test_cli.py", "test_checkpoint.py",
)  # fmt: skip


def pytest_collection_modifyitems(items):
    """Sort the tests; those of one file keep their order."""
    items.sort(key=lambda item: item.path.name not in LONG)
