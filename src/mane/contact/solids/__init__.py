"""Guides against solids: contact with friction as forces (`contact`), and what a step left inside (`projection`)."""
