"""Steps that `training_steps.py` prints, by subject."""
