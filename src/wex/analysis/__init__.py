"""Static analysis: what a spec can do on every stream, before it has seen one.

question → space (regions) → contexts → counts → verdicts and witnesses
"""
