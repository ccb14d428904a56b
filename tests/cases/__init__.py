"""Whole cases, drawn at random: any learner × data × cuts × files × interruptions × what is done with the model.

A case is a function of one integer (`drawing.case_of`). It is a short program (`program.text_of`) that learns the same
rows in two ways, plainly in one call and disturbed in all that must not matter; `verdict.failure_of` runs both and
compares what they are left with, byte by byte. A case that fails is made smaller, and its program is what is printed.
"""
