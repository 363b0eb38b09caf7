"""Pictures: automata, region graphs and streams as SVG, and what a notebook shows.

Nothing is imported here: `import wex` loads this package, so that the public function `wex.draw`
can have its name. Only `layout.py` needs a library for pictures, which is igraph.
"""
