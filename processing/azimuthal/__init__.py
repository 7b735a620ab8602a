"""The machinery of azimuthal integration: a sparse matrix, made by pyFAI, kept in a file, multiplied by ours.

`plan.py` says what is integrated, `build.py` lets pyFAI make the matrix in a process of its own,
`kept.py` keeps it in a folder for all workers of a host, `matrix.py` is its file, `product.py` multiplies;
`poni.py` reads a .poni file,
`facts.py` is what is taken from a series and that.
"""
