// One trajectory: what was said, its graph, its steps with what they returned, and the choices at each step.

// `inefficient` stands in runs of earlier versions.
const RIGHT = new Set(["frontier", "equivalent", "harmless", "inefficient"]);

const code = (text) => make("pre", "", text);
const withoutSlash = (argument) => argument.replace(/^\//, "");
const plural = (number, word) => `${number} ${word}${number === 1 ? "" : "s"}`;

function disclose(summary, open, ...children) {
  const made = make("details", "", make("summary", "", summary), ...children);
  made.open = open;
  return made;
}

// Everything of one trajectory of a family, read from its block.
function readTrajectory(block, family, member) {
  const [scenarioLine, before, plan, answers, withheld, order, goal, steps, points, wrong] = block.record(family.line);
  const [title, description, context, toolLines] = block.record(scenarioLine);
  const other = member ? wrong[member - 1] : null;
  const chosen = other ? other[2].map((one) => (typeof one === "number" ? steps[one] : one)) : steps;
  return {
    title, description, before, withheld,
    context: block.json(context),
    goal: block.json(goal),
    tools: toolLines.map((line) => block.record(line)).filter(([name]) => !withheld.includes(name)),
    plan: (other && other[0]) || plan,
    answers: other ? other[1] : answers,
    order: other ? [] : order,
    steps: chosen.map(([tool, toolLine, group, turn, line, args, bound, execution], number) => {
      const [status, kind, result] = block.record(execution);
      const effects = toolLine < 0 ? "unknown" : block.record(toolLine)[1];
      return { number, tool, exists: toolLine >= 0, effects, group, turn, plan: line, args: block.json(args), bound, status, kind, result: block.json(result) };
    }),
    points: new Map(
      points.map(([step, choices]) => [
        step,
        choices.map(([tool, args, outcome, mutation, relevance, execution]) => ({
          tool, outcome, mutation, relevance, args: block.json(args), execution: execution < 0 ? null : block.record(execution),
        })),
      ]),
    ),
  };
}

function graphOf(shown, row, expression) {
  const layers = [...new Set(shown.steps.map((step) => step.turn * 1000 + step.group))].sort((a, b) => a - b);
  const nodes = shown.steps.map((step) => ({
    number: step.number,
    layer: layers.indexOf(step.turn * 1000 + step.group),
    name: step.tool,
    effect: step.effects === "read" ? "reads" : step.effects === "unknown" ? "unknown" : "acts",
    wrong: step.number === row.diverge,
  }));
  const edges = shown.steps.flatMap((step) =>
    step.bound.map(([argument, source]) => ({ source, target: step.number, label: withoutSlash(argument) || "value" })),
  );
  for (const [source, target] of shown.order) edges.push({ source, target, label: "" });
  return nodes.length ? make("div", "scroll", drawGraph(nodes, edges, expression)) : null;
}

function choiceElement(choice, block) {
  const right = RIGHT.has(choice.outcome);
  const facts = [
    choice.mutation && choice.mutation.replaceAll("_", " "),
    choice.relevance !== null && `relevance ${choice.relevance}`,
  ].filter(Boolean);
  const made = make("div", `choice ${right ? "right" : "wrong"}`,
    make("div", "", make("span", "outcome", choice.outcome), " ", make("b", "", choice.tool || "answer"),
      make("span", "turn", facts.length ? ` · ${facts.join(" · ")}` : "")));
  if (choice.args !== "{}") made.append(code(choice.args));
  if (choice.execution) {
    const [status, , result] = choice.execution;
    made.append(disclose(status === "ok" ? (choice.tool ? "returned" : "checked") : `failed: ${status}`, false, code(block.json(result))));
  }
  return made;
}

function choicesElement(choices, block, open) {
  const right = choices.filter((one) => RIGHT.has(one.outcome)).length;
  const made = disclose(`${plural(choices.length, "choice")} here, ${right} right`, open, ...choices.map((one) => choiceElement(one, block)));
  made.classList.add("choices");
  return made;
}

function stepElement(step, shown, row, block) {
  const together = shown.steps.filter((o) => o.group === step.group && o.turn === step.turn && o !== step).map((o) => o.number + 1);
  const choices = row.kind === "contrastive" && step.number > row.diverge ? null : shown.points.get(step.number);
  return make("li", step.number === row.diverge ? "wrong" : "",
    make("b", "", `${step.number + 1}. ${step.tool}`),
    make("span", "turn", together.length ? ` · together with ${together.join(", ")}` : "", step.exists ? "" : " · there is no such tool"),
    step.number === row.diverge && make("div", "fault", `Wrong from here: ${row.mutation.replaceAll("_", " ")}`),
    make("div", "turn", step.plan),
    code(step.args),
    ...step.bound.map(([argument, source, pointer]) =>
      make("div", "turn", `${withoutSlash(argument)} ← step ${source + 1} `, make("code", "", pointer))),
    disclose(step.status === "ok" ? "returned" : `failed: ${step.status}`, step.status !== "ok", code(step.result)),
    choices && choicesElement(choices, block, false));
}

function stepsElement(shown, row, block) {
  const list = make("ol", "steps", ...shown.steps.map((step) => stepElement(step, shown, row, block)));
  const end = shown.steps.length;
  if (row.diverge >= end) list.append(make("li", "wrong", make("div", "fault", `Wrong from here: ${row.mutation.replaceAll("_", " ")}. It answers at once.`)));
  if (!end && row.kind !== "contrastive") list.append(make("li", "", "No call is right here."));
  const left = row.kind === "contrastive" ? row.diverge : end;
  if (left >= end && shown.points.has(left)) list.lastChild.append(choicesElement(shown.points.get(left), block, true));
  return list;
}

// The element that shows one trajectory; `link` makes a button to another one of its family.
function renderTrajectory(block, family, member, link) {
  const row = family.rows[member], shown = readTrajectory(block, family, member);
  const tags = [
    family.domain, row.kind, family.category !== "call" && family.category.replaceAll("_", " "), plural(row.length, "action"),
    row.mutation.replaceAll("_", " "), row.execution !== "none" && `${row.execution} execution`, family.overSerialised && "over-serialised", family.register, family.split,
  ].filter(Boolean);
  const talk = family.turns.flatMap((said, turn) => [
    make("blockquote", "", said),
    turn + 1 < family.turns.length && shown.answers[turn] ? make("p", "plan", shown.answers[turn]) : null,
    // Choices at an answer before the end: -1 for the first message, and so on.
    shown.points.has(-1 - turn) ? choicesElement(shown.points.get(-1 - turn), block, false) : null,
  ]);
  const others = family.rows.map((_, at) => at).filter((at) => at !== member);
  return make("article", "card example",
    make("h3", "", shown.title),
    make("div", "tags", ...tags.map((tag) => make("span", "", tag))),
    make("p", "turn", "id ", make("code", "", row.id)),
    others.length > 0 && make("p", "family", ...others.map((at) => link(family, at))),
    ...talk,
    graphOf(shown, row, family.expression),
    make("div", "two",
      make("div", "",
        shown.plan && make("p", "label", "Plan"), shown.plan && make("p", "plan", shown.plan),
        make("p", "label", "Answer"), make("p", "plan", shown.answers[shown.answers.length - 1] || ""),
        disclose("Context and goal", false, shown.before.length > 0 && make("p", "plan", `Said before: ${shown.before.join(" ")}`),
          make("p", "turn", shown.description), code(shown.context), code(shown.goal)),
        disclose(`${plural(shown.tools.length, "tool")} on offer`, false,
          shown.withheld.length > 0 && make("p", "turn", `Withheld here: ${shown.withheld.join(", ")}`),
          ...shown.tools.map(([name, effects, kind, words]) => make("p", "tool", make("b", "", name), make("span", "turn", ` · ${effects} · ${kind}`), make("br"), words)))),
      make("div", "", make("p", "label", "Steps"), stepsElement(shown, row, block))));
}
