"""What a browser, Prometheus and a generator of clients ask for: a page at `/`, `/metrics`, `/openapi.json`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec
from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from srfix.recovery.serving.api import Api
from srfix.recovery.serving.documents import AtTime

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


def page_routes(api: Api, description: dict[str, Any]) -> Sequence[Route]:
    import jinja2

    template = jinja2.Environment(autoescape=True).from_string(_PAGE)
    description_text = msgspec.json.encode(description)
    registry = CollectorRegistry()
    for collector in (_Families(api), api.requests, api.gathering.seconds):
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
        return Response(encode(registry), media_type=media_type)

    async def openapi_json(_request: Request) -> Response:
        return Response(description_text, media_type="application/json")

    return [
        Route("/", page),
        Route("/look", page),
        Route("/metrics", metrics),
        Route("/openapi.json", openapi_json),
    ]


class _Families:
    """What Prometheus gets."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def describe(self) -> Iterator[Metric]:
        return iter(())

    def collect(self) -> Iterator[Metric]:
        labels = ("store", "partition")
        numbers = {
            "srfix_serve_offset": ("The next offset to read.", "offset"),
            "srfix_serve_lag_records": ("The offsets between the end of the log and what was read.", "lag"),
            "srfix_serve_lag_milliseconds": ("The age of the last record while there are later ones.", "lag_ms"),
        }
        parts = self._api.node.parts()
        for name, (about, attribute) in numbers.items():
            family = GaugeMetricFamily(name, about, labels=labels)
            for part in parts:
                value = getattr(part, attribute)
                if value is not None:
                    family.add_metric((part.served.name, str(part.number)), value)
            yield family
        counters = {
            "srfix_serve_records": ("Records that were applied.", "applied"),
            "srfix_serve_record_bytes": ("Bytes of their keys and values.", "applied_bytes"),
        }
        for name, (about, attribute) in counters.items():
            counter = CounterMetricFamily(name, about, labels=labels)
            for part in parts:
                counter.add_metric((part.served.name, str(part.number)), getattr(part, attribute))
            yield counter
        yield GaugeMetricFamily("srfix_serve_iterators", "Long answers that are open.", self._api.gathering.iterators)
        members = self._api.node.membership.members().addresses
        yield GaugeMetricFamily("srfix_serve_members", "The members of the group.", len(members))
