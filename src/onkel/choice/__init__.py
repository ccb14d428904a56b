"""What the rows decide about a learner: the kernel's width and the prior's λ."""
