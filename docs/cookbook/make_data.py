"""Make the data of the recipes, and the windows in it: `python docs/cookbook/make_data.py`.

Every recipe is a folder with a spec `NAME.wex`. This script writes `NAME.csv` and `NAME.windows.csv`
beside it. The data is made up, by a generator with a fixed seed, where `RECIPES` names a function
that begins with "made"; the rest are excerpts of the real data of `wex.examples`.
"""

from __future__ import annotations

import csv
import io
from datetime import date, datetime, timedelta
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import wex
from wex import examples
from wex.engine.files.writing import write_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HERE = Path(__file__).parent
MONDAY = datetime(2026, 3, 2, 9, 0)
Row = tuple[object, ...]


def made_clicks(random: Random) -> Iterator[Row]:
    """Yield clicks of three visitors, with pauses of minutes and of hours."""
    yield ("visitor", "ts", "page")
    pages = ("home", "search", "product", "cart", "help")
    for visitor in ("ann", "bob", "cem"):
        now = MONDAY + timedelta(minutes=random.randrange(40))
        for _ in range(12):
            yield visitor, now, random.choice(pages)
            pause = random.randrange(60, 200) if random.random() < 0.2 else random.randrange(1, 12)
            now += timedelta(minutes=pause)


def made_states(random: Random) -> Iterator[Row]:
    """Yield the states that two machines report every ten minutes."""
    yield ("machine", "ts", "status")
    follows = {"idle": "running", "running": "fault", "fault": "idle"}
    for machine, begin in (("lathe", "idle"), ("press", "running")):
        status = begin
        for i in range(18):
            yield machine, MONDAY + timedelta(minutes=10 * i), status
            if random.random() < 0.3:
                status = follows[status]


def made_funnels(_: Random) -> Iterator[Row]:
    """Yield clicks of three visitors: one pays, one pays twice, one leaves with a full cart."""
    yield ("visitor", "ts", "page")
    paths = {
        "ann": "home product product help cart home paid home",
        "bob": "product cart paid search product search cart cart paid",
        "cem": "home product cart help home product cart",
    }
    for visitor, path in paths.items():
        for i, page in enumerate(path.split()):
            yield visitor, MONDAY + timedelta(minutes=4 * i + len(page)), page


def made_carts(_: Random) -> Iterator[Row]:
    """Yield the events of five carts; A is paid in time, B too late, C never, D changed and left."""
    yield ("cart", "ts", "kind")
    for cart, minute, kind in (
        ("A", 0, "added"),
        ("A", 12, "changed"),
        ("A", 31, "paid"),
        ("B", 5, "added"),
        ("B", 20, "changed"),
        ("B", 95, "paid"),
        ("C", 10, "added"),
        ("D", 14, "added"),
        ("D", 40, "changed"),
        ("D", 58, "changed"),
        ("E", 30, "added"),
        ("E", 80, "paid"),
    ):
        yield cart, MONDAY + timedelta(minutes=minute), kind


def made_logins(random: Random) -> Iterator[Row]:
    """Yield logins: people mistype a password once or twice, a guesser many times."""
    yield ("account", "ts", "ok")
    for account, failures in (("ann", (0, 1, 0, 2, 0)), ("bob", (1, 9, 0)), ("cem", (0, 6, 1, 0))):
        now = MONDAY + timedelta(minutes=random.randrange(3))
        for failed in failures:
            for i in range(failed + 1):
                yield account, now, str(i == failed).lower()
                now += timedelta(seconds=random.randrange(5, 20))
            now += timedelta(minutes=random.randrange(1, 4))


def made_load(random: Random) -> Iterator[Row]:
    """Yield the load of a machine every minute, a slow wave with noise."""
    yield ("ts", "percent")
    wave = (40, 48, 57, 66, 74, 82, 86, 83, 73, 62, 52, 44)
    for i in range(48):
        percent = wave[i % len(wave)] + 8 * random.random()
        yield MONDAY + timedelta(minutes=i), round(percent, 1)


def made_prices(random: Random) -> Iterator[Row]:
    """Yield daily prices of two symbols, which go on in their direction more often than not."""
    yield ("symbol", "day", "price")
    for symbol, opening in (("ACME", 20.0), ("BOLT", 35.0)):
        price, direction = opening, 1
        for i in range(30):
            yield symbol, date(2026, 3, 1) + timedelta(days=i), round(price, 1)
            if random.random() < 0.35:
                direction = -direction
            price += direction * (0.5 + 2 * random.random())


def made_temperatures(random: Random) -> Iterator[Row]:
    """Yield temperatures every minute that rise above 90 a few times and cross it to and fro."""
    yield ("sensor", "ts", "celsius")
    for sensor, base in (("boiler", 72), ("pump", 68)):
        celsius = float(base)
        for i in range(40):
            yield sensor, MONDAY + timedelta(minutes=i), round(celsius, 1)
            target = 92 if 6 <= i < 17 or 25 <= i < 31 else base
            celsius += 0.35 * (target - celsius) + 7 * (random.random() - 0.5)


def made_trades(random: Random) -> Iterator[Row]:
    """Yield trades at irregular times, at prices in steps of a quarter."""
    yield ("symbol", "ts", "price")
    for symbol, opening in (("ACME", 20.0), ("BOLT", 35.0)):
        now, price = MONDAY, opening
        for _ in range(16):
            yield symbol, now, price
            now += timedelta(seconds=random.randrange(15, 150))
            price += random.randrange(-2, 3) / 4


def made_sales(random: Random) -> Iterator[Row]:
    """Yield sales of two shops in an hour and a half; one of them is closed for half an hour."""
    yield ("shop", "ts", "amount")
    for shop in ("north", "south"):
        minute = 3
        while minute < 90:
            if shop == "north" or not 30 <= minute < 60:
                yield shop, MONDAY + timedelta(minutes=minute), random.randrange(5, 60)
            minute += random.randrange(3, 11)


def made_alarms(random: Random) -> Iterator[Row]:
    """Yield alarms that devices repeat every minute or two, as long as their cause lasts."""
    yield ("device", "code", "ts")
    for device, code, begin, times in (
        ("fan", "hot", 0, 6),
        ("fan", "hot", 45, 3),
        ("fan", "dust", 4, 1),
        ("ups", "battery", 10, 8),
    ):
        now = MONDAY + timedelta(minutes=begin)
        for _ in range(times):
            yield device, code, now
            now += timedelta(seconds=random.randrange(50, 150))


def made_positions(random: Random) -> Iterator[Row]:
    """Yield positions of two buses in the order in which they arrive, some of them minutes late."""
    positions = []
    for bus, begin in (("7", 0), ("12", 1)):
        for trip in (0, 32):
            for i in range(8):
                minute = begin + trip + 2 * i
                late = random.randrange(3, 8) if random.random() < 0.25 else 0
                metres = 800 * (minute - trip) + random.randrange(250)
                positions.append((minute + late, (bus, MONDAY + timedelta(minutes=minute), metres)))
    yield ("bus", "ts", "metres")
    yield from (position for _, position in sorted(positions, key=lambda arrival: arrival[0]))


def made_readings(random: Random) -> Iterator[Row]:
    """Yield readings of two sensors; one is stuck for a while."""
    yield ("sensor", "ts", "value")
    for sensor in ("inlet", "outlet"):
        value = 20.0
        for i in range(30):
            if sensor == "inlet" or not 10 <= i < 19:
                value = round(20 + 3 * random.random(), 1)
            yield sensor, MONDAY + timedelta(minutes=i), value


def made_pings(random: Random) -> Iterator[Row]:
    """Yield pings every minute, from two devices that are silent now and then."""
    yield ("device", "ts")
    for device, silences in (("door", {11: 14}), ("lift", {5: 4, 14: 23})):
        now = MONDAY
        for i in range(20):
            yield device, now
            now += timedelta(seconds=60 * silences.get(i, 1) + random.randrange(10))


def warm_days(_: Random) -> Iterator[Row]:
    """Yield hourly temperatures in Seattle, from ten days of the summer of 2010."""
    yield ("ts", "fahrenheit")
    for row in examples.data("seattle").to_pylist():
        if datetime(2010, 6, 28) <= row["ts"] < datetime(2010, 7, 8):
            yield row["ts"], row["temp"]


def electrocardiogram(_: Random) -> Iterator[Row]:
    """Yield the samples of an electrocardiogram."""
    yield ("n", "h")
    yield from ((row["n"], row["h"]) for row in examples.data("ecg").to_pylist())


def amazon(_: Random) -> Iterator[Row]:
    """Yield the stock of the first page of the site: monthly prices of Amazon, 2004 to 2010."""
    yield ("symbol", "month", "price")
    for row in examples.data("stocks").to_pylist():
        if row["symbol"] == "AMZN" and row["day"].year >= 2004:
            yield row["symbol"], row["day"], row["price"]


def two_stocks(_: Random) -> Iterator[Row]:
    """Yield monthly prices of two stocks, 2000 to 2010."""
    yield ("symbol", "month", "price")
    for row in examples.data("stocks").to_pylist():
        if row["symbol"] in ("AAPL", "IBM"):
            yield row["symbol"], row["day"], row["price"]


RECIPES: dict[str, Callable[[Random], Iterator[Row]]] = {
    "sessions": made_clicks,
    "runs": made_states,
    "funnels": made_funnels,
    "abandoned-carts": made_carts,
    "bursts": made_logins,
    "peaks": made_load,
    "v-shapes": made_prices,
    "w-shapes": made_prices,
    "drawdowns": two_stocks,
    "hysteresis-alarms": made_temperatures,
    "heat-waves": warm_days,
    "heart-beats": electrocardiogram,
    "sliding-windows": made_trades,
    "tumbling-windows": made_sales,
    "deduplication": made_alarms,
    "late-data": made_positions,
    "stuck-sensors": made_readings,
    "silences": made_pings,
}


def data(source: Callable[[Random], Iterator[Row]]) -> str:
    """Return data as CSV."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(source(Random(2026)))
    return text.getvalue()


def main() -> None:
    """Write the data and the windows of every recipe, and the data of the first page."""
    (HERE.parent / "amazon.csv").write_text(data(amazon), "utf-8")
    for name, source in RECIPES.items():
        folder = HERE / name
        (folder / f"{name}.csv").write_text(data(source), "utf-8")
        windows = wex.find_in_file(folder / f"{name}.wex", folder / f"{name}.csv")
        write_table(windows, folder / f"{name}.windows.csv")


if __name__ == "__main__":
    main()
