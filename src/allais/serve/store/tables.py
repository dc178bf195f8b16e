"""The tables of the service. The events of an experiment are the truth; the others are what is asked about often."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    text,
)

metadata = MetaData()


def _table(name: str, *columns: Column[Any], **more: Any) -> Table:
    return Table(name, metadata, *columns, **more)


def _experiment(**more: Any) -> Column[Any]:
    return Column("experiment", Integer, ForeignKey("experiments.id"), **more)


def _where(name: str, *columns: Column[Any], only: str, unique: bool = False) -> Index:
    """An index of some rows only."""
    return Index(name, *columns, unique=unique, sqlite_where=text(only), postgresql_where=text(only))


# states of an experiment
RUNNING, PAUSED, ARCHIVED = "running", "paused", "archived"
DELETED = "deleted"  # its rows are being deleted
# states of a decision
OPEN, TOLD, CANCELLED, EXPIRED = "open", "told", "cancelled", "expired"

experiments = _table(
    "experiments",
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("state", Text, nullable=False),
    Column("settings", Text, nullable=False),  # as JSON: what it was created with, and what changed since
    Column("created_at", Double, nullable=False),  # times are seconds since 1970
    Column("checksum", BigInteger),  # of its settings; none in rows of older versions, here and below
)

# One row per change of a learner, numbered without a gap: replaying them after a snapshot gives the learner again.
events = _table(
    "events",
    _experiment(primary_key=True),
    Column("seq", BigInteger, primary_key=True),
    Column("at", Double, nullable=False),
    Column("body", Text, nullable=False),  # as `Learner.apply` takes it, and what `core/restore.py` adds
    Column("checksum", BigInteger),
    sqlite_with_rowid=False,
)

snapshots = _table(
    "snapshots",
    _experiment(primary_key=True),
    Column("seq", BigInteger, primary_key=True),  # of the last event in it
    Column("at", Double, nullable=False),
    Column("document", LargeBinary, nullable=False),  # the learner's, compressed
    Column("checksum", BigInteger),
)

arms = _table(
    "arms",
    _experiment(primary_key=True),
    Column("name", Text, primary_key=True),
    Column("position", Integer, nullable=False),
    Column("in_play", Boolean, nullable=False),
    Column("changed_at", Double, nullable=False),
)

decisions = _table(
    "decisions",
    _experiment(primary_key=True),
    Column("number", BigInteger, primary_key=True),
    Column("arm", Text, nullable=False),  # what was answered; of an apprentice, what the application did
    Column("person", Text),
    Column("key", Text),  # the caller's own name for it
    Column("asked_at", Double, nullable=False),
    Column("propensity", Double),
    Column("state", Text, nullable=False),
    Column("outcome", Double),
    Column("closed_at", Double),
    Column("closing_key", Text),
    Column("detail", Text),  # JSON: why, features, what an apprentice would have chosen
    Column("clock", Double),  # when it was asked by the experiment's own clock, which never jumps
    sqlite_with_rowid=False,
)
_where("decisions_by_key", decisions.c.experiment, decisions.c.key, only="key IS NOT NULL", unique=True)
_where("decisions_that_are_open", decisions.c.experiment, decisions.c.number, only="state = 'open'")

# Outcomes that came from elsewhere: a repeated call with the same key is not counted again.
imports = _table(
    "imports",
    _experiment(primary_key=True),
    Column("key", Text, primary_key=True),  # the caller's, or a line break and a random one
    Column("outcomes", Integer, nullable=False),
    Column("at", Double, nullable=False),
)

# What arms felt like when the outcomes had grown by a tenth, for the pages: few rows tell a long story.
moments = _table(
    "moments",
    Column("id", Integer, primary_key=True),
    _experiment(nullable=False),
    Column("outcomes", BigInteger, nullable=False),
    Column("sure", Text, nullable=False),  # JSON: by arm, the low end, the middle and the high end
)
Index("moments_of_experiment", moments.c.experiment)

# What webhooks are told, and what they were told last; `due_at` is null once a notice was taken or given up.
notices = _table(
    "notices",
    Column("id", Integer, primary_key=True),
    _experiment(nullable=False),
    Column("hook", Text, nullable=False),  # its name in the operator's file
    Column("kind", Text, nullable=False),  # verdict, guardrail or drift
    Column("subject", Text, nullable=False),  # an arm, or an arm and a metric
    Column("word", Text, nullable=False),  # what is so now
    Column("message", Text, nullable=False),  # the id under which it is sent, however often
    Column("body", Text, nullable=False),
    Column("at", Double, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("due_at", Double),
    Column("error", Text),  # of the last attempt
)
Index("notices_of_experiment", notices.c.experiment)

# A preference is stored once, by the digest of its document; events name it by its number.
preferences = _table(
    "preferences",
    Column("id", Integer, primary_key=True),
    Column("digest", Text, nullable=False, unique=True),
    Column("document", Text, nullable=False),  # as `settings.to_spec` writes it
)

people = _table(
    "people",
    Column("name", Text, primary_key=True),
    Column("preference", Integer, ForeignKey("preferences.id"), nullable=False),
    Column("source", Text, nullable=False),  # where it is from: a name, a document, a file, an interview
    Column("changed_at", Double, nullable=False),
    Column("fitted_in", Text),  # JSON: the unit and the stakes of the choices that it was fitted to, where known
)

interviews = _table(
    "interviews",
    Column("id", Text, primary_key=True),
    Column("person", Text, nullable=False),
    Column("settings", Text, nullable=False),
    Column("events", Text, nullable=False),  # as `Interview.apply` takes them
    Column("changed_at", Double, nullable=False),
)

# Who has a link may answer the questions of one interview, without a key.
interview_links = _table(
    "interview_links",
    Column("digest", Text, primary_key=True),  # SHA-256 of the token, which is not stored
    Column("interview", Text, ForeignKey("interviews.id"), nullable=False),
    Column("key", Text, nullable=False),  # the id of the key that made it
    Column("created_at", Double, nullable=False),
    Column("expires_at", Double, nullable=False),
    Column("revoked_at", Double),
)

keys = _table(
    "keys",
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("digest", Text, nullable=False),  # SHA-256 of the whole key, which is not stored
    Column("scopes", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("revoked_at", Double),
    Column("expires_at", Double),  # none: never
    Column("experiments", Text),  # the only ones that it opens, as a list in JSON; none: everything
)

audit = _table(
    "audit",
    Column("id", Integer, primary_key=True),
    Column("at", Double, nullable=False),
    Column("key", Text, nullable=False),  # the key's id
    Column("action", Text, nullable=False),
    Column("target", Text, nullable=False),
    Column("detail", Text, nullable=False),
)
