"""How guides move: three interchangeable strand models, their materials, and the ports that the world acts through.

`solver.SOLVERS` is the table of models, `model.StrandModel` what they all read, `ports` what acts on them from outside.
"""
