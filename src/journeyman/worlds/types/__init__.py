"""One folder per environment type: truth, its two realisations, and the plans."""
