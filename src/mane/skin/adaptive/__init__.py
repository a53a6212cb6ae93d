"""Adaptive skinning (chai2017): the guides of every hair are chosen anew in every frame, by what solids let through."""
