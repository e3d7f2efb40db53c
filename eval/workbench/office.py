"""The office that WorkBench's tasks are about: the tools by their public names, which read and change five tables.

Text alone is stored; what is no text is written as text first, as the benchmark writes an agent's arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from planarena.eval.workbench.tables import NOW, OfficeError, Row, Table, check_names, matching, within

__all__ = ["CHANGING", "TOOLS", "Office"]

_SHOWN = 5
_BOARDS = ("Back end", "Front end", "Design")
_LISTS = ("Backlog", "In Progress", "In Review", "Completed")
_STATUSES = ("Qualified", "Won", "Lost", "Lead", "Proposal")
_PRODUCTS = ("Software", "Hardware", "Services", "Consulting", "Training")
_METRICS = ("total_visits", "session_duration_seconds", "user_engaged", "visits_direct", "visits_referral",
            "visits_search_engine", "visits_social_media")  # fmt: skip
_PLOTS = ("bar", "line", "scatter", "histogram")


class Office:
    """The tables of one episode and the tools by their public names."""

    def __init__(self, tables: dict[str, Table], addresses: tuple[str, ...] = ()) -> None:
        self._tables = {name: table.copy() for name, table in tables.items()}
        self._addresses = addresses

    def call(self, name: str, arguments: dict[str, Any], positional: Iterable[Any] = ()) -> Any:
        """Carry one call out and return what it returns.

        Raises:
            OfficeError: No such tool, or arguments that it does not take.
        """
        tool = TOOLS.get(name)
        if tool is None:
            raise OfficeError(f"there is no tool {name}")
        texts = {key: str(value) for key, value in arguments.items() if value is not None}
        try:
            return tool(self, *map(str, positional), **texts)
        except TypeError as error:
            raise OfficeError(str(error).rpartition(".")[2]) from error

    def state(self, *, folded: bool) -> tuple[Any, ...]:
        """Return what a verdict compares: every table that tools change."""
        return tuple(
            self._tables[name].content(folded=folded)
            for name in ("calendar", "email", "plots", "tasks", "customers")
        )

    # --- what the toolkits share ---

    def _field(self, table: str, key: str, value: str, field: str) -> Any:
        if not value or not field:
            return "An id and a field are needed."
        rows = self._tables[table].find(key, value)
        if not rows:
            return "Nothing has this id."
        return {field: rows[0][field]} if field in rows[0] else "There is no such field."

    def _delete(self, table: str, key: str, value: str) -> str:
        if not value:
            return "An id is needed."
        if not self._tables[table].find(key, value):
            return "Nothing has this id."
        self._tables[table].delete(key, value)
        return "Deleted."

    def _change(self, table: str, key: str, value: str, field: str, new: str) -> str:
        if not self._tables[table].find(key, value):
            return "Nothing has this id."
        if field not in self._tables[table].columns:
            return "There is no such field."
        self._tables[table].change(key, value, field, new)
        return "Updated."

    # --- calendar ---

    def _event(self, event_id: str = "", field: str = "") -> Any:
        return self._field("calendar", "event_id", event_id, field)

    def _search_events(self, query: str = "", time_min: str = "", time_max: str = "") -> Any:
        rows = matching(self._tables["calendar"], {"event_name": query}, {"participant_email": query})
        rows = [row for row in rows if within(row, "event_start", time_min, time_max)]
        return rows[:_SHOWN] or "No events found."

    def _create_event(
        self, event_name: str = "", participant_email: str = "", event_start: str = "", duration: str = ""
    ) -> Any:
        if not (event_name and participant_email and event_start and duration):
            return "An event needs a name, a participant, a start and a duration."
        table = self._tables["calendar"]
        key = str(table.greatest("event_id") + 1).zfill(8)
        row: Row = {
            "event_id": key,
            "event_name": event_name,
            "participant_email": participant_email.lower(),
            "event_start": event_start,
            "duration": duration,
        }
        table.rows.append((0, {name: row.get(name) for name in table.columns}))
        return key

    def _delete_event(self, event_id: str = "") -> Any:
        return self._delete("calendar", "event_id", event_id)

    def _update_event(self, event_id: str = "", field: str = "", new_value: str = "") -> Any:
        if not (event_id and field and new_value):
            return "An id, a field and a new value are needed."
        table = self._tables["calendar"]
        if not table.find("event_id", event_id):
            return "Nothing has this id."
        new = new_value.lower() if field == "participant_email" else new_value
        table.change("event_id", event_id, field, new)
        return "Updated."

    # --- e-mail ---

    def _email(self, email_id: str = "", field: str = "") -> Any:
        return self._field("email", "email_id", email_id, field)

    def _search_emails(self, query: str = "", date_min: str = "", date_max: str = "") -> Any:
        words = query.lower().split()
        rows = []
        for _, row in self._tables["email"].rows:
            text = f"{row['subject']} {row['body']} {row['sender/recipient']}".lower()
            if all(word in text for word in words) and within(row, "sent_datetime", date_min, date_max, 10):
                rows.append(row)
        rows.sort(key=lambda row: row["sent_datetime"] or NOW, reverse=True)
        return rows[:_SHOWN] or "No emails found."

    def _send_email(self, recipient: str = "", subject: str = "", body: str = "") -> Any:
        if not (recipient and subject and body):
            return "An e-mail needs a recipient, a subject and a body."
        if "@" not in recipient or "." not in recipient:
            return "The recipient is no address."
        table = self._tables["email"]
        # The time of what was sent here is compared with nothing, whatever row it takes the place of.
        values = (str(table.greatest("email_id") + 1), "outbox", recipient.lower(), subject, None, body)
        if len(values) != len(table.columns):
            raise OfficeError("the table has other columns by now")
        table.append(dict(zip(table.columns, values, strict=True)), len(table.rows))
        return "Sent."

    def _delete_email(self, email_id: str = "") -> Any:
        return self._delete("email", "email_id", email_id)

    def _forward_email(self, email_id: str = "", recipient: str = "") -> Any:
        if not (email_id and recipient):
            return "An id and a recipient are needed."
        rows = self._tables["email"].find("email_id", email_id)
        if not rows:
            return "Nothing has this id."
        return self._send_email(recipient, f"FW: {rows[0]['subject']}", rows[0]["body"] or "")

    def _reply_email(self, email_id: str = "", body: str = "") -> Any:
        if not (email_id and body):
            return "An id and a body are needed."
        rows = self._tables["email"].find("email_id", email_id)
        if not rows:
            return "Nothing has this id."
        return self._send_email(rows[0]["sender/recipient"] or "", rows[0]["subject"] or "", body)

    # --- analytics ---

    def _visitor(self, visitor_id: str = "") -> Any:
        return self._tables["visits"].find("visitor_id", visitor_id) or "Visitor not found."

    def _plot(
        self, time_min: str = "", time_max: str = "", value_to_plot: str = "", plot_type: str = ""
    ) -> Any:
        if not (time_min and time_max):
            return "A first and a last day are needed."
        if value_to_plot not in _METRICS:
            return f"The value is one of {', '.join(_METRICS)}."
        if plot_type not in _PLOTS:
            return f"The type is one of {', '.join(_PLOTS)}."
        path = f"plots/{time_min}_{time_max}_{value_to_plot}_{plot_type}.png"
        table = self._tables["plots"]
        table.append({"file_path": path}, len(table.rows))
        return path

    def _by_day(
        self, time_min: str, time_max: str, measure: Callable[[Row], float | None], mean: bool = False
    ) -> Any:
        days: dict[str, list[float]] = {}
        for _, row in self._tables["visits"].rows:
            if within(row, "date_of_visit", time_min, time_max) and (value := measure(row)) is not None:
                days.setdefault(str(row["date_of_visit"]), []).append(value)
        return {
            day: sum(values) / len(values) if mean else int(sum(values))
            for day, values in sorted(days.items())
        }

    def _visits(self, time_min: str = "", time_max: str = "") -> Any:
        return self._by_day(time_min, time_max, lambda _: 1.0)

    def _engaged(self, time_min: str = "", time_max: str = "") -> Any:
        return self._by_day(time_min, time_max, lambda row: float(row["user_engaged"] == "True"))

    def _sources(self, time_min: str = "", time_max: str = "", traffic_source: str = "") -> Any:
        return self._by_day(
            time_min,
            time_max,
            lambda row: float(not traffic_source or row["traffic_source"] == traffic_source),
        )

    def _durations(self, time_min: str = "", time_max: str = "") -> Any:
        return self._by_day(time_min, time_max, lambda row: float(row["session_duration_seconds"] or 0), True)

    # --- projects ---

    def _task(self, task_id: str = "", field: str = "") -> Any:
        return self._field("tasks", "task_id", task_id, field)

    def _search_tasks(self, **wanted: str) -> Any:
        check_names(wanted, "task_name", "assigned_to_email", "list_name", "due_date", "board")
        return matching(self._tables["tasks"], wanted) if any(wanted.values()) else "Say what to search for."

    def _create_task(
        self,
        task_name: str = "",
        assigned_to_email: str = "",
        list_name: str = "",
        due_date: str = "",
        board: str = "",
    ) -> Any:
        if not (task_name and assigned_to_email and list_name and due_date and board):
            return "A task needs a name, an assignee, a list, a due date and a board."
        address = assigned_to_email.lower()
        if (refused := self._wrong_task(address, list_name, board)) is not None:
            return refused
        table = self._tables["tasks"]
        key = str(table.greatest("task_id") + 1).zfill(8)
        row: Row = {
            "task_id": key,
            "task_name": task_name,
            "assigned_to_email": address,
            "list_name": list_name,
            "due_date": due_date,
            "board": board,
        }
        table.append({name: row.get(name) for name in table.columns}, None)
        return key

    def _wrong_task(self, address: str | None, list_name: str | None, board: str | None) -> str | None:
        known = {str(row["assigned_to_email"]).lower() for _, row in self._tables["tasks"].rows}
        if address is not None and address not in known:
            return "The assignee is no member of the team."
        if list_name is not None and list_name not in _LISTS:
            return f"The list is one of {', '.join(_LISTS)}."
        if board is not None and board not in _BOARDS:
            return f"The board is one of {', '.join(_BOARDS)}."
        return None

    def _delete_task(self, task_id: str = "") -> Any:
        return self._delete("tasks", "task_id", task_id)

    def _update_task(self, task_id: str = "", field: str = "", new_value: str = "") -> Any:
        if not (task_id and field and new_value):
            return "An id, a field and a new value are needed."
        new = new_value.lower() if field == "assigned_to_email" else new_value
        given = {"assigned_to_email": None, "list_name": None, "board": None} | {field: new}
        refused = self._wrong_task(given["assigned_to_email"], given["list_name"], given["board"])
        return refused or self._change("tasks", "task_id", task_id, field, new)

    # --- customers ---

    def _search_customers(self, **wanted: str) -> Any:
        texts = ("customer_name", "customer_email", "product_interest", "status", "assigned_to_email")
        bounds = ("last_contact_date", "follow_up_by")
        check_names(wanted, *texts, *(f"{name}_{end}" for name in bounds for end in ("min", "max")))
        if not any(wanted.values()):
            return "Say what to search for."
        rows = matching(self._tables["customers"], {name: wanted.get(name, "") for name in texts})
        for name in bounds:
            rows = [
                row
                for row in rows
                if within(row, name, wanted.get(f"{name}_min", ""), wanted.get(f"{name}_max", ""))
            ]
        return rows[:_SHOWN]

    def _update_customer(self, customer_id: str = "", field: str = "", new_value: str = "") -> Any:
        if not (customer_id and field and new_value):
            return "An id, a field and a new value are needed."
        for name, allowed in (("status", _STATUSES), ("product_interest", _PRODUCTS)):
            if field == name and new_value not in allowed:
                return f"It is one of {', '.join(allowed)}."
        new = new_value.lower() if field in ("customer_email", "assigned_to_email") else new_value
        return self._change("customers", "customer_id", customer_id, field, new)

    def _add_customer(
        self,
        customer_name: str = "",
        assigned_to_email: str = "",
        status: str = "",
        customer_email: str | None = None,
        customer_phone: str | None = None,
        last_contact_date: str | None = None,
        product_interest: str | None = None,
        notes: str = "",
        follow_up_by: str | None = None,
    ) -> Any:
        if not (customer_name and assigned_to_email and status):
            return "A customer needs a name, an assignee and a status."
        table = self._tables["customers"]
        key = str(table.greatest("customer_id") + 1).zfill(8)
        row: Row = {
            "customer_id": key,
            "customer_name": customer_name,
            "customer_email": customer_email.lower() if customer_email else customer_email,
            "customer_phone": customer_phone,
            "last_contact_date": last_contact_date,
            "product_interest": product_interest,
            "status": status,
            "assigned_to_email": assigned_to_email.lower(),
            "notes": notes,
            "follow_up_by": follow_up_by,
        }
        table.append({name: row.get(name) for name in table.columns}, None)
        return key

    def _delete_customer(self, customer_id: str = "") -> Any:
        return self._delete("customers", "customer_id", customer_id)

    def _address(self, name: str = "") -> Any:
        return [address for address in self._addresses if name.lower() in address] if name else "Whose?"


TOOLS: dict[str, Callable[..., Any]] = {
    "calendar.get_event_information_by_id": Office._event,
    "calendar.search_events": Office._search_events,
    "calendar.create_event": Office._create_event,
    "calendar.delete_event": Office._delete_event,
    "calendar.update_event": Office._update_event,
    "email.get_email_information_by_id": Office._email,
    "email.search_emails": Office._search_emails,
    "email.send_email": Office._send_email,
    "email.delete_email": Office._delete_email,
    "email.forward_email": Office._forward_email,
    "email.reply_email": Office._reply_email,
    "analytics.get_visitor_information_by_id": Office._visitor,
    "analytics.create_plot": Office._plot,
    "analytics.total_visits_count": Office._visits,
    "analytics.engaged_users_count": Office._engaged,
    "analytics.traffic_source_count": Office._sources,
    "analytics.get_average_session_duration": Office._durations,
    "project_management.get_task_information_by_id": Office._task,
    "project_management.search_tasks": Office._search_tasks,
    "project_management.create_task": Office._create_task,
    "project_management.delete_task": Office._delete_task,
    "project_management.update_task": Office._update_task,
    "customer_relationship_manager.search_customers": Office._search_customers,
    "customer_relationship_manager.update_customer": Office._update_customer,
    "customer_relationship_manager.add_customer": Office._add_customer,
    "customer_relationship_manager.delete_customer": Office._delete_customer,
    "company_directory.find_email_address": Office._address,
}
CHANGING = frozenset(
    name
    for name in TOOLS
    if name.partition(".")[2].startswith(
        ("create_", "delete_", "update_", "send_", "forward_", "reply_", "add_")
    )
)
