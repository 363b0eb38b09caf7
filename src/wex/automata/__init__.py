"""Finite automata over letters 0, 1, …, independent of the theory that gives letters a meaning.

Functions take and return frozen values. Sets of letters are bit masks.
"""
