"""Alternations in which a later start may lose to several earlier ones, although to none of them alone."""

from __future__ import annotations

from hypothesis import strategies as st

MIDDLES = ["any*", "any*", "any", "any?", "any{1,2}", "(any any)*"]


@st.composite
def alternations(
    draw: st.DrawFn, firsts: st.SearchStrategy[str], ends: st.SearchStrategy[str]
) -> str:
    """Draw three or four ways to a window, given predicates for its first and last events.

    The last one mostly ends where one of the others does, as in
    `[x = 0] any* [x = 1] | [x = 2] any* [x = 3] | [x = 4] any* [x = 1 or x = 3]`.
    """
    count = draw(st.integers(2, 3))
    own = draw(st.lists(ends, min_size=count, max_size=count))
    together = " or ".join(f"({end})" for end in own)
    last = draw(st.one_of(st.just(together), st.just(together), ends))
    middles = draw(
        st.one_of(
            st.sampled_from(MIDDLES).map(lambda middle: [middle] * (count + 1)),
            st.lists(st.sampled_from(MIDDLES), min_size=count + 1, max_size=count + 1),
        )
    )
    ways = [
        f"[{draw(firsts)}] {middle} [{end}]"
        for middle, end in zip(middles, [*own, last], strict=True)
    ]
    return " | ".join(draw(st.permutations(ways)))
