"""Linear hair skinning (hsu2024 eq. 9)."""
