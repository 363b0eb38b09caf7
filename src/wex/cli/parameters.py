"""Kinds of values that options take."""

from __future__ import annotations

from datetime import timedelta

import click

from wex.spec.types import UNITS


class Setting(click.ParamType[tuple[str, str]]):
    """A setting, written `name=value`."""

    name = "name=value"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        """Return name and value."""
        name, equals, rest = str(value).partition("=")
        if not name or not equals:
            self.fail(f"{value!r} is not of the form name=value", param, ctx)
        return name, rest


class Duration(click.ParamType[timedelta]):
    """A time as specs write it: `20 seconds`, `1 hour`."""

    name = "duration"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> timedelta:
        """Return the time."""
        number, _, unit = str(value).partition(" ")
        if not number.isdigit() or unit not in UNITS:
            self.fail(f"{value!r} is not like '20 seconds' or '1 hour'", param, ctx)
        return timedelta(microseconds=int(number) * UNITS[unit])
