// Feeds the page with what the service says of a model, once a second; text is set as text, never as HTML.
(() => {
  "use strict";
  const facts = document.querySelector("[data-events]");
  const said = document.querySelector(".said");
  const make = (tag, parent, text) => {
    const made = parent.appendChild(document.createElement(tag));
    if (text !== undefined) made.textContent = text;
    return made;
  };
  const write = {
    time: (value) => new Date(1000 * value).toLocaleTimeString(),
    weight: (value) => value.toPrecision(3),
  };

  const show = (state) => {
    facts.replaceChildren();
    for (const [name, value] of Object.entries(state.facts)) {
      const card = make("div", facts);
      make("dt", card, name);
      make("dd", card, value);
    }
    said.textContent = state.said;
    said.hidden = !state.said;
    document.querySelector(".plots").dispatchEvent(new CustomEvent("series", { detail: state.series }));
    for (const box of document.querySelectorAll("[data-fill]")) {
      const rows = state[box.dataset.fill];
      box.closest(".part").hidden = !rows.length;
      box.querySelector("tbody").replaceChildren(
        ...rows.map((row) => {
          const line = document.createElement("tr");
          for (const column of box.dataset.columns.split(" "))
            make("td", line, (write[column] ?? String)(row[column])).className = "text";
          return line;
        }),
      );
    }
  };

  for (const box of document.querySelectorAll("[data-fill]")) box.closest(".part").hidden = true;
  const events = new EventSource(facts.dataset.events);
  events.addEventListener("message", (event) => show(JSON.parse(event.data)));
  events.addEventListener("open", () => { document.body.dataset.live = "yes"; });
  events.addEventListener("error", () => {
    document.body.dataset.live = "no";
    said.textContent = "The service does not answer; the page goes on when it does.";
    said.hidden = false;
  });
})();
