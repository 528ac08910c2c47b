"use strict";
// What a page without scripts cannot do: details beside the graph, filtering, keys inside the graph, size.
(() => {
  const panel = document.getElementById("panel");
  const graphs = [...document.querySelectorAll(".graph")];
  let from = null;

  const byId = (link) => document.getElementById(decodeURIComponent(link.getAttribute("href").slice(1)));
  const isTask = (link) => link && (link.getAttribute("href") || "").startsWith("#task-");

  // Opens all that is folded around an element.
  const unfold = (element) => {
    for (let at = element; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  };

  const mark = (id) => {
    for (const old of document.querySelectorAll(".on")) old.classList.remove("on");
    for (const link of document.querySelectorAll("a.n, a.b")) {
      if (link.getAttribute("href") === "#" + id) link.classList.add("on");
    }
    const row = document.getElementById(id)?.closest("details.t, tr");
    if (row) row.classList.add("on");
  };

  const close = () => {
    if (panel.hidden) return;
    panel.hidden = true;
    panel.replaceChildren();
    mark("");
    if (from && from.isConnected) from.focus({ preventScroll: true });
    from = null;
  };

  // Shows the details of a task or an instance beside what was clicked.
  const show = (target) => {
    const whole = target.closest("details.t, tr");
    const icon = whole.querySelector(".st").cloneNode(true);
    const title = document.createElement("h2");
    title.textContent = whole.dataset.name || whole.querySelector(".nm").textContent;
    const inList = document.createElement("button");
    inList.type = "button";
    inList.textContent = "In the list";
    inList.addEventListener("click", () => { from = null; close(); jump(target); });
    const shut = document.createElement("button");
    shut.type = "button";
    shut.textContent = "Close";
    shut.addEventListener("click", close);
    const head = document.createElement("header");
    head.className = [...whole.classList].find((name) => name.startsWith("s-")) || "";
    head.append(icon, title, inList, shut);
    const copy = target.cloneNode(true);
    for (const inside of [copy, ...copy.querySelectorAll("[id]")]) inside.removeAttribute("id");
    copy.classList.remove("body");
    // An instance says in its line what a task says in its details.
    const said = whole.tagName === "TR" && target.parentElement.querySelector(":scope > summary");
    if (said) {
      const note = document.createElement("p");
      note.className = "note";
      note.textContent = said.textContent;
      copy.prepend(note);
    }
    panel.replaceChildren(head, copy);
    panel.hidden = false;
    panel.scrollTop = 0;
    panel.focus({ preventScroll: true });
    mark(target.id);
    // The panel takes room from the rest.
    if (from) from.scrollIntoView({ block: "nearest", inline: "nearest" });
    try { history.replaceState(null, "", "#" + target.id); } catch { /* A frame may forbid it. */ }
  };

  const jump = (target) => {
    clear();
    unfold(target);
    mark(target.id);
    const row = target.closest("details.t, tr") || target;
    row.scrollIntoView({ block: "start" });
    (row.querySelector("summary") || row).focus({ preventScroll: true });
  };

  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
    const link = event.target.closest("a[href]");
    if (!isTask(link)) return;
    const target = byId(link);
    if (!target) return;
    event.preventDefault();
    if (link.dataset.cluster) {
      close();
      only({ cluster: link.dataset.cluster });
      document.getElementById("tasks").scrollIntoView({ block: "start" });
    } else if (link.closest("#tasks")) {
      jump(target);
    } else {
      from = panel.contains(link) ? from : link;
      show(target);
    }
  });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") close(); });
  window.addEventListener("hashchange", () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target && target.id.startsWith("task-")) jump(target);
  });

  // The list.
  const rows = [...document.querySelectorAll("details.t")];
  const box = document.querySelector(".filter");
  const text = box.querySelector("input");
  const chips = [...box.querySelectorAll(".chip")];
  const all = box.querySelector(".clear");
  const none = document.querySelector("#tasks .none");
  let cluster = "";

  const apply = () => {
    const words = text.value.trim().toLowerCase();
    const looks = chips.filter((chip) => chip.ariaPressed === "true").map((chip) => chip.dataset.look);
    let shown = 0;
    for (const row of rows) {
      const fits = (!looks.length || looks.some((look) => row.classList.contains("s-" + look)))
        && (!cluster || row.dataset.cluster === cluster)
        && (!words || row.firstElementChild.textContent.toLowerCase().includes(words));
      row.hidden = !fits;
      shown += fits ? 1 : 0;
    }
    none.hidden = shown > 0;
    all.hidden = shown === rows.length;
  };
  const only = (wanted) => {
    cluster = wanted.cluster || "";
    text.value = "";
    for (const chip of chips) chip.ariaPressed = "false";
    apply();
  };
  const clear = () => { if (!all.hidden) only({}); };
  text.addEventListener("input", apply);
  all.addEventListener("click", clear);
  for (const chip of chips) {
    chip.addEventListener("click", () => {
      chip.ariaPressed = chip.ariaPressed === "true" ? "false" : "true";
      apply();
    });
  }
  box.hidden = false;

  // The graph: arrows go along edges and within a layer, and what is pointed at lights its edges up.
  for (const graph of graphs) {
    const nodes = [...graph.querySelectorAll("a.n")];
    const edges = [...graph.querySelectorAll(".e")].map((path) => ({
      path, a: nodes[path.dataset.a], b: nodes[path.dataset.b],
    }));
    const light = (node) => {
      graph.classList.toggle("lit", Boolean(node));
      for (const edge of edges) edge.path.classList.toggle("on", edge.a === node || edge.b === node);
    };
    const place = (node) => node.transform.baseVal.consolidate().matrix;
    for (const node of nodes) {
      node.addEventListener("mouseenter", () => light(node));
      node.addEventListener("mouseleave", () => light(null));
      node.addEventListener("focus", () => light(node));
      node.addEventListener("blur", () => light(null));
      node.addEventListener("keydown", (event) => {
        const { e: x, f: y } = place(node);
        const beside = nodes.filter((other) => other !== node && Math.abs(place(other).e - x) < 1);
        const near = (list) => list.sort((a, b) => Math.abs(place(a).f - y) - Math.abs(place(b).f - y))[0];
        const next = {
          ArrowRight: () => near(edges.filter((edge) => edge.a === node).map((edge) => edge.b)),
          ArrowLeft: () => near(edges.filter((edge) => edge.b === node).map((edge) => edge.a)),
          ArrowDown: () => near(beside.filter((other) => place(other).f > y)),
          ArrowUp: () => near(beside.filter((other) => place(other).f < y)),
        }[event.key];
        if (!next) return;
        event.preventDefault();
        next()?.focus();
      });
    }
  }
  const zoom = document.querySelector(".zoom");
  const size = (graph, factor) => {
    const { width, height } = graph.viewBox.baseVal;
    graph.setAttribute("width", width * factor);
    graph.setAttribute("height", height * factor);
    graph.dataset.factor = factor;
  };
  const fit = (graph) => size(graph, Math.min(1, graph.parentElement.clientWidth / graph.viewBox.baseVal.width));
  zoom.addEventListener("click", (event) => {
    const how = event.target.dataset.zoom;
    for (const graph of graphs) {
      const now = Number(graph.dataset.factor || 1);
      if (how === "fit") fit(graph);
      else if (how) size(graph, Math.min(3, Math.max(0.1, how === "in" ? now * 1.25 : now / 1.25)));
    }
  });
  zoom.hidden = !graphs.length;
  // A picture that is a little too wide is made to fit; a much wider one could not be read then.
  for (const graph of graphs) {
    if (graph.parentElement.clientWidth / graph.viewBox.baseVal.width > 0.7) fit(graph);
  }

  if (location.hash.startsWith("#task-")) {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target) jump(target);
  }
})();
