"""The embedded search engine, through the server's API, against a plain oracle on random records.

Every filter and sort order that the page offers: metadata of each kind, suggestions (value, score, agent),
responses (value, status), record status and dates, and text; as an annotator and as the owner.
"""

from __future__ import annotations

import math
import random
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

sys.path.append(str(Path(__file__).resolve().parents[1]))
from audit_server import client, place_of, shared_server

from planarena.annotation.embedded import read_credentials

pytestmark = pytest.mark.slow

SIZE = 60
NAMES = ("red", "green", "blue")
TAGS = ("long", "short", "odd")
WORDS = ("train", "flight", "hotel", "ferry", "training")
SUBMITTED = 2  # answers that complete a record


def make_records(rng):
    """Return records as the oracle sees them; None stands for what is not there."""
    records = []
    for number in range(SIZE):
        responses = {}
        for person in ("ann", "bob"):
            status = rng.choice([None, None, "submitted", "submitted", "draft", "discarded"])
            if status:
                responses[person] = {
                    "status": status,
                    "label": rng.choice(NAMES),
                    "tags": rng.sample(TAGS, rng.randint(1, 2)),
                    "level": rng.randint(0, 4),
                }
        records.append(
            {
                "id": f"r{number:03d}",
                "text": " ".join(rng.choices(WORDS, k=rng.randint(1, 4))),
                "more": {"inner": [{"say": rng.choice(WORDS)}], "number": number},
                "colour": rng.choice([None, *NAMES]),
                "marks": rng.choice([None, *[rng.sample(TAGS, k) for k in (1, 2, 3)]]),
                "count": rng.choice([None, *range(-2, 8)]),
                "share": rng.choice([None, round(rng.uniform(-1, 1), 3), float(rng.randint(0, 2))]),
                "hidden": rng.choice(["x", "y"]),
                "label": rng.choice(
                    [None, (rng.choice(NAMES), round(rng.random(), 2), rng.choice(["m1", "m2"]))]
                ),
                "tags": rng.choice([None, (rng.sample(TAGS, 2), [0.25, 0.75], "m1")]),
                "level": rng.choice([None, (rng.randint(0, 4), round(rng.random(), 2), "m2")]),
                "responses": responses,
            }
        )
    return records


def make_dataset(data, name, records):
    label = {"type": "label_selection", "options": [{"value": one, "text": one} for one in NAMES]}
    tags = {"type": "multi_label_selection", "options": [{"value": one, "text": one} for one in TAGS]}
    level = {"type": "rating", "options": [{"value": one} for one in range(5)]}
    with client(data) as http:

        def call(method, path, body=None):
            reply = http.request(method, f"/api/v1{path}", json=body)
            assert reply.status_code < 300, reply.text
            return reply.json() if reply.content else {}

        space = next(
            one["id"] for one in call("GET", "/me/workspaces")["items"] if one["name"] == "planarena"
        )
        made = call("POST", "/datasets", {"name": name, "workspace_id": space, "guidelines": "g",
                                          "distribution": {"strategy": "overlap", "min_submitted": SUBMITTED}})  # fmt: skip
        base = f"/datasets/{made['id']}"
        call("POST", f"{base}/fields", {"name": "text", "title": "T", "required": True,
                                        "settings": {"type": "text", "use_markdown": False}})  # fmt: skip
        call("POST", f"{base}/fields", {"name": "more", "title": "M", "required": False,
                                        "settings": {"type": "custom", "template": "x", "advanced_mode": False}})  # fmt: skip
        asked = {}
        for question, kind in (("label", label), ("tags", tags), ("level", level)):
            body = {"name": question, "title": question, "required": question == "label", "settings": kind}
            asked[question] = call("POST", f"{base}/questions", body)["id"]
        for prop, kind in (
            ("colour", "terms"),
            ("marks", "terms"),
            ("count", "integer"),
            ("share", "float"),
            ("hidden", "terms"),
        ):
            call("POST", f"{base}/metadata-properties", {"name": prop, "title": prop, "settings": {"type": kind},
                                                         "visible_for_annotators": prop != "hidden"})  # fmt: skip
        call("PUT", f"{base}/publish")
        people = {one["username"]: one["id"] for one in call("GET", "/users")["items"]}
        items = []
        for one in records:
            keys = ("colour", "marks", "count", "share", "hidden")
            items.append(
                {
                    "external_id": one["id"],
                    "fields": {"text": one["text"], "more": one["more"]},
                    "metadata": {key: one[key] for key in keys if one[key] is not None},
                    "suggestions": [
                        {"question_id": asked[name], "value": one[name][0], "score": one[name][1],
                         "agent": one[name][2], "type": "model"}
                        for name in asked
                        if one[name]
                    ],
                    "responses": [
                        {"user_id": people[who], "status": given["status"],
                         "values": {name: {"value": given[name]} for name in asked}}
                        for who, given in one["responses"].items()
                    ],
                }
            )  # fmt: skip
        call("POST", f"{base}/records/bulk", {"items": items})
        return made["id"]


class _World(tuple):
    def __repr__(self):
        return "world"  # a failing example would print every record


@pytest.fixture(scope="module")
def world():
    data = shared_server()
    records = make_records(random.Random(7))
    dataset = make_dataset(data, "engine", records)
    clients = {who: client(data, who) for who in ("owner", "ann")}
    yield _World((dataset, records, clients))
    for http in clients.values():
        http.close()


# ---- the oracle -----------------------------------------------------------------------------------------------


def as_list(value):
    return [] if value is None else value if isinstance(value, list) else [value]


def answers_of(record, who):
    return [given for person, given in record["responses"].items() if who in (None, person)]


def values_of(record, scope, who):
    """Return the values that a filter looks at."""
    if scope["entity"] == "metadata":
        return as_list(record[scope["metadata_property"]])
    if scope["entity"] == "suggestion":
        found = record[scope["question"]]
        return as_list(found[("value", "score", "agent").index(scope["property"])]) if found else []
    if scope["entity"] == "response" and "question" in scope:
        return [value for given in answers_of(record, who) for value in as_list(given[scope["question"]])]
    if scope["entity"] == "response":
        return [given["status"] for given in answers_of(record, who)] or ["pending"]
    done = sum(given["status"] == "submitted" for given in record["responses"].values())
    return ["completed" if done >= SUBMITTED else "pending"]


def fits(record, item, who):
    values = values_of(record, item["scope"], who)
    if item["type"] == "terms":
        return any(str(value) in item["values"] for value in values)
    low, high = item.get("ge"), item.get("le")
    return any((low is None or value >= low) and (high is None or value <= high) for value in values)


def sort_key(record, scope, order, who):
    """Return None where there is nothing, which stands last in either direction."""
    values = values_of(record, scope, who)
    if scope["entity"] == "response" and "question" not in scope:
        values = [given["status"] for given in answers_of(record, who)]
    if not values:
        return None
    if scope["entity"] == "response" and isinstance(values[0], int):
        return sum(values) / len(values)
    return max(values) if order == "desc" else min(values)


def reads(record, query):
    asked = query["q"]
    found = record["text"].split() + ([] if query.get("field") else [record["more"]["inner"][0]["say"]])
    if asked.startswith("-"):
        return asked[1:] not in found
    if " | " in asked:
        return any(word in found for word in asked.split(" | "))
    if asked.endswith("*"):
        return any(word.startswith(asked[:-1]) for word in found)
    return all(word in found for word in asked.split())


# ---- random searches -------------------------------------------------------------------------------------------

metadata = st.sampled_from(["colour", "marks", "count", "share"]).map(
    lambda name: {"entity": "metadata", "metadata_property": name}
)
suggestion = st.builds(
    lambda question, prop: {"entity": "suggestion", "question": question, "property": prop},
    st.sampled_from(["label", "tags", "level"]),
    st.sampled_from(["value", "score", "agent"]),
)
response = st.sampled_from(["label", "tags", "level"]).map(
    lambda question: {"entity": "response", "question": question}
)
status = st.just({"entity": "response", "property": "status"})
record_status = st.just({"entity": "record", "property": "status"})
anything = [*NAMES, *TAGS, "m1", "m2", *map(str, range(-2, 8)), "nothing"]


def is_number(scope):
    name = scope.get("metadata_property") or scope.get("question")
    return (
        name in {"count", "share", "level"}
        if scope.get("property", "value") == "value"
        else scope["property"] == "score"
    )


@st.composite
def filters(draw):
    scope = draw(st.one_of(metadata, suggestion, response, status, record_status))
    if scope == {"entity": "response", "property": "status"}:
        options = ["pending", "draft", "submitted", "discarded"]
        return {
            "type": "terms",
            "scope": scope,
            "values": draw(st.lists(st.sampled_from(options), min_size=1, max_size=3, unique=True)),
        }
    if scope["entity"] == "record":
        return {"type": "terms", "scope": scope, "values": [draw(st.sampled_from(["pending", "completed"]))]}
    if is_number(scope) and draw(st.booleans()):
        low, high = sorted(draw(st.tuples(st.integers(-3, 8), st.integers(-3, 8))))
        bounds = draw(st.sampled_from([{"ge": low}, {"le": high}, {"ge": low, "le": high}]))
        return {"type": "range", "scope": scope, **bounds}
    return {
        "type": "terms",
        "scope": scope,
        "values": draw(st.lists(st.sampled_from(anything), min_size=1, max_size=4)),
    }


orders = st.builds(lambda scope, order: {"scope": scope, "order": order},
                   st.one_of(metadata, suggestion, response, status), st.sampled_from(["asc", "desc"]))  # fmt: skip
words = st.sampled_from(WORDS)
texts = st.builds(
    lambda q, field: {"q": q, **({"field": "text"} if field else {})},
    st.one_of(words, words.map("-{}".format), words.map(lambda word: word[:4] + "*"),
              st.tuples(words, words).map(" ".join), st.tuples(words, words).map(" | ".join)),
    st.booleans(),
)  # fmt: skip


def search(world, who, body, limit=SIZE, offset=0):
    dataset, _, clients = world
    path = f"/api/v1/me/datasets/{dataset}" if who == "ann" else f"/api/v1/datasets/{dataset}"
    reply = clients[who].post(f"{path}/records/search?limit={limit}&offset={offset}", json=body)
    assert reply.status_code == 200, reply.text
    found = reply.json()
    return [one["record"]["external_id"] for one in found["items"]], found["total"]


# Each example is a request of some 20 ms, twice; the deadline would measure the machine.
CALM = settings(
    max_examples=120,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
)


@CALM
@given(
    who=st.sampled_from(["ann", "owner"]),
    wanted=st.lists(filters(), max_size=3),
    text=st.none() | texts,
    sort=st.lists(orders, max_size=2),
)
def test_searches_find_what_the_oracle_finds_in_its_order(world, who, wanted, text, sort):
    _, records, _ = world
    person = "ann" if who == "ann" else None
    body = {}
    if wanted:
        body["filters"] = {"and": wanted}
    if text:
        body["query"] = {"text": text}
    if sort:
        body["sort"] = sort
    want = {
        one["id"]: one
        for one in records
        if all(fits(one, item, person) for item in wanted) and (not text or reads(one, text))
    }
    found, total = search(world, who, body)
    assert sorted(found) == sorted(want)
    assert total == len(want)
    for place, item in enumerate(sort):
        # Within equal keys of all earlier orders, this order's keys must be sorted, absent ones last.
        earlier = [
            tuple(sort_key(want[name], one["scope"], one["order"], person) for one in sort[:place])
            for name in found
        ]
        keys = [sort_key(want[name], item["scope"], item["order"], person) for name in found]
        for start in range(1, len(found)):
            if earlier[start] != earlier[start - 1] or keys[start] is None:
                continue
            assert keys[start - 1] is not None
            pair = (keys[start - 1], keys[start])
            # Means are sums of at most two integers, halved: exact.
            assert pair[0] >= pair[1] if item["order"] == "desc" else pair[0] <= pair[1]


def test_pages_of_a_search_are_the_search(world):
    body = {"sort": [{"scope": {"entity": "metadata", "metadata_property": "colour"}, "order": "asc"}]}
    whole, total = search(world, "owner", body)
    assert total == SIZE
    assert [
        one for at in range(0, SIZE, 7) for one in search(world, "owner", body, limit=7, offset=at)[0]
    ] == whole


def test_the_queue_serves_what_is_nearest_to_its_target_first_and_differs_between_people(world):
    _, records, _ = world
    body = {
        "filters": {
            "and": [
                {
                    "type": "terms",
                    "scope": {"entity": "response", "property": "status"},
                    "values": ["pending"],
                }
            ]
        }
    }
    found, _ = search(world, "ann", body)
    by_id = {one["id"]: one for one in records}
    counts = [
        sum(given["status"] == "submitted" for given in by_id[name]["responses"].values()) for name in found
    ]
    assert counts == sorted(counts, reverse=True)
    assert 0 in counts and 1 in counts
    assert found == search(world, "ann", body)[0]
    untouched = [name for name, count in zip(found, counts, strict=True) if count == 0]
    assert untouched != sorted(untouched)


def test_dates_and_ids_filter_and_sort(world):
    dataset, _, clients = world
    listed = clients["owner"].get(f"/api/v1/datasets/{dataset}/records?limit=100").json()["items"]
    moments = {one["external_id"]: one["inserted_at"] for one in listed}
    middle = sorted(moments.values())[SIZE // 2]
    scope = {"entity": "record", "property": "inserted_at"}
    found, _ = search(world, "owner", {"filters": {"and": [{"type": "range", "scope": scope, "ge": middle}]},
                                       "sort": [{"scope": scope, "order": "desc"}]})  # fmt: skip
    assert sorted(found) == sorted(name for name, moment in moments.items() if moment >= middle)
    assert [moments[name] for name in found] == sorted((moments[name] for name in found), reverse=True)
    scope = {"entity": "record", "property": "external_id"}
    body = {"filters": {"and": [{"type": "terms", "scope": scope, "values": ["r003", "r040", "nobody"]}]}}
    assert sorted(search(world, "owner", body)[0]) == ["r003", "r040"]
    scope = {"entity": "record", "property": "id"}
    body = {"filters": {"and": [{"type": "terms", "scope": scope, "values": [listed[0]["id"], "no-id"]}]}}
    assert search(world, "owner", body)[0] == [listed[0]["external_id"]]


def test_metrics_of_metadata(world):
    dataset, records, clients = world
    listed = clients["ann"].get(f"/api/v1/me/datasets/{dataset}/metadata-properties").json()["items"]
    assert {one["name"] for one in listed} == {"colour", "marks", "count", "share"}
    for one in listed:
        got = clients["ann"].get(f"/api/v1/metadata-properties/{one['id']}/metrics").json()
        values = [value for record in records for value in as_list(record[one["name"]])]
        if one["settings"]["type"] == "terms":
            counts = {value: values.count(value) for value in set(values)}
            assert got["total"] == len(values)
            assert {each["term"]: each["count"] for each in got["values"]} == counts
            assert [each["count"] for each in got["values"]] == sorted(counts.values(), reverse=True)
        else:
            assert (got["min"], got["max"]) == (min(values), max(values))


def test_progress_counts_records_and_answers(world):
    dataset, records, clients = world
    done = sum(values_of(one, {"entity": "record"}, None) == ["completed"] for one in records)
    got = clients["owner"].get(f"/api/v1/datasets/{dataset}/progress").json()
    assert (got["total"], got["completed"], got["pending"]) == (SIZE, done, SIZE - done)
    mine = clients["ann"].get(f"/api/v1/me/datasets/{dataset}/metrics").json()["responses"]
    for status_name in ("submitted", "draft", "discarded"):
        want = sum(one["responses"].get("ann", {}).get("status") == status_name for one in records)
        assert mine[status_name] == want


def test_hidden_metadata_is_hidden_from_filters_too(world):
    dataset, _, clients = world
    scope = {"entity": "metadata", "metadata_property": "hidden"}
    for body in (
        {"filters": {"and": [{"type": "terms", "scope": scope, "values": ["x"]}]}},
        {"sort": [{"scope": scope, "order": "asc"}]},
    ):
        assert (
            clients["ann"].post(f"/api/v1/me/datasets/{dataset}/records/search", json=body).status_code == 422
        )
        assert search(world, "owner", body)[1] > 0


def test_text_follows_changes_of_records(world):
    dataset, _, clients = world
    http = clients["owner"]
    assert search(world, "owner", {"query": {"text": {"q": "zeppelin"}}})[1] == 0
    item = {
        "external_id": "new",
        "fields": {"text": "a &lt;zeppelin&gt; &amp; more", "more": {"k": [1, "zeppelins"]}},
        "metadata": {"hidden": "z"},
    }
    put = f"/api/v1/datasets/{dataset}/records/bulk"
    assert http.put(put, json={"items": [item]}).status_code == 200
    try:
        for query in ("zeppelin", '"zeppelin more"', "(zeppelin | nothing) -train", "zeppelins"):
            assert search(world, "owner", {"query": {"text": {"q": query}}})[0] == ["new"], query
        # What an entity spells is no word of the text.
        assert "new" not in search(world, "owner", {"query": {"text": {"q": "amp"}}})[0]
        item["fields"]["text"] = "an airship"
        assert http.put(put, json={"items": [item]}).status_code == 200
        assert search(world, "owner", {"query": {"text": {"q": "zeppelin"}}})[1] == 0
        assert search(world, "owner", {"query": {"text": {"q": "airship", "field": "text"}}})[0] == ["new"]
        assert search(world, "owner", {"query": {"text": {"q": "airship", "field": "more"}}})[0] == []
    finally:
        found = http.get(f"/api/v1/datasets/{dataset}/records?limit=100").json()["items"]
        record = next(one["id"] for one in found if one["external_id"] == "new")
        http.delete(f"/api/v1/records/{record}")
    assert search(world, "owner", {"query": {"text": {"q": "airship"}}})[1] == 0


def test_similar_records_are_the_nearest_by_cosine(world):
    _, _, clients = world
    http = clients["owner"]
    rng = random.Random(3)
    vectors = {f"v{number}": [rng.uniform(-1, 1) for _ in range(3)] for number in range(12)}

    def call(method, path, body=None):
        reply = http.request(method, f"/api/v1{path}", json=body)
        assert reply.status_code < 300, reply.text
        return reply.json() if reply.content else {}

    space = next(one["id"] for one in call("GET", "/me/workspaces")["items"] if one["name"] == "planarena")
    base = "/datasets/" + call("POST", "/datasets", {"name": "vectors", "workspace_id": space})["id"]
    text = {"type": "text", "use_markdown": False}
    call("POST", f"{base}/fields", {"name": "text", "title": "T", "required": True, "settings": text})
    call("POST", f"{base}/questions", {"name": "q", "title": "Q", "required": True, "settings": text})
    call("POST", f"{base}/vectors-settings", {"name": "place", "title": "P", "dimensions": 3})
    call("PUT", f"{base}/publish")
    items = [
        {
            "external_id": name,
            "fields": {"text": "even" if int(name[1:]) % 2 == 0 else "odd"},
            "vectors": {"place": vector},
        }
        for name, vector in vectors.items()
    ]
    call("POST", f"{base}/records/bulk", {"items": items})

    def cosine(one, other):
        size = math.dist(one, [0] * 3) * math.dist(other, [0] * 3)
        return sum(a * b for a, b in zip(one, other, strict=True)) / size

    def similar(limit=20, **query):
        reply = call("POST", f"{base}/records/search?limit={limit}", {"query": query})
        return [(one["record"]["external_id"], one["query_score"]) for one in reply["items"]]

    target = [0.3, -0.2, 0.9]
    want = sorted(vectors, key=lambda name: -cosine(vectors[name], target))
    found = similar(vector={"name": "place", "value": target})
    assert [name for name, _ in found] == want
    # The scale of scores is (1 + cosine) / 2; doubles of size one.
    assert [score for _, score in found] == pytest.approx(
        [(1 + cosine(vectors[name], target)) / 2 for name in want], abs=1e-12
    )
    assert [name for name, _ in similar(limit=3, vector={"name": "place", "value": target})] == want[:3]
    least = similar(vector={"name": "place", "value": target, "order": "least_similar"})
    assert [name for name, _ in least] == want[::-1]
    even = similar(text={"q": "even"}, vector={"name": "place", "value": target})
    assert [name for name, _ in even] == [name for name in want if int(name[1:]) % 2 == 0]
    listed = {one["external_id"]: one["id"] for one in call("GET", f"{base}/records?limit=50")["items"]}
    beside = similar(vector={"name": "place", "record_id": listed["v5"]})
    others = [name for name in vectors if name != "v5"]
    assert [name for name, _ in beside] == sorted(
        others, key=lambda name: -cosine(vectors[name], vectors["v5"])
    )


def test_nobody_gets_in_with_known_credentials(world):
    data = shared_server()
    import httpx

    url = place_of(data).url
    with httpx.Client(base_url=url, trust_env=False) as http:
        for key in ("argilla.apikey", "owner.apikey", "", read_credentials(data).owner.password):
            assert http.get("/api/v1/me", headers={"X-Argilla-Api-Key": key}).status_code == 401
        for name, password in (
            ("argilla", "12345678"),
            ("argilla", "1234"),
            ("owner", "12345678"),
            ("owner", ""),
        ):
            reply = http.post("/api/v1/token", data={"username": name, "password": password})
            assert reply.status_code in {401, 422}, reply.text
        cross = http.get("/api/v1/version", headers={"Origin": "https://example.com"})
        assert "access-control-allow-origin" not in cross.headers
