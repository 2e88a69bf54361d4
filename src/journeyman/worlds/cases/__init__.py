"""Environment types told as cases: a derivation, its traps, its sources; the realisations are made from these alone."""
