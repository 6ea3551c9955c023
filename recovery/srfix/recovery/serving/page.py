"""What a browser, Prometheus and a generator of clients ask for: a page at `/`, `/metrics`, `/openapi.json`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import jinja2
import msgspec
from anyio.to_thread import run_sync
from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from srfix.recovery.serving.api import Api
from srfix.recovery.serving.documents import AtTime
from srfix.recovery.serving.partition import ServedPartition
from srfix.serde.errors import SrfixError

_PAGE: Final = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>srfix serve</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem }
table { border-collapse: collapse } th, td { padding: .2rem .8rem .2rem 0; text-align: left }
pre { background: #f4f4f4; overflow: auto; padding: .6rem }
@media (prefers-color-scheme: dark) { body { background: #111; color: #eee } pre { background: #222 } a { color: #9cf } }
</style></head>
<body><main>
<h1>srfix serve</h1>
<p>This is member {{ document.member }} of {{ document.members | length }}. The page does not change by itself.
<a href="/openapi.json">The API</a> · <a href="/metrics">metrics</a></p>
{% for problem in document.problems %}<p role="alert">{{ problem }}</p>{% endfor %}
{% for note in document.notes %}<p>{{ note }}</p>{% endfor %}
{% for store in document.stores %}
<h2>{{ store.name }}</h2>
<p>{{ store.kind }}, from topic {{ store.topic }}, up to {{ store.until }}.</p>
<form action="/look" method="get">
<input type="hidden" name="store" value="{{ store.name }}">
<label>Key <input name="key" required value="{{ key if store.name == looked else '' }}"></label> <button>Look up</button>
</form>
{% if store.name == looked %}<pre aria-label="answer">{{ answer }}</pre>{% endif %}
<table><thead><tr><th>partition</th><th>member</th><th>role</th><th>offset</th><th>lag</th></tr></thead><tbody>
{% for read in store.partitions %}<tr><td>{{ read.partition }}</td><td>{{ read.member }}</td><td>{{ read.role }}</td>
<td>{{ read.offset }}</td><td>{{ "unknown" if read.lag is none else read.lag }}</td></tr>
{% endfor %}{% for gap in store.missing %}<tr><td>{{ gap.partition }}</td><td colspan="4">{{ gap.reason }}</td></tr>
{% endfor %}</tbody></table>
{% endfor %}
</main></body></html>
"""


def page_routes(api: Api, description: dict[str, Any], version: str) -> Sequence[Route]:
    template = jinja2.Environment(autoescape=True).from_string(_PAGE)
    description_text = msgspec.json.encode(description)
    registry = CollectorRegistry()
    for collector in (_Families(api, version), api.requests, api.gathering.seconds):
        registry.register(collector)

    async def page(request: Request) -> Response:
        answer, looked, key = "", request.query_params.get("store"), request.query_params.get("key", "")
        if looked is not None:
            response = await api.key_of(api.store(looked), key, AtTime())
            answer = msgspec.json.format(bytes(response.body)).decode()
        document = api.stores_document()
        text = template.render(document=document, looked=looked, key=key, answer=answer)
        return Response(text, media_type="text/html")

    async def metrics(request: Request) -> Response:
        encode, media_type = choose_encoder(request.headers.get("accept", ""))
        return Response(await run_sync(encode, registry), media_type=media_type)

    async def openapi_json(_request: Request) -> Response:
        return Response(description_text, media_type="application/json")

    return [Route("/", page), Route("/look", page), Route("/metrics", metrics), Route("/openapi.json", openapi_json)]


_OF_PARTITIONS: Final[tuple[tuple[type[GaugeMetricFamily | CounterMetricFamily], str, str], ...]] = (
    (GaugeMetricFamily, "offset", "The next offset to read."),
    (GaugeMetricFamily, "lag_records", "The offsets between the end of the log and what was read."),
    (GaugeMetricFamily, "lag_milliseconds", "The age of the last record while there are later ones."),
    (CounterMetricFamily, "records", "Records that were applied."),
    (CounterMetricFamily, "record_bytes", "Bytes of their keys and values."),
    (GaugeMetricFamily, "rows", "Rows, as RocksDB estimates them."),
    (GaugeMetricFamily, "bytes", "Bytes of the rows on disk."),
    (CounterMetricFamily, "cache_hits", "Blocks that were found in the cache."),
    (CounterMetricFamily, "cache_misses", "Blocks that were read from disk."),
)


@dataclass(frozen=True)
class _Families(Collector):
    """What Prometheus gets of the partitions and the members."""

    api: Api
    version: str

    def collect(self) -> Iterator[Metric]:
        node = self.api.node
        numbers = [(part, _numbers(part)) for part in node.parts()]
        for kind, name, about in _OF_PARTITIONS:
            family = kind(f"srfix_serve_{name}", about, labels=("store", "partition"))
            for part, values in numbers:
                if (value := values.get(name)) is not None:
                    family.add_metric((part.served.name, str(part.number)), value)
            yield family
        yield GaugeMetricFamily("srfix_serve_iterators", "Long answers that are open.", self.api.gathering.iterators)
        yield GaugeMetricFamily(
            "srfix_serve_members", "Members of the group.", len(node.membership.members().addresses)
        )
        yield InfoMetricFamily("srfix_build", "The version of srfix.", {"version": self.version})


def _numbers(part: ServedPartition) -> Mapping[str, int | None]:
    lag = part.lag
    numbers: dict[str, int | None] = {
        "offset": part.offset,
        "lag_records": lag.records,
        "lag_milliseconds": lag.lag_ms,
        "records": part.applied,
        "record_bytes": part.applied_bytes,
    }
    with suppress(SrfixError):  # of a Redis that does not answer
        numbers |= part.measured()
    return numbers
