"""The salon: hair in a browser that is combed by hand. A consumer of frames and a source of motion (docs/salon.md)."""
