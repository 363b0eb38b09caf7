"""WEX on Spark: windows of a spec in DataFrames, batch by batch of Arrow columns on the workers.

Works on classic sessions and on Spark Connect, and sets nothing in a session that it is given.
"""

from wex.spark.dataframe import create_view, windows
from wex.spark.errors import recovered
from wex.spark.sql import register

__all__ = ["create_view", "recovered", "register", "windows"]
