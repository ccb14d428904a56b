// Feeds the page with what the service says of a model, once a second; text is set as text, never as HTML.
(() => {
  "use strict";
  const facts = document.querySelector("[data-state]");
  const said = document.querySelector(".said");
  const make = (tag, parent, text) => {
    const made = parent.appendChild(document.createElement(tag));
    if (text !== undefined) made.textContent = text;
    return made;
  };
  const write = {
    time: (value) => new Date(1000 * value).toLocaleTimeString(),
    weight: (value) => (value && value < 0.001 ? "< 0.001" : value.toPrecision(3)),
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
  // Each look is a request of its own: a stream that never ends keeps a browser from ever being done with the page, and
  // one without a window, whose clock stands still while anything is loading, would wait for ever.
  let last = "";
  const look = async () => {
    try {
      const answer = await fetch(facts.dataset.state, { signal: AbortSignal.timeout(10000) });
      if (!answer.ok) throw new Error(answer.statusText);
      const text = await answer.text();
      if (text !== last) show(JSON.parse((last = text)));
      document.body.dataset.live = "yes";
    } catch {
      last = "";
      document.body.dataset.live = "no";
      said.textContent = "The service does not answer; the page goes on when it does.";
      said.hidden = false;
    }
    setTimeout(look, 1000);
  };
  look();
})();
