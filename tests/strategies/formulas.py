"""Random formulas as texts, over the stream `tests.analysis.small.FINITE`."""

from __future__ import annotations

from hypothesis import strategies as st

_predicates = ["ok", "[x = 'a']", "[x = x[-1]]"]
_places = ["begin", "end", "y", "z", "begin + 1", "end - 1", "y + 1", "z - 2"]


@st.composite
def formulas(draw: st.DrawFn, depth: int = 2) -> str:
    """Draw a formula over `begin`, `end`, y and z."""
    place = st.sampled_from(_places)
    if not depth or draw(st.integers(0, 2)) == 0:
        if draw(st.booleans()):
            return f"{draw(st.sampled_from(_predicates))}({draw(place)})"
        return f"{draw(place)} {draw(st.sampled_from(['<', '<=', '=', '!=']))} {draw(place)}"
    inner = formulas(depth=depth - 1)
    form = draw(st.sampled_from(["not ({})", "({}) and ({})", "({}) or ({})", "({}) implies ({})"]))
    return form.format(*(draw(inner) for _ in range(form.count("{}"))))


@st.composite
def closed(draw: st.DrawFn) -> str:
    """Draw a formula in which nothing but `begin` and `end` is free."""
    quantifiers = st.sampled_from(["exists", "forall"])
    body = draw(formulas())
    return f"{draw(quantifiers)} y: {draw(quantifiers)} z: {body}"
