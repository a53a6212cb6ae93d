"""The protocol of all stages of a frame, and what serves each of them: tables, timings, checkpoints."""
