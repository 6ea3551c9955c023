"""Schema id or GUID → writer schema, and under which subject: by id, under one subject, dual subject."""

from srfix.serde.resolve.policies import ById, DualSubject, PlannablePolicy, Resolver, UnderOneSubject, usable_policy
from srfix.serde.resolve.question import Question
from srfix.serde.resolve.resolved import ResolvedSchema, SecondAnswered, attributes_of, words_for
