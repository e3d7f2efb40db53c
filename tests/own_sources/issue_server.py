import json, sys, uuid
ISSUES = {}
TOOLS = [
 {"name": "create_issue", "description": "Create an issue in the tracker.", "inputSchema": {"type": "object", "properties": {"title": {"type": "string"}, "body": {"type": "string"}, "priority": {"type": "string", "enum": ["low", "medium", "high"]}}, "required": ["title"]}},
 {"name": "get_issue", "description": "Get an issue by its key.", "inputSchema": {"type": "object", "properties": {"issue_id": {"type": "string"}}, "required": ["issue_id"]}},
 {"name": "search_issues", "description": "Search issues by text.", "inputSchema": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}},
 {"name": "add_comment", "description": "Comment on an issue.", "inputSchema": {"type": "object", "properties": {"issue_id": {"type": "string"}, "text": {"type": "string"}}, "required": ["issue_id", "text"]}},
 {"name": "close_issue", "description": "Close an issue.", "inputSchema": {"type": "object", "properties": {"issue_id": {"type": "string"}}, "required": ["issue_id"]}},
]
def call(name, a):
    if name == "create_issue":
        k = uuid.uuid4().hex[:12]
        ISSUES[k] = {"issue_id": k, "title": a["title"], "body": a.get("body", ""), "priority": a.get("priority", "medium"), "status": "open", "comments": []}
        return ISSUES[k]
    if name == "search_issues":
        return [i for i in ISSUES.values() if a["query"].lower() in i["title"].lower()]
    i = ISSUES[a["issue_id"]]
    if name == "add_comment": i["comments"].append(a["text"])
    if name == "close_issue":
        if i["status"] == "closed": raise ValueError("already closed")
        i["status"] = "closed"
    return i
for line in sys.stdin:
    m = json.loads(line); r = {}
    if "id" not in m: continue
    if m["method"] == "initialize": r = {"protocolVersion": m["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "issues", "version": "1"}}
    elif m["method"] == "tools/list": r = {"tools": TOOLS}
    elif m["method"] == "tools/call":
        try: r = {"content": [{"type": "text", "text": json.dumps(call(m["params"]["name"], m["params"].get("arguments", {})))}]}
        except Exception as e: r = {"content": [{"type": "text", "text": f"{type(e).__name__}: {e}"}], "isError": True}
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
