"""Static analysis of a spec: properties that hold on every stream, found without data.

region query → region graph → contexts → counts of starts → verdicts and witnesses
"""
