"""Schemas of a producer and of the application that reads it."""

from __future__ import annotations

WRITER = '{"type":"record","name":"User","fields":[{"name":"userId","type":"long"},{"name":"name","type":"string"}]}'
INTERNAL = (
    '{"type":"record","name":"KsqlDataSourceSchema","fields":['
    '{"name":"USERID","type":["null","long"],"default":null},{"name":"NAME","type":["null","string"],"default":null}]}'
)
