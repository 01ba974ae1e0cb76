"""The steps that `real_steps.py` prints, by subject, and what they are made of."""
