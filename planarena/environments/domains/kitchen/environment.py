"""A household's kitchen: recipes, the pantry, the dinners of the week and the shopping list."""

from __future__ import annotations

from random import Random
from typing import Annotated, Any

from planarena.environments.contract import Environment, Seed, ToolError, tool
from planarena.environments.domains.shared import Shared, day_after
from planarena.environments.domains.types import Count, Date, Minutes, Money, Payable, Person, Rating
from planarena.environments.shapes import Fields, Result
from planarena.environments.state import Record
from planarena.tools.semantics import Semantic

from .world import PROPOSALS, make_kitchen

__all__ = ["Kitchen"]

_LARGER = {"g": "kg", "ml": "l"}
_ONE = {"tins": "tin", "cloves": "clove", "bunches": "bunch", "slices": "slice"}

RecipeId = Annotated[str, Semantic("recipe_id", hidden=True)]
MealId = Annotated[str, Semantic("planned_meal_id", hidden=True)]
LineId = Annotated[str, Semantic("grocery_line_id", hidden=True)]
Kind = Annotated[str, Semantic("recipe_kind", surface="name")]
Dish = Annotated[str, Semantic("recipe_title", surface="name")]
Item = Annotated[str, Semantic("grocery_item", surface="name")]
# What is to be bought is another thing than what is there: nobody buys what has to be used up.
Wanted = Annotated[str, Semantic("wanted_item", surface="name")]
Amount = Annotated[str, Semantic("grocery_amount", surface="name")]
Place = Annotated[str, Semantic("kitchen_place", surface="name")]
BestBefore = Annotated[str, Semantic("best_before", surface="date")]
Aisle = Annotated[str, Semantic("shop_aisle", surface="name")]
Packs = Annotated[int, Semantic("grocery_packs", surface="number", minimum=1, maximum=9)]

record = Fields(
    recipe_id=RecipeId, meal_id=MealId, line_id=LineId, dish=Dish, duration=Minutes, rating=Rating, item=Item,
    amount=Amount, place=Place, aisle=Aisle, date=Date, before=Date, best_before=BestBefore, next_free=Date,
    cook=Person, price=Money, total=Payable, count=Count,
)  # fmt: skip
RECIPE = record("recipe_id dish duration rating")
NEED = record("item amount")
MEAL = record("meal_id recipe_id dish date cook")
STORED = record("item amount place best_before")


class Kitchen(Environment):
    """What a household cooks, has and buys."""

    domain = "kitchen"
    summary = "A household's kitchen: recipes, the pantry, the dinners of the week and the shopping list."
    proposals = PROPOSALS

    @classmethod
    def seed(cls, rng: Random, shared: Shared | None = None) -> Seed:
        """Make a kitchen."""
        return make_kitchen(cls.seeds(), rng, shared)

    @tool("read", gives=record("count recipes best_liked", recipes=[RECIPE], best_liked=RECIPE))
    def find_recipes(self, kind: Kind, longest: Minutes | None = None) -> Result:
        """List the household's recipes of a kind, the quickest first, and the one that was liked best.

        Args:
            kind: The kind of dish.
            longest: Only those that take at most so many minutes.
        """
        found = [one for one in self.rows("recipes", kind=kind) if not longest or one["duration"] <= longest]
        return _listed(found, f"There are no {kind} of that sort among the recipes.")

    @tool("read", gives=record("count recipes best_liked", recipes=[RECIPE], best_liked=RECIPE))
    def find_recipes_with(self, item: Item) -> Result:
        """List the recipes that take an ingredient, the quickest first, and the one that was liked best.

        Args:
            item: The ingredient.
        """
        found = [one for one in self.state.scan("recipes") if item in one["needs"]]
        return _listed(found, f"No recipe takes {item}.")

    @tool("read", gives=record("dish duration rating count ingredients", ingredients=[NEED]))
    def open_recipe(self, recipe_id: RecipeId) -> Result:
        """Show a recipe: how long it takes, and its ingredients for four people.

        Args:
            recipe_id: The recipe.
        """
        recipe = self.require("recipes", recipe_id, "recipe")
        needs = [self._need(item, quantity) for item, quantity in sorted(recipe["needs"].items())]
        return {**recipe, "count": len(needs), "ingredients": needs}

    @tool("read", gives=record("dish count missing", missing=[record("item amount", item=Wanted)]))
    def find_missing_ingredients(self, recipe_id: RecipeId) -> Result:
        """List what a recipe takes beyond what the pantry holds.

        Args:
            recipe_id: The recipe.
        """
        recipe = self.require("recipes", recipe_id, "recipe")
        missing = [self._need(item, quantity) for item, quantity in self._missing(recipe).items()]
        return {**recipe, "count": len(missing), "missing": missing}

    @tool("update", gives=record("dish count added total", added=[NEED]))
    def put_missing_on_list(self, recipe_id: RecipeId) -> Result:
        """Put on the shopping list whatever the pantry lacks for a recipe; the total is that of the whole list.

        Args:
            recipe_id: The recipe; something must be missing for it.
        """
        recipe = self.require("recipes", recipe_id, "recipe")
        missing = self._missing(recipe)
        if not missing:
            raise ToolError("nothing_missing", f"Everything for {recipe['dish']} is there.")
        for item, quantity in missing.items():
            self._want(item, quantity)
        added = [self._need(item, quantity) for item, quantity in missing.items()]
        return {**recipe, "count": len(added), "added": added, "total": self._total()}

    @tool("read", gives=record("item amount place best_before"))
    def check_pantry_item(self, item: Item) -> Result:
        """Look up how much of something is left at home, where it stands, and until when it keeps.

        Args:
            item: What is looked for.
        """
        stored = self.state.get("pantry", item)
        if stored is None:
            raise ToolError("none_left", f"The pantry holds no {item}.")
        return {**stored, **self._need(item, stored["quantity"])}

    @tool("read", gives=record("count items", items=[STORED]))
    def list_pantry_until(self, date: Date) -> Result:
        """List what in the pantry keeps no longer than to a day, what goes off first at the top.

        Args:
            date: The day.
        """
        stored = [
            {**one, **self._need(one["item"], one["quantity"])}
            for one in self.state.scan("pantry")
            if one["best_before"] <= date
        ]
        if not stored:
            raise ToolError("nothing_found", "Everything keeps longer than that.")
        stored.sort(key=lambda one: (one["best_before"], one["item"]))
        return {"count": len(stored), "items": stored[:8]}

    @tool("read", gives=record("count meals next_free", meals=[MEAL]))
    def view_week_menu(self) -> Result:
        """Show the dinners that are planned, by day, who cooks them, and the first evening without a plan."""
        meals = sorted(self.state.scan("meals"), key=lambda meal: meal["date"])
        taken = {meal["date"] for meal in meals}
        free = next(day for ahead in range(1, 60) if (day := day_after(self.now, ahead)) not in taken)
        return {"count": len(meals), "meals": meals, "next_free": free}

    @tool("create", gives=record("meal_id dish date cook"))
    def plan_week_meal(self, recipe_id: RecipeId, date: Date, cook: Person) -> Result:
        """Plan a dinner for an evening that has none.

        Args:
            recipe_id: What there will be.
            date: The day.
            cook: Full name of whoever cooks.
        """
        recipe = self.require("recipes", recipe_id, "recipe")
        self._refuse_day(date)
        meal_id = self.new_id("mel", recipe_id, date)
        meal = {
            "meal_id": meal_id,
            "recipe_id": recipe_id,
            "dish": recipe["dish"],
            "date": date,
            "cook": cook,
        }
        return self.state.put("meals", meal_id, meal)

    @tool("update", gives=record("dish before date cook"))
    def move_week_meal(self, meal_id: MealId, date: Date) -> Result:
        """Move a planned dinner to an evening that has none.

        Args:
            meal_id: The dinner.
            date: The new day.
        """
        meal = self.require("meals", meal_id, "dinner")
        self._refuse_day(date)
        return {**self.state.patch("meals", meal_id, date=date), "before": meal["date"]}

    @tool("update", gives=record("dish date cook"))
    def assign_meal_cook(self, meal_id: MealId, cook: Person) -> Result:
        """Have somebody else cook a planned dinner.

        Args:
            meal_id: The dinner.
            cook: Full name of whoever cooks now.
        """
        meal = self.require("meals", meal_id, "dinner")
        if meal["cook"] == cook:
            raise ToolError("same_cook", f"{cook} cooks {meal['dish']} anyway.")
        return self.state.patch("meals", meal_id, cook=cook)

    @tool("read", gives=record("count total lines", lines=[record("line_id item amount aisle price")]))
    def view_grocery_list(self) -> Result:
        """Show the shopping list in the order of the aisles, with what it will cost."""
        lines = [
            {**line, **self._need(line["item"], line["quantity"]), "price": self._price(line)}
            for line in self.state.scan("lines")
        ]
        if not lines:
            raise ToolError("list_empty", "Nothing is on the shopping list.")
        lines.sort(key=lambda line: (line["aisle"], line["item"]))
        return {"count": len(lines), "total": self._total(), "lines": lines}

    @tool("create", gives=record("item amount aisle total"))
    def add_grocery_item(self, item: Wanted, packs: Packs | None = None) -> Result:
        """Put something on the shopping list that is not there yet.

        Args:
            item: What is to be bought.
            packs: How many packs; one without it.
        """
        goods = self.require("goods", item, "such item")
        if self.state.get("lines", self.new_id("grl", item)):
            raise ToolError("already_on_list", f"The list has {item} already.")
        line = self._want(item, goods["pack"] * (packs or 1))
        return {**line, **self._need(item, line["quantity"]), "total": self._total()}

    @tool("update", gives=record("item amount place best_before count total"))
    def mark_grocery_bought(self, line_id: LineId) -> Result:
        """Take something that was bought off the list and put it in the pantry, in whole packs.

        Args:
            line_id: The line of the list.
        """
        line = self.require("lines", line_id, "line")
        item = line["item"]
        goods, stored = self.require("goods", item, "item"), self.state.get("pantry", item)
        self.state.delete("lines", line_id)
        quantity = _packs(line, goods) * goods["pack"] + (stored["quantity"] if stored else 0)
        best_before = stored["best_before"] if stored else day_after(self.now, goods["keeps"])
        kept = {"item": item, "quantity": quantity, "place": goods["place"], "best_before": best_before}
        left = len(list(self.state.scan("lines")))
        self.state.put("pantry", item, kept)
        return {**kept, **self._need(item, quantity), "count": left, "total": self._total()}

    def _need(self, item: str, quantity: int) -> dict[str, Any]:
        """Return an item and an amount of it as people write it: 400 g, 1.5 kg, 1 tin, 3."""
        unit = self.require("goods", item, "item")["unit"]
        if quantity >= 1000 and unit in _LARGER:
            return {"item": item, "amount": f"{quantity / 1000:g} {_LARGER[unit]}"}
        return {
            "item": item,
            "amount": f"{quantity} {_ONE.get(unit, unit) if quantity == 1 else unit}".strip(),
        }

    def _missing(self, recipe: Record) -> dict[str, int]:
        """Return by item what a recipe takes beyond what there is."""
        stored = {one["item"]: one["quantity"] for one in self.state.scan("pantry")}
        lacks = {item: quantity - stored.get(item, 0) for item, quantity in sorted(recipe["needs"].items())}
        return {item: quantity for item, quantity in lacks.items() if quantity > 0}

    def _want(self, item: str, quantity: int) -> Record:
        """Put so much more of an item on the list."""
        line_id, aisle = self.new_id("grl", item), self.require("goods", item, "item")["aisle"]
        before = self.state.get("lines", line_id)
        more = quantity + (before["quantity"] if before else 0)
        return self.state.put(
            "lines", line_id, {"line_id": line_id, "item": item, "quantity": more, "aisle": aisle}
        )

    def _price(self, line: Record) -> float:
        goods = self.require("goods", line["item"], "item")
        return float(round(_packs(line, goods) * goods["price"], 2))

    def _total(self) -> float:
        return round(sum(self._price(line) for line in self.state.scan("lines")), 2)

    def _refuse_day(self, date: str) -> None:
        if date < self.today:
            raise ToolError("in_the_past", f"{date} has passed.")
        for meal in self.rows("meals", date=date):
            raise ToolError("evening_taken", f"There is {meal['dish']} on {date} already.")


def _packs(line: Record, goods: Record) -> int:
    return -(-int(line["quantity"]) // int(goods["pack"]))


def _listed(found: list[Record], nothing: str) -> Result:
    """Return recipes by the time they take, with the best liked of them."""
    if not found:
        raise ToolError("nothing_found", nothing)
    found.sort(key=lambda one: (one["duration"], one["recipe_id"]))
    best = max(found, key=lambda one: one["rating"])
    return {"count": len(found), "recipes": found, "best_liked": best}
