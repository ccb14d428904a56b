"""Tables into numbers: the encoder of columns, the scalers, and pipelines of them with a learner."""
