"""Recorded scenes that skins are studied on, which validations and reproductions share."""
