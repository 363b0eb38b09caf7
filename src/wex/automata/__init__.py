"""Finite automata over letters: plain whole numbers, no theory inside.

Everything here is a function from frozen values to frozen values. Sets of letters are bit masks.
"""
