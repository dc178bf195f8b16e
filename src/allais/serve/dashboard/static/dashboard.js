// Keeps the parts of a page fresh: asks for them, and replaces those that have changed.
"use strict";
(() => {
  const live = document.getElementById("live");
  const status = document.getElementById("status");
  if (!live) return;
  const EVERY = 2000; // milliseconds
  let tag = "", before = parts(live), answered = new Date();

  function parts(inside) {
    return new Map([...inside.querySelectorAll("[data-part]")].map((one) => [one.dataset.part, one.outerHTML]));
  }

  function show(text) {
    const fresh = new DOMParser().parseFromString(text, "text/html").body;
    const after = parts(fresh);
    const same = before.size === after.size && [...after.keys()].every((name) => before.has(name));
    const opened = new Map([...live.querySelectorAll("details")].map((one) => [one.id, one.open]));
    for (const one of fresh.querySelectorAll("details")) if (opened.has(one.id)) one.open = opened.get(one.id);
    if (!same) live.replaceChildren(...fresh.childNodes);
    else
      for (const one of fresh.querySelectorAll("[data-part]")) {
        if (before.get(one.dataset.part) === after.get(one.dataset.part)) continue;
        const place = live.querySelector(`[data-part="${one.dataset.part}"]`);
        if (!place.contains(document.activeElement)) place.replaceWith(one); // else whoever uses it loses her place
      }
    before = after;
  }

  async function look() {
    if (!document.hidden) {
      try {
        const headers = tag ? { "If-None-Match": tag } : {};
        const answer = await fetch(live.dataset.live, { headers, redirect: "manual" });
        if (answer.type === "opaqueredirect") return location.reload(); // signed out
        if (answer.status === 200) {
          show(await answer.text());
          tag = answer.headers.get("ETag") || "";
        } else if (answer.status !== 304) throw new Error(String(answer.status));
        answered = new Date();
        status.textContent = "live";
        status.className = "on";
      } catch {
        status.textContent = `no answer since ${answered.toLocaleTimeString()}`;
        status.className = "off";
      }
    }
    setTimeout(look, EVERY);
  }
  setTimeout(look, EVERY);
})();
