"""The inner loops, compiled by numba: generic tables in, arrays out, nothing compiled per spec.

This package is the only place that imports numba. Compiled code is kept on disk: see `cache`.
"""
