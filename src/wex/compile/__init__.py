"""From the meaning of a spec to its plan: guards, letters, automata, normal form, smaller form."""
