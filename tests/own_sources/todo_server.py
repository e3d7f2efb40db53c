"""A to-do MCP server that starts empty, over the standard library alone: JSON-RPC lines on standard input and output."""
import json
import sys

TODOS = {}
TOOLS = [
    {"name": "add_todo", "description": "Add a to-do", "inputSchema": {"type": "object", "properties": {"title": {"type": "string", "description": "What to do"}, "due": {"type": "string", "format": "date"}}, "required": ["title"]}},
    {"name": "list_todos", "description": "List all to-dos", "inputSchema": {"type": "object", "properties": {}}},
    {"name": "complete_todo", "description": "Mark a to-do as done", "inputSchema": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}},
    {"name": "delete_todo", "description": "Delete a to-do", "inputSchema": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}},
]


def call(name, arguments):
    if name == "add_todo":
        todo = {"id": len(TODOS) + 1, "title": arguments["title"], "due": arguments.get("due"), "done": False}
        TODOS[todo["id"]] = todo
        return todo
    if name == "list_todos":
        return {"todos": list(TODOS.values())}
    if arguments["id"] not in TODOS:
        raise ValueError("There is no to-do with id %s" % arguments["id"])
    if name == "complete_todo":
        TODOS[arguments["id"]]["done"] = True
        return TODOS[arguments["id"]]
    return {"deleted": TODOS.pop(arguments["id"])}


def answer(message):
    method = message.get("method")
    if method == "initialize":
        return {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "todo", "version": "1.0"}}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        try:
            value = call(message["params"]["name"], message["params"]["arguments"])
        except Exception as error:
            return {"content": [{"type": "text", "text": "Error: %s" % error}], "isError": True}
        return {"content": [{"type": "text", "text": json.dumps(value)}]}
    return {}


def main():
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": answer(message)}), flush=True)


main()
