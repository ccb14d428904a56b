"""A CSV with everything wrong in it: units, categories, gaps, dates, a column too many. Usage: messy_table.py FILE."""

import sys

import onkel

model = onkel.make_stream_pipeline()  # prepares each column by what it holds; learns with Newton
with onkel.streams.open(sys.argv[1], target="churn", drop=["customer"], table=True) as rows:
    curve = onkel.evaluate.progressive(model, rows)
print(model.transformers_[0].schema_)
print(f"accuracy {curve.last.accuracy:.3f}, majority class {curve.last.commonest:.3f}")
onkel.save(model, "churn.onkel")
customer = {"age": 33, "town": "Bern", "since": "2024-01-05", "late": True}
print(onkel.load("churn.onkel").predict([customer]))
