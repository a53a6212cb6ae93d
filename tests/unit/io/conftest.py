"""Set-up for the tests of files."""

from hypothesis import settings

# The first example of a test may import a library; how long that takes says nothing about right or wrong.
settings.register_profile("without deadline", deadline=None)
settings.load_profile("without deadline")
