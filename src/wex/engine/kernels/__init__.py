"""The inner loops, compiled by numba: generic tables in, arrays out, nothing compiled per spec.

This package is the only place that imports numba. Compiled code is kept on disk, beside the
modules or where NUMBA_CACHE_DIR says; where nothing can be written it is compiled in each process.
"""
