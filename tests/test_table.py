"""The turns of a quick run: a test meets every learner and task, all tests together every dtype with every output."""

from table import CASES, WHOLE, cases, cases_of


def test_turns():
    met = set()
    for number in range(32):

        def test(case):
            pass

        test.__name__ = f"test_{number}"
        chosen = cases_of(cases()(test))
        assert {(c.named.name, c.task) for c in chosen} == {(c.named.name, c.task) for c in CASES}
        assert len(chosen) == len(CASES) // (1 if WHOLE else 4)
        met.update(map(str, chosen))
    assert met == set(map(str, CASES))
