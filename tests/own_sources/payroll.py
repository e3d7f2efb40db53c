from dataclasses import dataclass, asdict
from datetime import datetime

@dataclass
class Employee:
    employee_id: int
    full_name: str
    department: str
    salary: float

_staff = [Employee(1, "Nadia Brandt", "Finance", 52000), Employee(2, "Tom Okafor", "Sales", 47000), Employee(3, "Lena Ruiz", "Sales", 49500)]


def find_employees(department: str) -> list[dict]:
    """Employees of a department."""
    return [asdict(e) for e in _staff if e.department.lower() == department.lower()]


def get_employee(employee_id: int) -> Employee:
    """One employee."""
    for e in _staff:
        if e.employee_id == employee_id:
            return e
    raise KeyError(employee_id)


def raise_salary(employee_id: int, percent: float) -> Employee:
    """Raise somebody's salary by a percentage."""
    if percent <= 0 or percent > 20:
        raise ValueError("percent must be between 0 and 20")
    e = get_employee(employee_id)
    e.salary = round(e.salary * (1 + percent / 100), 2)
    return e


def hire(full_name: str, department: str, salary: float) -> Employee:
    """Hire somebody."""
    e = Employee(len(_staff) + 1, full_name, department, salary)
    _staff.append(e)
    return e
