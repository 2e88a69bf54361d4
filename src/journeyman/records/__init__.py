"""WHAT FLOWS: frozen pydantic types with no I/O. Import from the submodules."""
