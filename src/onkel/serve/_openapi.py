"""The interface as an OpenAPI document: the requests that there are, what they take, and all statuses they may have.

The routes of the service are made from `OPERATIONS` too, and `make fuzz` sends what the document allows, and forbids.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

import onkel
from onkel.report import page, section
from onkel.serve._arrow import MEDIA_TYPE
from onkel.serve._wire import MOST_KEY, MOST_LABEL

JSON, HTML, TEXT, LINES, TAR = (
    "application/json",
    "text/html",
    "text/plain",
    "application/x-ndjson",
    "application/x-tar",
)
STATUSES = {
    200: "it is done",
    400: "the body is not what it says that it is",
    401: "a token is needed",
    403: "the service is read-only, or the request is for another host",
    404: "there is no such model, version or id",
    408: "the body did not come in time",
    409: "the key was used for other rows, or the version cannot be read",
    413: "the body, or what it asks for, is too large",
    415: "the body is of another type",
    422: "the model cannot take what the body holds",
    429: "the queue is full: try again later",
    503: "the model has learned nothing yet; or learning has stopped, or the service is stopping",
    507: "the disk is full: nothing was changed",
}
_ASKER = (401, 403)
_BODY = (400, 408, 413, 415, 422, 429)


@dataclass(frozen=True)
class Operation:
    """A request that there is; its handler has its name."""

    name: str
    method: str
    path: str
    summary: str
    statuses: tuple[int, ...] = ()  # besides 200, and 404 where there is a model in the path
    answer: str = JSON
    schema: str = "Answer"  # of an answer in JSON
    request: str | None = None  # the schema of the body
    arrow: bool = False  # whether the body may be an Arrow stream
    query: tuple[tuple[str, str], ...] = ()
    guarded: bool = True


OPERATIONS = (  # the most frequent first: routes are matched in this order
    Operation(
        *("infer", "POST", "/v2/models/{model}/infer", "Predict rows; with an id, hold them until their labels come."),
        statuses=(*_BODY, 503),
        schema="Inferred",
        request="Infer",
        arrow=True,
        query=(("id", "The id, where the body is Arrow."), ("outputs", "The outputs, where the body is Arrow.")),
    ),
    Operation(
        *("learn", "POST", "/v2/models/{model}/learn", "Learn rows with labels, or labels of rows held under an id."),
        statuses=(*_BODY, 409, 503, 507),
        schema="Learned",
        request="Learn",
        arrow=True,
    ),
    Operation("live", "GET", "/v2/health/live", "Whether the process answers.", guarded=False),
    Operation("ready", "GET", "/v2/health/ready", "Whether all models may learn.", (503,), guarded=False),
    Operation("page", "GET", "/", "The live page.", answer=HTML),
    Operation("page_of", "GET", "/models/{model}", "The live page of a model.", answer=HTML),
    Operation("metrics", "GET", "/metrics", "Metrics for Prometheus.", answer=TEXT),
    Operation("about", "GET", "/v2", "The service: versions and extensions."),
    Operation("models", "GET", "/v2/models", "The names of the models."),
    Operation("metadata", "GET", "/v2/models/{model}", "A model: versions, inputs, outputs, classes, rows learned."),
    Operation(
        *("model_ready", "GET", "/v2/models/{model}/ready", "Whether the model has learned anything."), statuses=(503,)
    ),
    Operation("state", "GET", "/v2/models/{model}/live", "What the live page shows."),
    Operation(
        *("roll_back", "POST", "/v2/models/{model}/rollback", "Go back to a version; the present becomes one first."),
        statuses=(*_BODY, 409, 503, 507),
        request="Rollback",
    ),
    Operation(
        *("backup", "GET", "/v2/models/{model}/backup", "Everything of a model, as one tar file."),
        statuses=(429, 503, 507),
        answer=TAR,
    ),
    Operation(
        *(
            "learned",
            "GET",
            "/v2/models/{model}/learned",
            "The rows that were learned in a range of time, a line each.",
        ),
        statuses=(422,),
        answer=LINES,
        query=(("begin", "A time of ISO 8601, included."), ("end", "A time of ISO 8601, excluded.")),
    ),
    Operation("document", "GET", "/openapi.json", "This document."),
    Operation("interface", "GET", "/openapi", "This document as a page.", answer=HTML),
)

_VALUE = {"type": ["number", "boolean", "string", "null"]}
_LABEL = {"type": ["number", "boolean", "string"], "maxLength": MOST_LABEL}
_WORD = {"type": "string", "maxLength": MOST_KEY}
_COUNT = {"type": "integer", "minimum": 0}


def _object(required: str = "", **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": required.split(),
        "additionalProperties": False,
    }


def schemas(most_rows: int) -> dict[str, Any]:
    """Return the schemas of bodies and answers."""
    rows = {
        "type": "array",
        "minItems": 1,
        "maxItems": most_rows,
        "items": {
            "anyOf": [
                {"type": "array", "items": _VALUE, "minItems": 1},
                {"type": "object", "additionalProperties": _VALUE, "minProperties": 1},
            ]
        },
    }
    tensor = _object(
        "name shape datatype data",
        name={"type": "string"},
        shape={"type": "array", "items": _COUNT, "minItems": 1, "maxItems": 2},
        datatype={"enum": ["FP64", "FP32", "FP16", "INT64", "INT32", "INT16", "INT8", "BOOL", "BYTES"]},
        data={"type": "array"},
    )
    infer = _object(
        id=_WORD,
        rows=rows,
        inputs={"type": "array", "items": tensor, "minItems": 1},
        outputs={"type": "array", "items": {"type": "object", "required": ["name"]}},
        parameters={},
    )
    learn = _object(
        rows=rows,
        labels={"type": "array", "items": _LABEL, "minItems": 1},
        weights={"type": "array", "items": {"type": "number", "minimum": 0}},
        key=_WORD,
        id=_WORD,
    )
    output = {
        "name": {"type": "string"},
        "datatype": {"type": "string"},
        "shape": {"type": "array", "items": _COUNT},
        "data": {"type": "array"},
    }
    return {
        "Infer": {**infer, "oneOf": [{"required": ["rows"]}, {"required": ["inputs"]}]},
        "Learn": {**learn, "oneOf": [{"required": ["rows"]}, {"required": ["id", "labels"]}]},
        "Rollback": _object("version", version=_COUNT),
        "Inferred": _object(
            "model_name model_version outputs parameters",
            model_name={"type": "string"},
            model_version={"type": "string"},
            id=_WORD,
            outputs={"type": "array", "items": _object(" ".join(output), **output)},
            parameters=_object("rows_learned", rows_learned=_COUNT, held={"type": "boolean"}),
        ),
        "Learned": _object(
            "rows rows_learned repeated", rows=_COUNT, rows_learned=_COUNT, repeated={"type": "boolean"}
        ),
        "Answer": {"type": "object"},
        "Refusal": _object("error", error={"type": "string"}, row=_COUNT),
    }


def document(models: list[str], most_rows: int) -> dict[str, Any]:
    """Return the document of a service with these models.

    Examples
    --------
    >>> sorted(document(["m"], 100)["paths"]["/v2/models/{model}/rollback"]["post"]["responses"])[:4]
    ['200', '400', '401', '403']
    """
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _described(operation, models)
    return {
        "openapi": "3.1.0",
        "info": {"title": "onkel", "version": onkel.__version__, "description": "Models that predict and learn."},
        "paths": paths,
        "components": {
            "schemas": schemas(most_rows),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}, {}],
    }


def statuses_of(operation: Operation) -> list[int]:
    """Return all statuses that an answer to a request may have."""
    found = {200, *operation.statuses, *(_ASKER if operation.guarded else ())}
    return sorted(found | ({404} if "{model}" in operation.path else set()))


def _described(operation: Operation, models: list[str]) -> dict[str, Any]:
    its_own = {"200": {"description": STATUSES[200], "content": _content(operation)}}
    refused = {"description": "", "content": {JSON: {"schema": {"$ref": "#/components/schemas/Refusal"}}}}
    unwell = {JSON: {"schema": {"$ref": "#/components/schemas/Answer"}}}  # of probes, which say what they are asked
    for status in statuses_of(operation)[1:]:
        content = unwell if operation.name in ("ready", "model_ready") else refused["content"]
        its_own[str(status)] = {"description": STATUSES[status], "content": content}
    parameters: list[dict[str, Any]] = [
        {"name": name, "in": "query", "description": says, "schema": {"type": "string"}}
        for name, says in operation.query
    ]
    if "{model}" in operation.path:
        parameters.append({"name": "model", "in": "path", "required": True, "schema": {"enum": models}})
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "parameters": parameters,
        "responses": its_own,
    }
    if operation.request is not None:
        content = {JSON: {"schema": {"$ref": f"#/components/schemas/{operation.request}"}}}
        if operation.arrow:
            content[MEDIA_TYPE] = {"schema": {"type": "string", "format": "binary"}}
        described["requestBody"] = {"required": True, "content": content}
    if operation.name == "learn":
        parameters.append({"name": "Idempotency-Key", "in": "header", "schema": {**_WORD, "pattern": "^[!-~]*$"}})
    return described


def _content(operation: Operation) -> dict[str, Any]:
    content: dict[str, Any] = {operation.answer: {"schema": {}}}
    if operation.answer == JSON:
        content[JSON]["schema"] = {"$ref": f"#/components/schemas/{operation.schema}"}
    if operation.name == "infer":
        content[MEDIA_TYPE] = {"schema": {}}
    return content


def interface_page() -> str:
    """Return the document as a page."""
    rows = "".join(
        f'<tr><td class="text"><code>{operation.method} {escape(operation.path)}</code></td>'
        f'<td class="text">{escape(operation.summary)}</td>'
        f'<td class="text">{", ".join(map(str, statuses_of(operation)))}</td></tr>'
        for operation in OPERATIONS
    )
    meanings = "".join(
        f'<tr><td class="text">{s}</td><td class="text">{escape(says)}</td></tr>' for s, says in STATUSES.items()
    )
    return page(
        "The interface",
        '<nav class="contents"><a href="/">live page</a><a href="/openapi.json">openapi.json</a></nav>',
        section("Requests", _table(("request", "what it does", "statuses"), rows)),
        section("Statuses", _table(("status", "means"), meanings)),
        subtitle=f"onkel {onkel.__version__}",
    )


def _table(heads: tuple[str, ...], rows: str) -> str:
    columns = "".join(f'<th class="text">{head}</th>' for head in heads)
    return (
        f'<div class="table" tabindex="0"><table><thead><tr>{columns}</tr></thead><tbody>{rows}</tbody></table></div>'
    )
