"use strict";
// A name in the address (?name=ann) is passed on; the terminal gets the keys when it begins; a button loads the page anew.
document.addEventListener("DOMContentLoaded", () => {
  document.getElementById("again").addEventListener("click", () => window.location.reload());
  const name = new URLSearchParams(window.location.search).get("name");
  const place = document.getElementById("terminal");
  if (name) place.dataset.sessionWebsocketUrl += `/${encodeURIComponent(name)}`;
  new MutationObserver(() => place.querySelector("textarea")?.focus())
    .observe(document.body, {attributes: true, attributeFilter: ["class"]});
});
