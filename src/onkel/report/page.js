// Plots and sortable tables of a report, in plain JavaScript: every .plots section draws the JSON inside it as SVG.
"use strict";
(() => {
  const COLOURS = 10;
  const colour = (i) => `var(--s${i % COLOURS})`;
  const dashed = (i) => (Math.floor(i / COLOURS) % 2 ? " dashed" : ""); // colours that come a second time
  const SVG = "http://www.w3.org/2000/svg"; // a name, nothing is fetched

  const make = (tag, attributes = {}, parent = null, text = null) => {
    const node = parent instanceof SVGElement || tag === "svg" ? document.createElementNS(SVG, tag) : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    if (text !== null) node.textContent = text;
    if (parent) parent.append(node);
    return node;
  };

  const swatch = (i, parent) => make("i", { class: `swatch${dashed(i)}`, style: `color: ${colour(i)}` }, parent);

  // -- numbers

  const write = {
    share: (v) => `${(100 * v).toFixed(2)} %`,
    count: (v) => Math.round(v).toLocaleString("en"),
    number: (v) => (v === 0 ? "0" : Math.abs(v) >= 1e-3 && Math.abs(v) < 1e5 ? Number(v.toPrecision(4)).toString() : v.toExponential(2)),
  };
  const short = (v) => {
    for (const [size, unit] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]])
      if (Math.abs(v) >= size) return `${Number((v / size).toPrecision(3))}${unit}`;
    return `${Number(v.toPrecision(3))}`;
  };
  const writeTick = (kind, v) => (kind === "share" ? `${Number((100 * v).toPrecision(4))} %` : short(v));

  function ticks(low, high, wanted) {
    const rough = (high - low) / Math.max(1, wanted);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].find((m) => m * power >= rough) * power;
    const found = [];
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++) found.push(i * step);
    return found;
  }
  function logTicks(low, high, wanted) {
    const within = (steps) => {
      const found = [];
      for (let e = Math.floor(Math.log10(low)); e <= Math.log10(high); e++)
        found.push(...steps.map((m) => m * 10 ** e).filter((v) => v >= low * 0.999 && v <= high * 1.001));
      return found;
    };
    const fine = within([1, 2, 5]);
    if (fine.length <= wanted) return fine;
    const decades = within([1]);
    return decades.filter((_, i) => i % Math.ceil(decades.length / Math.max(2, wanted)) === 0);
  }

  // -- one plot

  class Plot {
    constructor(figure, view, section) {
      this.figure = figure;
      this.view = view;
      this.section = section;
      this.canvas = figure.querySelector(".canvas");
      this.tip = make("div", { class: "tip", hidden: "" }, this.canvas);
      this.at = null; // what the reader points at, as a value of x
      figure.setAttribute("aria-label", `${view.title}: ${section.series.map((s) => s.name).join(", ")}`);
      const point = (event) => this.point(event.clientX - this.canvas.getBoundingClientRect().left);
      this.canvas.addEventListener("pointermove", point);
      this.canvas.addEventListener("pointerdown", point);
      this.canvas.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && this.leave());
      figure.addEventListener("blur", () => this.leave());
      figure.addEventListener("keydown", (event) => this.key(event));
      new ResizeObserver(() => this.draw()).observe(this.canvas);
    }

    lines() {
      const { x, y } = this.view;
      return this.section.series.flatMap((series, index) => {
        if (!series[x] || !series[y] || !this.section.shown.has(index)) return [];
        const rows = x.endsWith("rows") ? series[x] : (series.rows ?? series[x]);
        const points = series[x].map((v, i) => [v, series[y][i], rows[i]]).filter(([a, b]) => a !== null && b !== null);
        return points.length ? [{ name: series.name, index, points }] : [];
      });
    }

    draw() {
      const width = this.canvas.clientWidth;
      if (!width) return;
      const height = Math.round(Math.max(200, Math.min(380, width * 0.55)));
      const lines = this.lines();
      this.svg?.remove();
      this.svg = make("svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img" });
      this.canvas.prepend(this.svg);
      if (!lines.length) {
        make("text", { x: width / 2, y: height / 2, "text-anchor": "middle", class: "empty" }, this.svg, this.section.shown.size ? "nothing yet" : "nothing chosen");
        this.scale = null;
        this.leave();
        return;
      }
      this.scale = this.scales(lines, width, height);
      this.axes(this.scale);
      const { left, top, right, bottom, X, Y } = this.scale;
      const clip = `clip-${this.section.number}-${this.view.x}-${this.view.y}`;
      make("rect", { x: left, y: top - 3, width: right - left, height: bottom - top + 6 }, make("clipPath", { id: clip }, this.svg));
      const group = make("g", { "clip-path": `url(#${clip})` }, this.svg);
      for (const { index, points } of lines) {
        const path = points.map(([a, b], i) => `${i ? "L" : "M"}${X(a).toFixed(1)},${Y(b).toFixed(1)}`).join("");
        make("path", { d: path, class: `curve${dashed(index)}`, stroke: colour(index), "data-series": index }, group);
        if (this.view.marks)
          for (const [a, b] of points) make("circle", { cx: X(a), cy: Y(b), r: 4, fill: colour(index), class: "point" }, group);
      }
      this.triangles(lines);
      this.marks = make("g", {}, this.svg);
      this.mark();
    }

    // Where a series changed its mind, at the top of the plot.
    triangles(lines) {
      if (!this.view.x.endsWith("rows")) return;
      const { left, top, right, X } = this.scale;
      for (const { name, index } of lines)
        for (const row of this.section.series[index].changes ?? []) {
          const x = X(row);
          if (x < left || x > right) continue;
          const triangle = make("path", { d: `M${x - 5},${top - 6}h10l-5,8z`, fill: colour(index), class: "change" }, this.svg);
          make("title", {}, triangle, `${name} chose again after row ${write.count(row)}`);
        }
    }

    scales(lines, width, height) {
      const log = this.view.log || this.section.log;
      // The first rows say little and would squeeze all others: they may leave the plot, unless everything is asked for.
      const points = lines.flatMap((line) => line.points);
      const last = Math.max(...points.map(([, , rows]) => rows));
      const heard = this.section.log || this.view.marks ? points : points.filter(([, , rows]) => rows >= 0.02 * last);
      const edge = this.view.marks ? 1.15 : 1; // room for the marks
      const high = edge * Math.max(...heard.map(([x]) => x)) || 1;
      const low = log ? Math.min(...heard.map(([x]) => x).filter((x) => x > 0), high) / edge : 0;
      const ys = heard.map(([, y]) => y);
      let [floor, ceiling] = [Math.min(...ys), Math.max(...ys)];
      if (this.view.kind === "count") floor = 0;
      const room = (ceiling - floor || Math.abs(ceiling) || 1) * 0.06;
      [floor, ceiling] = [this.view.kind === "count" ? 0 : floor - room, ceiling + room];
      if (this.view.kind === "share") [floor, ceiling] = [Math.max(0, floor), Math.min(1, ceiling)];
      const logY = this.view.log_y;
      if (logY) [floor, ceiling] = [Math.max(1, Math.min(...ys)) / 1.3, Math.max(...ys) * 1.3];
      const yTicks = logY ? logTicks(floor, ceiling, height / 60) : ticks(floor, ceiling, height / 60);
      const rise = logY ? (v) => Math.log(v / floor) / Math.log(ceiling / floor) : (v) => (v - floor) / (ceiling - floor);
      const left = 14 + 7 * Math.max(...yTicks.map((v) => writeTick(this.view.kind, v).length));
      const [top, right, bottom] = [8, width - 10, height - 40];
      const place = log ? (v) => Math.log(Math.max(v, low / 10) / low) / (Math.log(high / low) || 1) : (v) => v / high;
      return {
        left, top, right, bottom, low, high, log, yTicks, width, height,
        xTicks: log ? logTicks(low, high, (right - left) / 70) : ticks(0, high, (right - left) / 90),
        X: (v) => left + (right - left) * place(v),
        Y: (v) => bottom - (bottom - top) * rise(v),
      };
    }

    axes({ left, top, right, bottom, X, Y, xTicks, yTicks, height }) {
      for (const v of yTicks) {
        make("line", { x1: left, x2: right, y1: Y(v), y2: Y(v), class: "ruling" }, this.svg);
        make("text", { x: left - 7, y: Y(v) + 4, "text-anchor": "end" }, this.svg, writeTick(this.view.kind, v));
      }
      for (const v of xTicks) {
        make("line", { x1: X(v), x2: X(v), y1: bottom, y2: bottom + 4, class: "axis" }, this.svg);
        const anchor = X(v) > right - 14 ? "end" : "middle";
        make("text", { x: Math.min(X(v), right + 8), y: bottom + 18, "text-anchor": anchor }, this.svg, short(v));
      }
      make("line", { x1: left, x2: right, y1: bottom, y2: bottom, class: "axis" }, this.svg);
      make("text", { x: (left + right) / 2, y: height - 4, "text-anchor": "middle" }, this.svg, this.view.x_title);
    }

    // -- pointing

    point(pixel) {
      if (!this.scale) return;
      const { left, right, low, high, log } = this.scale;
      const share = Math.max(0, Math.min(1, (pixel - left) / (right - left)));
      this.at = log ? low * (high / low) ** share : high * share;
      this.mark();
    }

    key(event) {
      if (!this.scale || !["ArrowLeft", "ArrowRight", "Escape"].includes(event.key)) return;
      event.preventDefault();
      if (event.key === "Escape") return this.leave();
      const xs = [...new Set(this.lines().flatMap((line) => line.points.map(([a]) => a)))].sort((a, b) => a - b);
      const here = this.at === null ? xs.length - 1 : xs.findIndex((v) => v >= this.at - 1e-12);
      const next = this.at === null ? here : here + (event.key === "ArrowLeft" ? -1 : 1);
      this.at = xs[Math.max(0, Math.min(xs.length - 1, next))];
      this.mark();
    }

    leave() {
      this.at = null;
      this.mark();
    }

    mark() {
      this.marks?.replaceChildren();
      this.tip.hidden = this.at === null || !this.scale;
      if (this.tip.hidden) return;
      const { X, Y, top, bottom, width } = this.scale;
      const nearest = (points) => points.reduce((a, b) => (Math.abs(X(b[0]) - X(this.at)) < Math.abs(X(a[0]) - X(this.at)) ? b : a));
      let found = this.lines().map((line) => ({ ...line, hit: nearest(line.points) }));
      if (this.view.marks) {
        // Points of their own: those below the finger, or else the nearest.
        const away = ({ hit }) => Math.abs(X(hit[0]) - X(this.at));
        const least = Math.min(...found.map(away));
        found = found.filter((line) => away(line) <= Math.max(least, 12));
      }
      found.sort((a, b) => b.hit[1] - a.hit[1]);
      const shared = found.every(({ hit }) => hit[0] === found[0].hit[0]);
      const x = X(shared ? found[0].hit[0] : this.at);
      make("line", { x1: x, x2: x, y1: top, y2: bottom, class: "guide" }, this.marks);
      const unit = this.view.x_title;
      const number = this.view.x.endsWith("rows") ? write.count : write.number;
      this.tip.replaceChildren();
      make("b", {}, this.tip, `${number(shared ? found[0].hit[0] : this.at)} ${unit}`);
      for (const { name, index, hit } of found) {
        const inside = Y(hit[1]) >= top - 3 && Y(hit[1]) <= bottom + 3;
        if (inside) make("circle", { cx: X(hit[0]), cy: Y(hit[1]), r: 4.5, fill: colour(index), class: "dot" }, this.marks);
        const line = make("div", {}, this.tip);
        swatch(index, line);
        make("span", {}, line, name);
        make("span", { class: "value" }, line, write[this.view.kind](hit[1]));
      }
      const size = this.tip.offsetWidth;
      const side = x + 14 + size <= width ? x + 14 : x - 14 - size;
      this.tip.style.left = `${Math.max(0, Math.min(width - size, side))}px`;
    }
  }

  // -- plots that share a legend

  document.querySelectorAll(".plots").forEach((root, number) => {
    const { series, views } = JSON.parse(root.querySelector("script").textContent);
    const section = { number, series, shown: new Set(series.keys()), log: false };
    const plots = [...root.querySelectorAll("figure")].map((figure, i) => new Plot(figure, views[i], section));
    const redraw = () => plots.forEach((plot) => plot.draw());
    root.addEventListener("series", ({ detail }) => {
      section.series = detail; // the same series, grown
      redraw();
    });
    const legend = root.querySelector(".legend");
    const buttons = series.map(({ name }, index) => {
      const button = make("button", { type: "button", "aria-pressed": "true", title: "Double-click: this one only" }, legend);
      swatch(index, button);
      make("span", {}, button, name);
      const show = (chosen) => {
        section.shown = new Set(chosen);
        buttons.forEach((b, i) => b.setAttribute("aria-pressed", section.shown.has(i)));
        redraw();
      };
      button.addEventListener("click", () => {
        const chosen = new Set(section.shown);
        if (!chosen.delete(index)) chosen.add(index);
        show(chosen);
      });
      button.addEventListener("dblclick", () => {
        const alone = section.shown.size === 1 && section.shown.has(index);
        show(alone ? series.keys() : [index]);
      });
      return button;
    });
    const scale = make("button", { type: "button", class: "scale", "aria-pressed": "false" }, legend, "logarithmic axis");
    scale.addEventListener("click", () => {
      section.log = !section.log;
      scale.setAttribute("aria-pressed", section.log);
      redraw();
    });
  });

  // -- tables

  document.querySelectorAll("td[data-series]").forEach((cell) => cell.prepend(swatch(Number(cell.dataset.series), cell)));
  document.querySelectorAll("table").forEach((table) => {
    const heads = [...table.querySelectorAll("th")];
    heads.forEach((head, column) => {
      head.querySelector("button")?.addEventListener("click", () => {
        const text = head.classList.contains("text");
        const first = text ? "ascending" : "descending";
        const order = head.getAttribute("aria-sort") === first ? (text ? "descending" : "ascending") : first;
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", order);
        const key = (row) => row.cells[column].dataset.value;
        const compare = (a, b) => {
          if (key(a) === "" || key(b) === "") return (key(a) === "") - (key(b) === ""); // what is missing comes last
          const difference = text ? key(a).localeCompare(key(b)) : Number(key(a)) - Number(key(b));
          return order === "ascending" ? difference : -difference;
        };
        table.tBodies[0].append(...[...table.tBodies[0].rows].sort(compare));
      });
    });
  });
})();
