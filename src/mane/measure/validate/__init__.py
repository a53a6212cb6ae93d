"""Validations against closed forms and references: `mane validate NAME`."""
