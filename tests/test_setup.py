"""The environment that `make setup` makes can run Spark."""

from __future__ import annotations

import subprocess
import sys

SMOKE = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
print("rows", spark.range(10).count())
spark.stop()
"""


def test_spark_starts_on_the_java_that_is_there() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SMOKE], capture_output=True, text=True, check=False
    )
    assert "rows 10" in done.stdout, done.stderr
