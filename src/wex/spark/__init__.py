"""WEX on Spark: the windows of a spec in DataFrames, batches of Arrow columns on the workers.

It works on classic sessions and on Spark Connect, and changes no setting of a session.
"""

from wex.spark.dataframe import create_view, windows
from wex.spark.errors import recovered
from wex.spark.statements import sql
from wex.spark.table_functions import register

__all__ = ["create_view", "recovered", "register", "sql", "windows"]
