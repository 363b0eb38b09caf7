// The program of a report. All texts of specs and data get into the page as text nodes, never as HTML.
"use strict";

const COLOURS = {
  light: ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#b0a400"],
  dark: ["#56b4e9", "#f0803c", "#2fd0a0", "#e59cc5", "#f2b134", "#a5c8ff", "#f0e442"],
};
const VALUE_COLOURS = ["#77aadd", "#ee8866", "#44bb99", "#ffaabb", "#eedd88", "#99ddff", "#bbcc33", "#aaaa00"];
const PAGE = 25; // rows of the table
const SEVERAL = -2, NO_VALUE = -1; // codes in strips
const OUTSIDE = -1, DEAD = -2; // instead of states
const $ = (id) => document.getElementById(id);

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "class") made.className = value;
    else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== null && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.map((child) => (child instanceof Node ? child : visible(String(child)))));
  return made;
}

function drawn(name, attributes = {}, text = null) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== null) made.append(visible(text));
  return made;
}

// Control characters, and those that change the direction of the text around them, are not shown.
function visible(text) {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, "\ufffd");
}

// --- Columns: see columns.py

async function unpack(packed) {
  const coded = atob(packed.bytes), bytes = new Uint8Array(coded.length);
  for (let i = 0; i < coded.length; i++) bytes[i] = coded.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const content = new Uint8Array(await new Response(stream).arrayBuffer());
  const columns = {};
  for (const [name, described] of Object.entries(packed.columns)) columns[name] = column(described, content);
  return columns;
}

function column(described, content) {
  const { size, width } = described, at = described.at[0], each = width || 8;
  const together = new Uint8Array(size * each);
  for (let part = 0; part < each; part++)
    for (let i = 0; i < size; i++) together[i * each + part] = content[at + part * size + i];
  const view = new DataView(together.buffer), values = new Float64Array(size);
  let sum = 0;
  for (let i = 0; i < size; i++) {
    if (!width) { values[i] = view.getFloat64(i * 8, true); continue; }
    sum += width === 1 ? view.getInt8(i) : width === 2 ? view.getInt16(i * 2, true) : view.getInt32(i * 4, true);
    values[i] = described.over ? sum / described.over : sum;
  }
  let known = null;
  if (described.known) {
    const bits = content.subarray(described.known[0], described.known[0] + described.known[1]);
    known = (i) => (bits[i >> 3] >> (7 - (i & 7))) & 1;
  }
  const { kind } = described, place = described.texts;
  const texts = place && JSON.parse(new TextDecoder().decode(content.subarray(place[0], place[0] + place[1])));
  return {
    size, values, kind: kind || "number", texts,
    isNull: (i) => (texts ? values[i] < 0 : known !== null && !known(i)),
    text(i) { return this.isNull(i) ? "NULL" : texts ? texts[values[i]] : shown(values[i], this.kind); },
  };
}

// --- Values as text

const number = (value) => (Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(7))));
const count = (value) => value.toLocaleString("en-US");
const counted = (value, noun) => `${count(value)} ${noun}${value === 1 ? "" : "s"}`;

function shown(value, kind) {
  if (!Number.isFinite(value)) return String(value);
  if (kind === "time") return time(value);
  if (kind === "date") return time(value).slice(0, 10);
  if (kind === "duration") return duration(value);
  if (kind === "truth") return value ? "true" : "false";
  return number(value);
}

function time(micros) {
  const millis = Math.floor(micros / 1000), date = new Date(millis);
  if (Number.isNaN(date.getTime())) return number(micros);
  const whole = date.toISOString().replace("T", " ").slice(0, -1), rest = micros - millis * 1000;
  return rest ? whole + String(rest).padStart(3, "0") : whole.replace(/\.000$/, "");
}

function duration(micros) {
  const seconds = micros / 1e6, size = Math.abs(seconds);
  if (size >= 2 * 86400) return number(Number((seconds / 86400).toPrecision(4))) + " d";
  if (size >= 7200) return number(Number((seconds / 3600).toPrecision(4))) + " h";
  if (size >= 120) return number(Number((seconds / 60).toPrecision(4))) + " min";
  if (size >= 1 || !size) return number(Number(seconds.toPrecision(4))) + " s";
  return number(Number((seconds * 1000).toPrecision(4))) + " ms";
}

// --- The report

class Report {
  constructor(data, windows, runs, series) {
    Object.assign(this, { data, windows, runs, series });
    this.chosen = null; // a window
    this.stream = 0; // a place among the streams with charts
    this.field = 0;
    this.view = null;
    this.cache = new Map();
    this.runAt = new Map();
    let offset = 0;
    for (let i = 0; i < runs.window.size; i++) {
      this.runAt.set(runs.window.values[i], { number: i, offset, size: runs.size.values[i] });
      offset += runs.size.values[i];
    }
    this.placeSeries();
  }

  get theme() {
    const forced = document.documentElement.dataset.theme;
    return forced || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  }

  colour(name) { const own = COLOURS[this.theme]; return own[name % own.length]; }
  css(role) { return getComputedStyle(document.body).getPropertyValue(`--wex-${role}`).trim(); }
  key(i) { return this.data.keys.map((_, k) => this.windows[`key${k}`].text(i)); }

  // Where the series of each stream and field begin in the columns of all of them.
  placeSeries() {
    let line = 0, strip = 0, depth = 0;
    for (const stream of this.data.series.streams) {
      stream.at = stream.sizes.map((size, f) => {
        if (this.data.series.fields[f].kind !== "strip") { line += size; return line - size; }
        strip += size;
        return strip - size;
      });
      stream.depthAt = stream.depths.map((size) => { depth += size; return depth - size; });
    }
  }

  // The windows of a stream, by their start, with their places on the axis and lanes.
  windowsOf(stream) {
    if (this.cache.has(stream)) return this.cache.get(stream);
    const w = this.windows, own = [];
    for (let i = 0; i < w.stream.size; i++) if (w.stream.values[i] === stream) own.push(i);
    own.sort((a, b) => w.start.values[a] - w.start.values[b] || w.length.values[a] - w.length.values[b]);
    const byPosition = this.data.axis.name === "event" || !w.window_start;
    const ends = [], list = own.map((i) => {
      const start = w.start.values[i], end = start + w.length.values[i] - 1;
      let lane = ends.findIndex((last) => last < start);
      if (lane < 0) lane = ends.length < 24 ? ends.push(end) - 1 : 23;
      ends[lane] = Math.max(ends[lane], end);
      return { i, lane, name: w.name.values[i], x: byPosition ? start : w.window_start.values[i], x2: byPosition ? end : w.window_end.values[i] };
    });
    const made = { list, lanes: Math.max(1, ends.length) };
    this.cache.set(stream, made);
    return made;
  }
}

// --- The chart

class Chart {
  constructor(report) {
    this.report = report;
    this.canvas = $("canvas");
    this.tip = $("tip");
    const { data } = report;
    const streams = data.series.streams;
    this.choice = $("stream");
    this.fill("");
    if (streams.length < 2) $("stream-label").hidden = true;
    if (streams.length < 12) $("find-label").hidden = true;
    $("find").addEventListener("input", () => { this.fill($("find").value); if (this.choice.options.length) this.show(Number(this.choice.value)); });
    this.choice.addEventListener("change", () => this.show(Number(this.choice.value)));
    const fields = $("field");
    data.series.fields.forEach((field, f) => fields.append(element("option", { value: f }, field.name)));
    const first = data.series.fields.findIndex((field) => field.kind === "line");
    report.field = Math.max(first, 0);
    fields.value = String(report.field);
    if (data.series.fields.length < 2) $("field-label").hidden = true;
    fields.addEventListener("change", () => { report.field = Number(fields.value); this.draw(); });
    $("reset").addEventListener("click", () => { this.reset(); this.draw(); });
    $("in").addEventListener("click", () => this.zoom(0.5));
    $("out").addEventListener("click", () => this.zoom(2));
    this.listen();
    this.show(0);
  }

  fill(wanted) {
    this.choice.replaceChildren();
    this.report.data.series.streams.forEach((stream, s) => {
      const name = stream.key.join(", ") || this.report.data.stream;
      if (name.toLowerCase().includes(wanted.toLowerCase()))
        this.choice.append(element("option", { value: s }, `${name || "(empty)"} (${counted(stream.windows, "window")})`));
    });
  }

  get stream() { return this.report.data.series.streams[this.report.stream]; }

  reset() {
    const { first, last } = this.stream;
    this.report.view = last > first ? [first, last] : [first - 1, first + 1];
  }

  show(stream) {
    this.report.stream = stream;
    if (this.choice.value !== String(stream)) { $("find").value = ""; this.fill(""); this.choice.value = String(stream); }
    this.reset();
    this.draw();
  }

  listen() {
    const { canvas } = this;
    let drag = null;
    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.shiftKey && Math.abs(event.deltaY) < Math.abs(event.deltaX)) return;
      event.preventDefault();
      this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.value(event.offsetX));
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => { drag = { x: event.offsetX, view: [...this.report.view], moved: false }; canvas.setPointerCapture(event.pointerId); });
    canvas.addEventListener("pointermove", (event) => {
      if (!drag) return this.hover(event.offsetX, event.offsetY);
      const by = ((drag.x - event.offsetX) / this.width) * (drag.view[1] - drag.view[0]);
      if (Math.abs(event.offsetX - drag.x) > 3) drag.moved = true;
      if (drag.moved) { this.report.view = drag.view.map((x) => x + by); this.draw(); }
    });
    canvas.addEventListener("pointerup", (event) => {
      if (drag && !drag.moved) { const window = this.at(event.offsetX, event.offsetY); if (window) this.report.select(window.i); }
      drag = null;
    });
    canvas.addEventListener("pointerleave", () => { this.tip.hidden = true; });
    canvas.addEventListener("keydown", (event) => {
      const [a, b] = this.report.view, step = (b - a) / 8;
      const moves = { ArrowLeft: -step, ArrowRight: step };
      if (event.key in moves) this.report.view = [a + moves[event.key], b + moves[event.key]];
      else if (event.key === "+" || event.key === "=") return this.zoom(0.5);
      else if (event.key === "-") return this.zoom(2);
      else if (event.key === "Home") this.reset();
      else if (event.key === "n" || event.key === "p") return this.next(event.key === "n" ? 1 : -1);
      else return undefined;
      event.preventDefault();
      return this.draw();
    });
    new ResizeObserver(() => this.draw()).observe(canvas.parentElement);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  next(by) {
    const { list } = this.report.windowsOf(this.stream.stream);
    if (!list.length) return;
    const place = list.findIndex((window) => window.i === this.report.chosen);
    const to = place < 0 ? 0 : Math.min(list.length - 1, Math.max(0, place + by));
    this.report.select(list[to].i);
  }

  zoom(by, around = null) {
    const [a, b] = this.report.view, centre = around === null ? (a + b) / 2 : around;
    const view = [centre - (centre - a) * by, centre + (b - centre) * by];
    if (view[1] - view[0] > 1e-9 * Math.max(1, Math.abs(centre))) this.report.view = view;
    this.draw();
  }

  // Bring a window into view.
  reveal(i) {
    const { list } = this.report.windowsOf(this.stream.stream), found = list.find((window) => window.i === i);
    if (!found) return;
    const [a, b] = this.report.view, length = found.x2 - found.x;
    const { first, last } = this.stream;
    if (found.x < a || found.x2 > b || (length && length < (b - a) / 200)) {
      const room = Math.max(length * 2, (last - first) / 2000, length ? 0 : 1);
      this.report.view = [found.x - room, found.x2 + room];
    }
    this.draw();
  }

  x(value) { const [a, b] = this.report.view; return this.left + ((value - a) / (b - a)) * this.width; }
  value(x) { const [a, b] = this.report.view; return a + ((x - this.left) / this.width) * (b - a); }

  draw() {
    const { report, canvas } = this, { data } = report, whole = canvas.parentElement.clientWidth;
    const field = data.series.fields[report.field], windows = report.windowsOf(this.stream.stream);
    this.left = whole < 600 ? 46 : 64;
    this.width = Math.max(40, whole - this.left - 12);
    const height = { line: 220, strip: 56, ticks: 36 }[field.kind];
    this.parts = { values: [12, 12 + height] };
    this.lane = windows.lanes > 8 ? 6 : 10;
    this.parts.lanes = [this.parts.values[1] + 8, this.parts.values[1] + 8 + windows.lanes * this.lane];
    this.parts.depth = [this.parts.lanes[1] + 26, this.parts.lanes[1] + 86];
    const total = this.parts.depth[1] + 26, ratio = devicePixelRatio || 1;
    if (canvas.width !== Math.round(whole * ratio) || canvas.height !== Math.round(total * ratio)) {
      canvas.width = Math.round(whole * ratio);
      canvas.height = Math.round(total * ratio);
      canvas.style.height = `${total}px`;
    }
    const c = (this.context = canvas.getContext("2d"));
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, whole, total);
    c.font = "11px system-ui, sans-serif";
    this.ink = report.css("ink");
    this.muted = report.css("muted");
    this.rule = report.css("rule");
    this.axis();
    c.save();
    c.beginPath();
    c.rect(this.left - 1, 0, this.width + 2, total);
    c.clip();
    this.windows(windows);
    c.restore();
    ({ line: () => this.line(report.field), strip: () => this.strip(report.field), ticks: () => this.ticks(report.field) })[field.kind]();
    this.depth();
    this.describe(field);
  }

  axis() {
    const c = this.context, [a, b] = this.report.view, bottom = this.parts.depth[1];
    const most = Math.max(2, Math.floor(this.width / 110));
    const { axis } = this.report.data, ticks = axis.time ? timeTicks(a, b, most) : numberTicks(a, b, axis.name === "event" ? Math.min(most, Math.max(1, b - a)) : most);
    c.textAlign = "center";
    for (const tick of ticks) {
      const x = this.x(tick.at);
      c.strokeStyle = this.rule;
      c.beginPath();
      c.moveTo(x, this.parts.values[0]);
      c.lineTo(x, bottom);
      c.stroke();
      c.fillStyle = this.muted;
      const half = c.measureText(tick.text).width / 2;
      c.fillText(tick.text, Math.min(Math.max(x, this.left + half - 8), this.left + this.width - half + 8), bottom + 16);
    }
    c.textAlign = "left";
  }

  windows({ list, lanes }) {
    const c = this.context, [a, b] = this.report.view, [top, bottom] = this.parts.values;
    const visibleOnes = list.filter((window) => window.x2 >= a && window.x <= b);
    const shade = visibleOnes.length <= 400, last = new Map();
    for (const window of visibleOnes) {
      const x = this.x(window.x), width = Math.max(2, this.x(window.x2) - x), chosen = window.i === this.report.chosen;
      c.fillStyle = this.report.colour(window.name);
      if (shade || chosen) {
        c.globalAlpha = chosen ? 0.3 : Math.max(0.03, Math.min(0.12, 0.36 / lanes));
        c.fillRect(x, top, width, bottom - top);
        c.globalAlpha = 1;
      }
      const y = this.parts.lanes[0] + window.lane * this.lane;
      if (!chosen && x + width <= (last.get(window.lane) ?? -1)) continue;
      last.set(window.lane, x + width);
      c.fillRect(x, y + 1, width > 4 ? width - 1 : width, this.lane - 2);
      if (chosen) { c.strokeStyle = this.ink; c.lineWidth = 1.5; c.strokeRect(x - 1, y, width + 2, this.lane); c.lineWidth = 1; }
    }
  }

  range(place) {
    const { stream } = this, from = stream.at[place], to = from + stream.sizes[place], [a, b] = this.report.view;
    const xs = this.report.series.x.values;
    return [Math.max(from, lower(xs, from, to, a) - 1), Math.min(to, lower(xs, from, to, b) + 2)];
  }

  line(place) {
    const c = this.context, { series } = this.report, [top, bottom] = this.parts.values;
    const [from, to] = this.range(place);
    let low = Infinity, high = -Infinity;
    for (let i = from; i < to; i++) { const y = series.y.values[i]; if (Number.isFinite(y)) { if (y < low) low = y; if (y > high) high = y; } }
    if (low > high) [low, high] = [0, 1];
    if (low === high) { low -= 1; high += 1; }
    const room = (high - low) * 0.06;
    low -= room; high += room;
    const y = (value) => bottom - ((value - low) / (high - low)) * (bottom - top);
    const kind = { timestamp: "time", date: "time" }[this.report.data.series.fields[place].type];
    c.fillStyle = this.muted;
    c.textAlign = "right";
    for (const tick of numberTicks(low, high, 5)) {
      c.fillText(kind ? shown(tick.at, kind).slice(0, 10) : tick.text, this.left - 6, y(tick.at) + 4);
      c.strokeStyle = this.rule; c.beginPath(); c.moveTo(this.left, y(tick.at)); c.lineTo(this.left + this.width, y(tick.at)); c.stroke();
    }
    c.textAlign = "left";
    c.save();
    c.beginPath(); c.rect(this.left, top - 4, this.width, bottom - top + 8); c.clip();
    c.strokeStyle = this.ink; c.lineWidth = 1.2;
    c.beginPath();
    let pen = false;
    for (let i = from; i < to; i++) {
      const value = series.y.values[i];
      if (!Number.isFinite(value)) { pen = false; continue; }
      if (pen) c.lineTo(this.x(series.x.values[i]), y(value)); else c.moveTo(this.x(series.x.values[i]), y(value));
      pen = true;
    }
    c.stroke();
    if (to - from < this.width / 5) {
      c.fillStyle = this.ink;
      for (let i = from; i < to; i++) if (Number.isFinite(series.y.values[i])) { c.beginPath(); c.arc(this.x(series.x.values[i]), y(series.y.values[i]), 2.4, 0, 7); c.fill(); }
    }
    c.restore(); c.lineWidth = 1;
    this.y = y;
  }

  // The events of a stream that has no values beside its keys and its order.
  ticks(place) {
    const c = this.context, { series } = this.report, [top, bottom] = this.parts.values, [from, to] = this.range(place);
    c.strokeStyle = this.ink;
    c.beginPath();
    for (let i = from; i < to; i++) {
      const x = this.x(series.x.values[i]);
      if (x < this.left - 1 || x > this.left + this.width + 1) continue;
      c.moveTo(x, top + 6);
      c.lineTo(x, bottom - 6);
    }
    c.stroke();
  }

  strip(place) {
    const c = this.context, { series } = this.report, { stream } = this, [top, bottom] = this.parts.values;
    const from = stream.at[place], to = from + stream.sizes[place], [a, b] = this.report.view;
    for (let i = from; i < to; i++) {
      const x = series.strip_x.values[i], x2 = series.strip_end.values[i], code = series.strip_code.values[i];
      if (x2 < a || x > b) continue;
      // An event is a tick, and events side by side with one value are a bar.
      const left = Math.max(this.left, this.x(x) - 1), width = Math.min(this.left + this.width, this.x(x2) + 1) - left;
      c.fillStyle = this.valueColour(code);
      c.fillRect(left, top + 16, width, bottom - top - 16);
      if (width > 40 && code >= 0) { c.save(); c.beginPath(); c.rect(left, top, width, bottom - top); c.clip(); c.fillStyle = "#111"; c.fillText(visible(stream.texts[place][code]), left + 4, bottom - 14); c.restore(); }
    }
  }

  valueColour(code) { return code === SEVERAL ? "#888" : code === NO_VALUE ? "#ddd" : VALUE_COLOURS[code % VALUE_COLOURS.length]; }

  depth() {
    const c = this.context, { report, stream } = this, { series, data } = report, [top, bottom] = this.parts.depth;
    let high = 1;
    data.names.forEach((_, n) => { for (let i = stream.depthAt[n]; i < stream.depthAt[n] + stream.depths[n]; i++) high = Math.max(high, series.depth.values[i]); });
    const bounds = data.definitions.map((definition) => definition.bound).filter((bound) => bound !== null && bound <= 4 * high);
    high = Math.max(high, ...bounds);
    const y = (value) => bottom - (value / (high * 1.08)) * (bottom - top);
    c.fillStyle = this.muted;
    c.textAlign = "right";
    c.fillText("0", this.left - 6, y(0) + 4);
    c.fillText(count(high), this.left - 6, y(high) + 4);
    c.textAlign = "left";
    c.fillText(this.width < 400 ? "windows around an event; dashed: bound" : "windows around an event, and the proved bound (dashed)", this.left, top - 8);
    c.save();
    c.beginPath(); c.rect(this.left, top - 2, this.width, bottom - top + 4); c.clip();
    data.names.forEach((_, n) => {
      c.strokeStyle = report.colour(n);
      c.lineWidth = 1.5;
      c.beginPath();
      let last = null;
      for (let i = stream.depthAt[n]; i < stream.depthAt[n] + stream.depths[n]; i++) {
        const x = this.x(series.depth_x.values[i]), at = y(series.depth.values[i]);
        if (last === null) c.moveTo(x, at); else { c.lineTo(x, last); c.lineTo(x, at); }
        last = at;
      }
      c.stroke();
      const bound = data.definitions[n].bound;
      if (bound !== null && bound <= high) { c.setLineDash([5, 3]); c.beginPath(); c.moveTo(this.left, y(bound)); c.lineTo(this.left + this.width, y(bound)); c.stroke(); c.setLineDash([]); }
    });
    c.restore(); c.lineWidth = 1;
  }

  describe(field) {
    const { stream, report } = this, place = report.field;
    const said = [counted(stream.events, "event")];
    if (field.kind !== "strip" && stream.sizes[place] < stream.events) said[0] += `, ${count(stream.sizes[place])} drawn (extremes are kept)`;
    if (field.kind === "strip" && report.series.strip_code.values.subarray(stream.at[place], stream.at[place] + stream.sizes[place]).includes(SEVERAL)) said.push("grey parts have several values");
    said.push(counted(stream.windows, "window"));
    const inTable = report.windowsOf(stream.stream).list.length;
    if (inTable < stream.windows) said.push(`${count(inTable)} drawn one by one`);
    $("said").textContent = said.join("; ");
    const legend = report.data.definitions.map((definition, n) => legendItem(report.colour(n), `${definition.name}: ${boundText(definition)}`));
    if (field.kind === "strip") {
      stream.texts[place].slice(0, 12).forEach((text, code) => legend.push(legendItem(this.valueColour(code), text)));
      if (stream.texts[place].length > 12) legend.push(element("span", {}, `… ${stream.texts[place].length - 12} more values`));
    }
    $("legend").replaceChildren(...legend);
  }

  at(x, y) {
    const { list } = this.report.windowsOf(this.stream.stream), value = this.value(x), near = Math.abs(this.value(x + 3) - value);
    const [top, bottom] = this.parts.lanes, under = list.filter((window) => window.x - near <= value && value <= window.x2 + near);
    if (y >= top && y <= bottom) return under.find((window) => window.lane === Math.floor((y - top) / this.lane)) || under[0];
    return under.sort((one, two) => one.x2 - one.x - (two.x2 - two.x))[0];
  }

  hover(x, y) {
    const { report, tip } = this, { data, series } = report, field = data.series.fields[report.field], said = [];
    if (x < this.left) { tip.hidden = true; return; }
    const axis = data.axis.time ? "time" : "number", value = this.value(x);
    if (field.kind === "line") {
      const [from, to] = this.range(report.field);
      let best = lower(series.x.values, from, to, value);
      if (best > from && (best >= to || value - series.x.values[best - 1] < series.x.values[best] - value)) best -= 1;
      if (best < to) said.push(`${data.axis.name} ${shown(series.x.values[best], axis)}`, `${field.name} ${shown(series.y.values[best], { timestamp: "time", date: "date" }[field.type])}`);
    } else said.push(`${data.axis.name} ${shown(axis === "time" ? Math.round(value) : Math.round(value * 1000) / 1000, axis)}`);
    const window = this.at(x, y);
    if (window) said.push(`window ${report.windows.number.values[window.i]}: ${data.names[window.name]}, events ${report.windows.start.values[window.i]} to ${report.windows.start.values[window.i] + report.windows.length.values[window.i] - 1}`);
    tip.textContent = visible(said.join("\n"));
    tip.hidden = false;
    const room = this.canvas.parentElement.clientWidth;
    tip.style.left = `${Math.max(4, Math.min(x + 14, room - tip.offsetWidth - 6))}px`;
    tip.style.top = `${y + 14}px`;
  }
}

function legendItem(colour, text) {
  const swatch = element("i");
  swatch.style.background = colour;
  return element("span", {}, swatch, text);
}

function boundText(definition) {
  if (definition.bound !== null) return `at most ${counted(definition.bound, "window")} around an event, on any stream`;
  return definition.verdict === "unbounded" ? "unbounded: some stream has any number around an event" : "whether the overlap is bounded is unknown";
}

function lower(values, from, to, wanted) {
  while (from < to) { const middle = (from + to) >> 1; if (values[middle] < wanted) from = middle + 1; else to = middle; }
  return from;
}

function numberTicks(a, b, most) {
  const raw = (b - a) / most, power = 10 ** Math.floor(Math.log10(raw)), step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= raw) || raw;
  const ticks = [];
  for (let k = Math.ceil(a / step); k * step <= b && ticks.length < 50; k++) ticks.push({ at: k * step, text: Number((k * step).toPrecision(10)).toLocaleString("en-US", { maximumFractionDigits: 9 }) });
  return ticks;
}

const STEPS = [1e3, 1e4, 1e5, 1e6, 2e6, 5e6, 1e7, 3e7, 6e7, 12e7, 3e8, 6e8, 18e8, 36e8, 72e8, 216e8, 432e8, 864e8, 1728e8, 6048e8];

function timeTicks(a, b, most) {
  const raw = (b - a) / most, step = STEPS.find((size) => size >= raw), ticks = [];
  if (step) {
    for (let at = Math.ceil(a / step) * step; at <= b; at += step) {
      const text = time(at);
      ticks.push({ at, text: step >= 864e8 ? text.slice(0, 10) : step >= 6e7 ? text.slice(5, 16) : text.slice(11) });
    }
    return ticks;
  }
  const months = [1, 3, 6, 12, 24, 60, 120, 240, 600, 1200].find((n) => n * 2629800e6 >= raw) || 12000;
  const first = new Date(a / 1000);
  for (let m = Math.ceil((first.getUTCFullYear() * 12 + first.getUTCMonth()) / months) * months; ; m += months) {
    const date = new Date(0);
    date.setUTCFullYear(Math.floor(m / 12), m % 12, 1);
    const at = date.getTime() * 1000;
    if (at > b || ticks.length > 60 || Number.isNaN(at)) break;
    if (at >= a) ticks.push({ at, text: months >= 12 ? String(date.getUTCFullYear()) : time(at).slice(0, 7) });
  }
  return ticks;
}

// --- The table

class Table {
  constructor(report) {
    this.report = report;
    const { data, windows } = report;
    const ends = { text: (i) => String(windows.start.values[i] + windows.length.values[i] - 1), value: (i) => windows.start.values[i] + windows.length.values[i] - 1, numeric: true };
    const of = (column) => ({ text: (i) => column.text(i), value: (i) => (column.isNull(i) ? null : column.texts ? column.texts[column.values[i]] : column.values[i]), numeric: !column.texts });
    this.columns = [
      { title: "#", ...of(windows.number) },
      ...data.keys.map((title, k) => ({ title, ...of(windows[`key${k}`]) })),
      { title: "window", text: (i) => data.names[windows.name.values[i]], value: (i) => data.names[windows.name.values[i]], numeric: false },
      { title: "start_index", ...of(windows.start) },
      { title: "end_index", ...ends },
      { title: "length", ...of(windows.length) },
      ...["window_start", "window_end"].filter((name) => windows[name]).map((title) => ({ title, ...of(windows[title]) })),
      ...data.windows.measures.map((title, m) => ({ title, ...of(windows[`measure${m}`]) })),
    ];
    this.sorted = { by: 0, down: false };
    this.page = 0;
    this.order = Uint32Array.from({ length: windows.stream.size }, (_, i) => i);
    const heads = this.columns.map((column, c) => element("th", { class: column.numeric ? "n" : "", scope: "col" }, element("button", { type: "button", onclick: () => this.sort(c) }, column.title)));
    $("heads").replaceChildren(...heads);
    let waiting = 0;
    $("filter").addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(() => this.filter(), 150); });
    $("back").addEventListener("click", () => this.turn(-1));
    $("on").addEventListener("click", () => this.turn(1));
    this.draw();
  }

  turn(by) { this.page += by; this.draw(); }

  sort(by) {
    this.sorted = { by, down: this.sorted.by === by && !this.sorted.down };
    this.arrange();
  }

  filter() {
    const text = $("filter").value.trim(), all = Array.from({ length: this.report.windows.stream.size }, (_, i) => i);
    const asked = /^(.+?)\s*(<=|>=|!=|=|<|>)\s*(.+)$/.exec(text);
    const column = asked && this.columns.find((each) => each.title === asked[1].trim());
    let holds;
    if (column) {
      const compared = { "<": (o) => o < 0, "<=": (o) => o <= 0, ">": (o) => o > 0, ">=": (o) => o >= 0, "=": (o) => o === 0, "!=": (o) => o !== 0 }[asked[2]];
      const wanted = asked[3].trim(), plain = Number(wanted), byNumber = column.numeric && !Number.isNaN(plain);
      holds = (i) => { const value = column.value(i); return value !== null && compared(byNumber ? value - plain : order(column.text(i), wanted)); };
    } else {
      const low = text.toLowerCase();
      holds = (i) => this.columns.some((each) => each.text(i).toLowerCase().includes(low));
    }
    this.order = Uint32Array.from(text ? all.filter(holds) : all);
    this.arrange();
  }

  arrange() {
    const { by, down } = this.sorted, column = this.columns[by], sign = down ? -1 : 1;
    const missing = (value) => value === null || value !== value;
    this.order.sort((a, b) => {
      const one = column.value(a), two = column.value(b);
      if (missing(one) || missing(two)) return missing(one) - missing(two) || a - b;
      return sign * order(one, two) || a - b;
    });
    this.page = 0;
    this.draw();
  }

  draw() {
    const pages = Math.max(1, Math.ceil(this.order.length / PAGE));
    this.page = Math.min(Math.max(0, this.page), pages - 1);
    const { windows } = this.report;
    const rows = Array.from(this.order.subarray(this.page * PAGE, (this.page + 1) * PAGE), (i) => {
      const cells = this.columns.map((column) => element("td", { class: (column.numeric ? "n" : "") + (column.value(i) === null ? " null" : ""), title: column.text(i).length > 40 ? visible(column.text(i)) : null }, column.text(i)));
      const choose = () => this.report.select(i, true);
      return element("tr", { tabindex: "0", "data-window": windows.number.values[i], class: i === this.report.chosen ? "chosen" : "", onclick: choose, onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(); } } }, ...cells);
    });
    $("rows").replaceChildren(...rows);
    [...$("heads").children].forEach((head, c) => head.setAttribute("aria-sort", c !== this.sorted.by ? "none" : this.sorted.down ? "descending" : "ascending"));
    [...$("heads").querySelectorAll("button")].forEach((button, c) => { button.textContent = this.columns[c].title + (c !== this.sorted.by ? "" : this.sorted.down ? " ↓" : " ↑"); });
    $("page").textContent = this.order.length ? `${count(this.page * PAGE + 1)}–${count(Math.min(this.order.length, (this.page + 1) * PAGE))} of ${count(this.order.length)}` : "no window";
    $("back").disabled = this.page === 0;
    $("on").disabled = this.page >= pages - 1;
  }
}

const order = (one, two) => (one < two ? -1 : one > two ? 1 : 0);

// --- Why a window opened and closed

function explain(report, i) {
  const { data, windows, runs } = report, definition = data.definitions[windows.name.values[i]];
  const start = windows.start.values[i], end = start + windows.length.values[i] - 1, key = report.key(i).join(", ");
  const title = `Window ${windows.number.values[i]}: ${definition.name}${key ? `, ${key}` : ""}, events ${start} to ${end}`;
  const place = report.runAt.get(i);
  if (!place) {
    const few = `The run of this window is not in this file, which has those of ${counted(report.runAt.size, "window")}: the first, the longest, and some at equal distances. Make a report of fewer events, such as one key, to see it.`;
    return [element("h3", {}, title), element("p", { class: "muted" }, few)];
  }
  const letters = data.runs.letters[windows.name.values[i]], events = [];
  for (let e = place.offset; e < place.offset + place.size; e++) {
    const row = runs.event_rows.values[e], position = runs.position.values[row], inside = position >= start && position <= end;
    const truths = letters[runs.event_letters.values[e]].filter((p) => inside || !definition.predicates[p].own);
    events.push({ row, position, inside, truths, prefix: runs.event_prefix.values[e], window: runs.event_window.values[e] });
  }
  const pair = runs.pair.values[place.number];
  const words = pair < 0 ? [element("p", { class: "error" }, "The automata of this spec do not accept this window: it was found with another spec or in other events.")] : inWords(definition, pair, events, start, end, data);
  return [element("h3", {}, title), ...words, runTable(report, definition, events, start, end)];
}

function code(text) { return element("code", {}, text); }

function sentence(...parts) { return element("p", {}, ...parts.flat()); }

function truthsOf(definition, event) {
  if (!definition.predicates.length) return ["is read"];
  if (!event.truths.length) return ["satisfies none of the predicates"];
  const parts = event.truths.flatMap((p) => [", ", code(definition.predicates[p].shown)]);
  return ["satisfies ", ...parts.slice(1)];
}

function inWords(definition, pair, events, start, end, data) {
  const first = events.find((event) => event.position === start), last = events.find((event) => event.position === end);
  const beforeLast = events.find((event) => event.position === end - 1), next = events.find((event) => event.position === end + 1);
  const afters = definition.pairs.map((each) => each.after), opened = [], closed = [];
  if (definition.where) opened.push(`the prefix automaton of its formula is in state ${first.prefix}, in which a window may begin`);
  else if (afters.every((after) => after === null)) opened.push("a window may begin at any event");
  else {
    const given = [...new Set(afters.filter((after) => after !== null))].flatMap((after) => [" or ", code(`after ${after}`)]).slice(1);
    opened.push(start ? `the ${counted(start, "event")} before it match${start === 1 ? "es" : ""} ` : "the beginning of the stream matches ", ...given, `: the prefix automaton is in state ${first.prefix}, which accepts`);
  }
  opened.push(`. Event ${start} `, ...truthsOf(definition, first), `, and the window automaton goes from state 0 to state ${first.window}.`);
  const from = end === start ? "0" : beforeLast ? String(beforeLast.window) : "?";
  closed.push(`event ${end} `, ...truthsOf(definition, last), `, and the window automaton goes from state ${from} to state ${last.window}, which is final: events ${start} to ${end} match `);
  if (definition.where) closed.push("the formula ", code(`where ${definition.where}`));
  else closed.push(...definition.pairs.flatMap((each) => [" or ", code(`match ${each.match}`)]).slice(1));
  closed.push(". ");
  if (definition.until) closed.push(next ? `Event ${end + 1}, which follows, ` : "The stream ends here, ", next ? "satisfies " : "which ", code(definition.until), next ? ". " : " allows. ");
  if (definition.within) closed.push(`It has ${counted(end - start + 1, "event")} and stays `, code(definition.within), ". ");
  if (definition.having) closed.push("Its measures satisfy ", code(`having ${definition.having}`), ". ");
  const kept = { longest: "of the windows that end here, the longest is kept", shortest: "of the windows that begin here, the shortest is kept", disjoint: "it shares no event with the window kept before it", leftmost: "it is the preferred window of the leftmost start, behind the window before it", preferred: "of the windows that begin here, the preferred one is kept" }[definition.keep];
  if (kept) closed.push(code(`keep ${definition.keep}`), `: ${kept}. `);
  if (next && next.window === DEAD) closed.push(`With event ${end + 1} the window automaton fails: no longer window begins at event ${start}.`);
  else if (next && next.window >= 0 && definition.keep === "all") closed.push(`The automaton goes on with event ${end + 1}: a longer window may begin at event ${start}, too.`);
  const pairs = definition.finals.length > 1 ? [sentence(element("span", { class: "muted" }, `(pair ${pair + 1} of ${definition.finals.length} pairs of automata accepts it)`))] : [];
  return [sentence(element("b", {}, "Opened"), ` at event ${start}: `, ...opened), sentence(element("b", {}, "Closed"), ` at event ${end}: `, ...closed), ...pairs];
}

function runTable(report, definition, events, start, end) {
  const { data, runs } = report, fields = data.runs.fields;
  const heads = ["event", ...fields, "predicates that hold", "prefix state before", "window state after"];
  const rows = [];
  let last = null;
  const stateText = (state) => (state === DEAD ? "failed" : state === OUTSIDE ? "" : String(state));
  for (const event of events) {
    if (last !== null && event.position > last + 1) rows.push(element("tr", { class: "outside" }, element("td", { colspan: heads.length }, `… ${counted(event.position - last - 1, "more event")} of the window …`)));
    last = event.position;
    const kind = event.position === start ? "opens" : event.position === end ? "closes" : event.inside ? "" : "outside";
    const marks = [event.position === start ? "opens" : "", event.position === end ? "closes" : ""].filter(Boolean).map((text) => element("span", { class: "tag mark" }, text));
    const accepts = event.inside && definition.finals.some((finals) => finals.window.includes(event.window)) ? " (final)" : "";
    rows.push(element("tr", { class: kind, "data-event": event.position },
      element("td", { class: "n" }, event.position, " ", ...marks),
      ...fields.map((_, f) => element("td", { class: runs[`field${f}`].texts ? "" : "n" }, runs[`field${f}`].text(event.row))),
      element("td", { class: "p" }, ...event.truths.map((p) => element("span", { class: "tag", title: visible(definition.predicates[p].full) }, definition.predicates[p].shown))),
      element("td", { class: "n" }, stateText(event.prefix)),
      element("td", { class: "n" }, stateText(event.window) + accepts)));
  }
  const head = element("tr", {}, ...heads.map((text, h) => element("th", { scope: "col", class: h > heads.length - 3 || h === 0 || (h <= fields.length && !runs[`field${h - 1}`].texts) ? "n" : "" }, text)));
  return element("div", { class: "scroll", tabindex: "0" }, element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows)));
}

// --- Histograms

function histogram(report, own) {
  const width = 300, height = 110, bottom = height - 16, totals = own.bins.map((bin) => bin.reduce((a, b) => a + b, 0)), high = Math.max(1, ...totals);
  const svg = drawn("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" });
  const each = width / own.bins.length;
  const kind = own.kind === "events" ? "number" : own.kind, label = (value) => shown(own.whole && kind !== "duration" ? Math.round(value) : value, kind);
  const range = (b) => (own.kind === "text" ? own.texts[b] : own.step === 1 || !own.step ? label(own.low + b * own.step) : `${label(own.low + b * own.step)} to ${label(own.low + (b + 1) * own.step)}`);
  own.bins.forEach((bin, b) => {
    const group = drawn("g");
    group.append(drawn("title", {}, `${range(b)}: ${counted(totals[b], "window")}`));
    let top = bottom;
    bin.forEach((size, name) => {
      if (!size) return;
      const tall = Math.max(0.8, (size / high) * (bottom - 12));
      top -= tall;
      group.append(drawn("rect", { x: b * each + 0.5, y: top, width: Math.max(0.8, each - 1), height: tall, fill: report.colour(name) }));
    });
    svg.append(group);
  });
  svg.append(drawn("text", { x: 0, y: 9 }, count(high)));
  if (own.kind === "text") own.bins.forEach((_, b) => { const most = Math.max(1, Math.floor(each / 6.5)); const text = own.texts[b]; svg.append(drawn("text", { x: b * each + 1, y: height - 4 }, text.length > most ? `${text.slice(0, most - 1)}…` : text)); });
  else {
    svg.append(drawn("text", { x: 0, y: height - 4 }, label(own.low)));
    svg.append(drawn("text", { x: width, y: height - 4, "text-anchor": "end" }, label(own.greatest)));
  }
  const said = [own.kind === "events" ? `${own.name}, in events` : own.name];
  if (own.median !== undefined) said.push(`median ${label(own.median)}`);
  if (own.left_out) said.push(own.kind === "text" ? `${count(own.left_out)} others` : `${count(own.left_out)} without`);
  return element("figure", {}, element("figcaption", {}, said.join("; ")), svg);
}

// --- All of it

function notes(data) {
  const said = [];
  if (data.series.streams.length < data.streams) said.push(`Charts are of the ${count(data.series.streams.length)} streams with most windows, of ${count(data.streams)}.`);
  if (data.windows.count < data.windowCount) said.push(`The table and the charts have ${count(data.windows.count)} of ${counted(data.windowCount, "window")}, the longest of each stream; histograms and overlap count all.`);
  if (data.runs.count < data.windows.count) said.push(`Runs of the automata are those of ${counted(data.runs.count, "window")}: the first, the longest, and some at equal distances.`);
  if (data.given) said.push("The windows were found elsewhere and read with the events, which they fit.");
  if (data.axis.time) said.push("Times are in UTC, or as written if the data has no time zone.");
  return said.join(" ");
}

async function main() {
  const data = JSON.parse($("data").textContent);
  const wanted = new URLSearchParams(location.hash.slice(1));
  if (["light", "dark"].includes(wanted.get("theme"))) document.documentElement.dataset.theme = wanted.get("theme");
  $("facts").textContent = [counted(data.events, "event"), counted(data.streams, "stream"), counted(data.windowCount, "window")].join(", ");
  $("notes").textContent = notes(data);
  const [windows, runs, series] = await Promise.all([unpack(data.windows), unpack(data.runs), unpack(data.series)]);
  const report = new Report(data, windows, runs, series);
  let chart = null, table = null;
  report.select = (i, reveal = false) => {
    report.chosen = i;
    $("run").replaceChildren(...explain(report, i));
    const place = data.series.streams.findIndex((stream) => stream.stream === windows.stream.values[i]);
    if (place >= 0 && place !== report.stream) chart.show(place);
    if (place >= 0) chart.reveal(i);
    table.draw();
    const hash = new URLSearchParams(location.hash.slice(1));
    hash.set("window", windows.number.values[i]);
    try { history.replaceState(null, "", `#${hash}`); } catch { /* a page in a frame may not */ }
    if (reveal && !matchMedia("(prefers-reduced-motion: reduce)").matches) $("why").scrollIntoView({ block: "nearest" });
  };
  chart = new Chart(report);
  table = new Table(report);
  const drawHistograms = () => $("histograms").replaceChildren(...data.histograms.map((own) => histogram(report, own)));
  drawHistograms();
  $("theme").addEventListener("click", () => { document.documentElement.dataset.theme = report.theme === "dark" ? "light" : "dark"; chart.draw(); drawHistograms(); });
  const chosen = wanted.has("window") ? windows.number.values.indexOf(Number(wanted.get("window"))) : -1;
  if (chosen >= 0) report.select(chosen);
  else if (windows.stream.size) { $("run").replaceChildren(...explain(report, 0)); report.chosen = 0; chart.draw(); table.draw(); }
  document.body.dataset.ready = "yes";
}

function failed(error) {
  document.body.dataset.error = String(error);
  $("facts").replaceChildren(element("span", { class: "error" }, `This page could not be shown: ${error}. It needs a browser of 2023 or later.`));
}

addEventListener("error", (event) => failed(event.message));
main().catch(failed);
