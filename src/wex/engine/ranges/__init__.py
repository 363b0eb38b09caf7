"""One long stream, divided into ranges of events that run at the same time.

An automaton composes: what a range does to it is a function from states to states
(`composition`). So the state at the beginning of each range is known before the ranges run
(`range_run`). A start that is open there is not known; in its place stands a *phantom* for each
window state that is in use, and the windows that cross a border are joined from open starts and the ends of
phantoms (`crossing`). `division` does this on threads, `distribution` and
`joining` for tasks that share no memory.
"""
