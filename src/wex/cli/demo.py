"""`wex demo`: a Spark job on a generated market, or the example specs."""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path

import click

from wex import examples
from wex.cli.check import describe
from wex.cli.tables import print_table
from wex.cli.terminal import out, require_spark
from wex.engine.find import find
from wex.errors import WexError, counted
from wex.spec import meaning

SHOWN = 5  # rows of each result
SYMBOLS, TRADES = 100, 2_000_000
MARK = ".wex-demo"  # an empty file in every folder that the demo has created


@click.command(short_help="Run a demo on generated trades.")
@click.option(
    "--examples",
    "examples_wanted",
    is_flag=True,
    help="Print the example specs and their windows instead.",
)
@click.option(
    "--folder", default="wex-demo", show_default=True, help="Folder for the trades and the windows."
)
@click.option("--trades", default=TRADES, show_default=True, help="Number of trades to generate.")
def demo(examples_wanted: bool, folder: str, trades: int) -> None:
    """Find trends in generated trades of 100 symbols, with Spark on this machine."""
    if examples_wanted:
        _examples()
    else:
        _market(Path(folder), trades)


def _market(folder: Path, count: int) -> None:
    from pyarrow import parquet  # noqa: PLC0415

    from wex.examples import market  # noqa: PLC0415

    require_spark()
    from wex.spark.session import new_session  # noqa: PLC0415

    if folder.exists() and not (folder / MARK).exists():
        hint = "choose another folder with --folder; the demo replaces only folders of its own"
        raise WexError("output-exists", f"{folder} exists already", hint)
    shutil.rmtree(folder, ignore_errors=True)
    console = out()
    console.print(examples.text("trend").strip(), markup=False)
    console.print(f"\n{count:,} trades of {SYMBOLS} symbols, to {folder / 'trades'} ...")
    market.write(market.trades(count, SYMBOLS), folder / "trades")
    (folder / MARK).touch()
    terminal = bool(sys.stderr and sys.stderr.isatty())
    spark = new_session(None, {}, progress=terminal, quiet=not terminal)
    from wex.spark.batch_job import Job, run_job  # noqa: PLC0415

    start = time.monotonic()
    try:
        job = Job(str(folder / "trades"), str(folder / "windows"))
        summary = run_job(spark, examples.spec("trend"), job)
    finally:
        spark.stop()
    seconds = time.monotonic() - start
    windows = parquet.read_table(folder / "windows")
    console.print(
        f"{counted(summary.windows, 'window')} in {counted(summary.events, 'event')}"
        f" of {counted(summary.streams, 'stream')},"
        f" {seconds:.1f} s on local Spark, to {folder / 'windows'}. The first {SHOWN}:"
    )
    print_table(windows, SHOWN, wide=False)


def _examples() -> None:
    console = out()
    for name in examples.names():
        console.rule(name, align="left")
        console.print(examples.text(name).strip(), markup=False)
        lines = ["", *describe(meaning(examples.spec(name))), ""]
        console.print("\n".join(lines), style="dim", markup=False)
    for name in examples.with_data():
        console.rule(f"{name}, on real data", align="left")
        console.print(examples.text(name).strip(), markup=False)
        data = examples.data(name)
        windows = find(examples.spec(name), data)
        more = f", the first {SHOWN}" if windows.num_rows > SHOWN else ""
        title = (
            f"\n{counted(windows.num_rows, 'window')} in {counted(data.num_rows, 'event')}{more}:"
        )
        windows = windows.drop_columns(["window_name", "start_index", "end_index"])
        console.print(title)
        print_table(windows, SHOWN, wide=False)
    total = len(examples.names()) + len(examples.with_data())
    console.print(f"{total} specs, all of them fine.")
