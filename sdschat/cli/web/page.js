"use strict";
// A name in the address (?name=ann) is passed on; the terminal gets the keys when it begins; a button loads the page anew;
// a page whose chat is over says why.
const lost = 1006; // no word of the server came: it, or the way to it, is gone
window.WebSocket = class extends window.WebSocket {
  constructor(...where) {
    super(...where);
    this.addEventListener("close", ({code, reason}) => {
      const why = reason || (code === lost ? "the server does not answer" : "");
      if (why) document.getElementById("why").textContent = why;
    });
  }
};
document.addEventListener("DOMContentLoaded", () => {
  document.getElementById("again").addEventListener("click", () => window.location.reload());
  const name = new URLSearchParams(window.location.search).get("name");
  const place = document.getElementById("terminal");
  if (name) place.dataset.sessionWebsocketUrl += `/${encodeURIComponent(name)}`;
  new MutationObserver(() => place.querySelector("textarea")?.focus())
    .observe(document.body, {attributes: true, attributeFilter: ["class"]});
});
