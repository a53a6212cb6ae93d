"""A tetrahedral mesh of the air around a body, which moves with it and carries hair (lee2018 3.1 to 3.3)."""
