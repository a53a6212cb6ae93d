"""Air: drag of thin cylinders, wind with gusts, and what shelters from it."""
