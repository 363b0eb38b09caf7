"""Machines: the automata of a planned window as tables for the kernels."""
