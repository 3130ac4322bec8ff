"""Creates or drops databases: ``databases.py make|drop URL NAME ...``.

``make`` prints the names of the created databases.
"""

import sys

import sqlalchemy as sa

verb, url, *names = sys.argv[1:]
engine = sa.create_engine(url, isolation_level="AUTOCOMMIT")
with engine.connect() as server:
    existing = {name for (name,) in server.exec_driver_sql("SHOW DATABASES")}
    for name in names:
        if verb == "drop":
            server.exec_driver_sql(f"DROP DATABASE IF EXISTS {name}")
        elif name not in existing:
            server.exec_driver_sql(f"CREATE DATABASE {name} CHARSET utf8")
            print(name)
