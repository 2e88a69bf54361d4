"""Tables of a service in one in-memory SQLite database; every write goes through `Session`, which keeps the effect."""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from journeyman.errors import UserError

Row = dict[str, Any]
ColumnType = Literal["text", "integer", "real"]


@dataclass(frozen=True)
class Table:
    """One table: column name -> type. The first column is the primary key; `defaults` fill what initial rows omit."""

    name: str
    columns: Mapping[str, ColumnType]
    defaults: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """Name of the primary key column."""
        return next(iter(self.columns))

    def create_sql(self) -> str:
        """The CREATE TABLE statement."""
        columns = ", ".join(f'"{name}" {kind.upper()}' for name, kind in self.columns.items())
        return f'CREATE TABLE "{self.name}" ({columns}, UNIQUE ("{self.key}"))'

    def values(self, row: Mapping[str, Any]) -> tuple[Any, ...]:
        """`row` in column order. Raises UserError for unknown columns and for missing ones without a default."""
        unknown = sorted(set(row) - set(self.columns))
        if unknown:
            raise UserError(f"table {self.name} has no column {unknown[0]!r}; it has {', '.join(self.columns)}")
        missing = [c for c in self.columns if c not in row and c not in self.defaults]
        if missing:
            raise UserError(f"a row of table {self.name} lacks column {missing[0]!r}: {dict(row)}")
        return tuple(row[c] if c in row else self.defaults[c] for c in self.columns)


def _match(where: Mapping[str, Any]) -> tuple[str, tuple[Any, ...]]:
    """WHERE clause and its parameters; `None` matches NULL."""
    if not where:
        return "", ()
    return " WHERE " + " AND ".join(f'"{column}" IS ?' for column in where), tuple(where.values())


class Database:
    """One service's state in one episode: an in-memory SQLite database, nothing on disk (S-04)."""

    def __init__(self, tables: Sequence[Table], initial: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
        """Create `tables` and fill them. Raises UserError for unknown tables or columns and repeated keys."""
        self.tables = {table.name: table for table in tables}
        unknown = sorted(set(initial) - set(self.tables))
        if unknown:
            raise UserError(f"unknown table {unknown[0]!r} in the initial state; known: {', '.join(self.tables)}")
        self.connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        for table in tables:
            self.connection.execute(table.create_sql())
            rows = [table.values(row) for row in initial.get(table.name, ())]
            marks = ", ".join("?" * len(table.columns))
            try:
                self.connection.executemany(f'INSERT INTO "{table.name}" VALUES ({marks})', rows)
            except sqlite3.IntegrityError:
                raise UserError(f"initial rows of table {table.name} repeat a {table.key}") from None

    def state(self) -> dict[str, list[Row]]:
        """All rows by table, in insertion order."""
        return {name: self.rows(name) for name in self.tables}

    def rows(self, table: str, where: Mapping[str, Any] | None = None) -> list[Row]:
        """Rows of `table` whose columns equal `where`, in insertion order."""
        clause, parameters = _match(where or {})
        columns = self.tables[table].columns
        found = self.connection.execute(f'SELECT * FROM "{table}"{clause} ORDER BY rowid', parameters)
        return [dict(zip(columns, values, strict=True)) for values in found]

    def close(self) -> None:
        """Forget everything; idempotent."""
        self.connection.close()


class Session:
    """What a tool function gets: the database for one call, the actor and the frozen clock. It collects the effect."""

    def __init__(self, database: Database, actor: str, now: str) -> None:
        self._database = database
        self.actor = actor
        self.now = now  # ISO 8601, frozen for the episode
        self.effect: dict[str, list[Row]] = {}  # rows written by table; deleted rows carry "_deleted": true

    def rows(self, table: str, **where: Any) -> list[Row]:
        """Rows whose columns equal `where`, in insertion order."""
        return self._database.rows(table, where)

    def one(self, table: str, **where: Any) -> Row | None:
        """The first row whose columns equal `where`; None where there is none."""
        return next(iter(self._database.rows(table, where)), None)

    def next_id(self, table: str, prefix: str, width: int = 0) -> str:
        """A fresh key `prefix` + number, deterministic: one above the highest row number ever used in the table."""
        (last,) = self._database.connection.execute(f'SELECT coalesce(max(rowid), 0) FROM "{table}"').fetchone()
        return f"{prefix}{last + 1:0{width}d}"

    def insert(self, table: str, row: Row) -> Row:
        """Add a row (missing columns take their defaults) and return it as stored."""
        definition = self._database.tables[table]
        values = definition.values(row)
        marks = ", ".join("?" * len(values))
        self._database.connection.execute(f'INSERT INTO "{table}" VALUES ({marks})', values)
        stored = dict(zip(definition.columns, values, strict=True))
        self.effect.setdefault(table, []).append(stored)
        return stored

    def update(self, table: str, where: Row, **values: Any) -> list[Row]:
        """Set `values` on the rows matching `where` and return them; rows that held them already are no effect."""
        before = self._database.rows(table, where)
        clause, parameters = _match(where)
        setters = ", ".join(f'"{column}" = ?' for column in values)
        self._database.connection.execute(f'UPDATE "{table}" SET {setters}{clause}', (*values.values(), *parameters))
        after = [{**row, **values} for row in before]
        changed = [new for old, new in zip(before, after, strict=True) if old != new]
        if changed:
            self.effect.setdefault(table, []).extend(changed)
        return after

    def delete(self, table: str, **where: Any) -> list[Row]:
        """Remove the rows matching `where` and return them."""
        gone = self._database.rows(table, where)
        clause, parameters = _match(where)
        self._database.connection.execute(f'DELETE FROM "{table}"{clause}', parameters)
        if gone:
            self.effect.setdefault(table, []).extend({**row, "_deleted": True} for row in gone)
        return gone
