// A trajectory as a graph: one layer per group of calls, data edges with their arguments, order edges dashed.
//
// Layers stand below each other. An edge that skips layers is led through a narrow slot in each of them, so that it
// runs between the steps and not through them; slots and steps are ordered by the mean place of their neighbours.

const HEIGHT = 40, SLOT = 18, PADDING = 44, CHARACTER = 7.4, GAP_X = 26, GAP_Y = 54, MARGIN = 10;
const LONGEST_NAME = 30;
// Orders of at most a dozen nodes settle within four sweeps, places within twelve.
const ORDER_SWEEPS = 4, PLACE_SWEEPS = 12;
// Places along the last piece of an edge where its label may stand, the best first, and a label's measures.
const LABEL_SHARES = [0.5, 0.72, 0.6, 0.38, 0.28], LABEL_CHARACTER = 6.8, LABEL_HEIGHT = 12;

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
const shorten = (text) => (text.length <= LONGEST_NAME ? text : text.slice(0, LONGEST_NAME - 1) + "…");

// Joins the labels of parallel data edges and drops order edges that follow from the others.
function mergeEdges(edges) {
  const key = (edge) => edge.source + ">" + edge.target;
  const data = new Map(), order = new Map();
  for (const edge of edges.filter((one) => one.label)) {
    const known = data.get(key(edge));
    if (known) known.label += ", " + edge.label;
    else data.set(key(edge), { ...edge });
  }
  for (const edge of edges) if (!edge.label && !data.has(key(edge))) order.set(key(edge), edge);
  const all = [...data.values(), ...order.values()];
  const reaches = (without) => {
    const seen = new Set([without.source]), queue = [without.source];
    while (queue.length) {
      const here = queue.pop();
      for (const edge of all) {
        if (edge !== without && edge.source === here && !seen.has(edge.target)) {
          seen.add(edge.target);
          queue.push(edge.target);
        }
      }
    }
    return seen.has(without.target);
  };
  return [...data.values(), ...[...order.values()].filter((edge) => !reaches(edge))];
}

// Puts steps and slots into layers and orders them; each edge gets the items along it.
function arrange(nodes, edges) {
  const ranks = [...new Set(nodes.map((node) => node.layer))].sort((a, b) => a - b);
  const layers = ranks.map(() => []), items = new Map();
  const place = (rank, node) => {
    const width = node ? PADDING + CHARACTER * shorten(visible(node.name)).length : SLOT;
    const item = { rank, node, width, x: 0, above: [], below: [] };
    layers[rank].push(item);
    return item;
  };
  for (const node of nodes) items.set(node.number, place(ranks.indexOf(node.layer), node));
  for (const edge of edges) {
    const source = items.get(edge.source), target = items.get(edge.target);
    edge.path = [source];
    for (let rank = source.rank + 1; rank < target.rank; rank++) edge.path.push(place(rank, null));
    edge.path.push(target);
    for (let at = 1; at < edge.path.length; at++) {
      edge.path[at - 1].below.push(edge.path[at]);
      edge.path[at].above.push(edge.path[at - 1]);
    }
  }
  for (let sweep = 0; sweep < ORDER_SWEEPS; sweep++) {
    const down = sweep % 2 === 0;
    for (const layer of down ? layers.slice(1) : layers.slice(0, -1).reverse()) {
      const position = new Map(layers.flatMap((one) => one.map((item, at) => [item, at])));
      const wanted = new Map(
        layer.map((item) => {
          const near = down ? item.above : item.below;
          return [item, near.length ? mean(near.map((other) => position.get(other))) : position.get(item)];
        }),
      );
      layer.sort((a, b) => wanted.get(a) - wanted.get(b));
    }
  }
  return layers;
}

// Gives every item its centre: near the mean of its neighbours, at a distance from those beside it.
function setPlaces(layers) {
  for (const layer of layers) {
    let x = 0;
    for (const item of layer) {
      item.x = x + item.width / 2;
      x += item.width + GAP_X;
    }
    for (const item of layer) item.x -= (x - GAP_X) / 2;
  }
  for (let sweep = 0; sweep < PLACE_SWEEPS; sweep++) {
    for (const layer of sweep % 2 === 0 ? layers : [...layers].reverse()) {
      const wanted = layer.map((item) => {
        const near = [...item.above, ...item.below];
        return near.length ? mean(near.map((other) => other.x)) : item.x;
      });
      // The wanted places where they are free: the mean of a pass from the left and one from the right.
      const room = (at) => (layer[at].width + layer[at + 1].width) / 2 + GAP_X;
      const left = [...wanted], right = [...wanted];
      for (let at = 0; at + 1 < layer.length; at++) left[at + 1] = Math.max(left[at + 1], left[at] + room(at));
      for (let at = layer.length - 2; at >= 0; at--) right[at] = Math.min(right[at], right[at + 1] - room(at));
      layer.forEach((item, at) => (item.x = (left[at] + right[at]) / 2));
    }
  }
  const least = Math.min(...layers.flat().map((item) => item.x - item.width / 2));
  for (const item of layers.flat()) item.x += MARGIN - least;
}

const top = (item) => MARGIN + item.rank * (HEIGHT + GAP_Y);
const svg = (name, attributes, ...children) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
};

// From the lower side of the first item to the upper side of the last.
function curve(path) {
  let x = path[0].x, y = top(path[0]) + HEIGHT, drawn = `M${x} ${y}`;
  for (const item of path.slice(1)) {
    const below = top(item), middle = (y + below) / 2;
    drawn += `C${x} ${middle} ${item.x} ${middle} ${item.x} ${below}`;
    [x, y] = [item.x, below];
    if (!item.node) drawn += `L${x} ${(y += HEIGHT)}`;
  }
  return drawn;
}

// Writes a data edge's arguments on its last piece, where no label stands yet; `taken` gains its place.
function edgeLabel(edge, taken) {
  const [upper, lower] = edge.path.slice(-2), text = shorten(visible(edge.label));
  const half = (LABEL_CHARACTER * text.length) / 2;
  let best = null;
  for (const share of LABEL_SHARES) {
    // A curve with level handles runs as 3t^2 - 2t^3 across and t down, near enough for a label.
    const x = upper.x + (lower.x - upper.x) * share * share * (3 - 2 * share);
    const y = top(lower) - GAP_Y * (1 - share);
    const meets = taken.filter((o) => Math.abs(x - o.x) < half + o.half + 4 && Math.abs(y - o.y) < LABEL_HEIGHT);
    if (!best || meets.length < best.meets) best = { x, y, half, meets: meets.length };
  }
  taken.push(best);
  return svg("text", { class: "flow", x: best.x, y: best.y + 4 }, text);
}

// Nodes: {number, layer, name, effect (reads, acts or unknown), wrong}; edges: {source, target, label}, without a label for an order edge.
function drawGraph(nodes, edges, title) {
  const layerOf = new Map(nodes.map((node) => [node.number, node.layer]));
  const drawn = mergeEdges(edges.filter((edge) => layerOf.get(edge.source) < layerOf.get(edge.target)));
  const layers = arrange(nodes, drawn);
  setPlaces(layers);
  const items = layers.flat();
  const width = Math.ceil(Math.max(...items.map((item) => item.x + item.width / 2)) + MARGIN);
  const height = 2 * MARGIN + layers.length * HEIGHT + (layers.length - 1) * GAP_Y;
  const graph = svg("svg", { class: "graph", role: "img", width, height, viewBox: `0 0 ${width} ${height}` });
  graph.style.minWidth = `${Math.round(width * 0.7)}px`; // smaller it scrolls instead
  graph.append(svg("title", {}, visible(title)));
  const taken = [], labels = [];
  for (const edge of drawn) {
    const kind = edge.label ? "data" : "order";
    graph.append(svg("path", { class: `edge ${kind}`, d: curve(edge.path), "marker-end": `url(#arrow-${kind})` }));
    if (edge.label) labels.push(edgeLabel(edge, taken));
  }
  for (const item of items.filter((one) => one.node)) {
    const { node } = item, x = item.x - item.width / 2, y = top(item);
    const kind = `step ${node.effect}${node.wrong ? " wrong" : ""}`;
    graph.append(
      svg("g", { class: kind },
        svg("title", {}, visible(node.name)),
        svg("rect", { x, y, width: item.width, height: HEIGHT, rx: 8 }),
        svg("text", { class: "number", x: x + 12, y: y + 25 }, String(node.number + 1)),
        svg("text", { class: "name", x: x + 30, y: y + 25 }, shorten(visible(node.name)))),
    );
  }
  graph.append(...labels); // last, so that no line crosses them
  return graph;
}
