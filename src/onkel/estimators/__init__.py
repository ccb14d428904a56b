"""scikit-learn's contract over the learners: the base, labels and targets, and one short class per named learner."""
