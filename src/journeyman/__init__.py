"""journeyman: professional work into training signal, training signal into a better open model."""

__version__ = "0.1.0"
