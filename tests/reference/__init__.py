"""The papers' pseudo-code in plain NumPy, one row at a time: the oracle of every recipe.

One file a learner. Nothing here is fast, and nothing is taken from the C++ core but its uniform numbers.
"""
