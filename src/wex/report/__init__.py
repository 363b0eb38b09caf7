"""Reports: one page of HTML about a spec and its windows in some data, without network.

`content` gathers what the page shows, within a size; `runs` has the runs of the automata around a
window, `columns` packs numbers and texts, and `page` puts all of it into a file. `page.html`, `page.js` and
`page.css` are its program and its looks.
"""
