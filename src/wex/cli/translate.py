"""`wex translate`: the same windows in the other notation, or a query of SQL as a spec."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from wex import limits
from wex.cli import FINE
from wex.cli.terminal import PATH, Setting, read_spec
from wex.errors import WexError, hint_for_path

if TYPE_CHECKING:
    from wex.spec.tree import Spec


@click.command(short_help="Print a spec in the other notation, or a query as a spec.")
@click.argument("path", metavar="SPEC", type=PATH)
@click.option(
    "--to",
    "notation",
    type=click.Choice(["regex", "formula", "sql"]),
    help="Notation of the windows that are printed.  [required, except for a query]",
)
@click.option(
    "--column",
    "columns",
    multiple=True,
    type=Setting(),
    help="Type of a column that a query reads, such as price=real or 'ts=timestamp not null'. Repeatable.",
)
@click.option("--dialect", default="standard", show_default=True, help="Dialect of a query.")
def translate(
    path: str, notation: str | None, columns: tuple[tuple[str, str], ...], dialect: str
) -> int:
    """Print SPEC with all windows written as regular expressions or as formulas, or as a query of SQL.

    A file that ends in .sql is a query with MATCH_RECOGNIZE, and is printed as a spec.
    """
    if path.lower().endswith(".sql"):
        spec = _query(path, dict(columns), dialect)
    elif notation is None:
        raise click.UsageError("Missing option '--to'. Choose from: regex, formula, sql")
    else:
        spec = read_spec(path)
    from wex.api import to_formula, to_regex, to_sql  # noqa: PLC0415  (load the solver)

    if notation == "sql":
        click.echo(to_sql(spec, dialect=dialect), nl=False)
        return FINE
    if notation is not None:
        spec = to_regex(spec) if notation == "regex" else to_formula(spec)
    click.echo(str(spec), nl=False)
    return FINE


def _query(path: str, columns: dict[str, str], dialect: str) -> Spec:
    """Return the spec of the query in a file."""
    from wex.api import from_sql  # noqa: PLC0415

    try:
        with Path(path).open(encoding="utf-8") as file:
            text = file.read(limits.current().spec_bytes + 1)
    except (OSError, ValueError) as error:  # text that is not UTF-8 is a ValueError
        reason = getattr(error, "strerror", None) or "cannot read this file as UTF-8"
        hint = hint_for_path(path, "give the path of a query")
        raise WexError("no-file", f"{path}: {reason}", hint) from error
    return from_sql(text, columns, dialect=dialect, name=path).spec
