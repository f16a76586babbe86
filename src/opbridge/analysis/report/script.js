"use strict";
// The page can be read without this: it opens what a link leads to, and everything for print.
const all = () => document.querySelectorAll("details");

function openTarget() {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target instanceof HTMLDetailsElement) {
    target.open = true;
    target.scrollIntoView();
    target.querySelector("summary").focus();
  }
}

function button(text, open) {
  const made = document.createElement("button");
  made.type = "button";
  made.className = "all";
  made.textContent = text;
  made.addEventListener("click", () => all().forEach((part) => (part.open = open)));
  return made;
}

const heading = document.querySelector("#operators h2, #answers h2");
if (heading) heading.after(button("Open all", true), button("Close all", false));
addEventListener("hashchange", openTarget);
// A link to where one already is changes no hash.
document.addEventListener("click", (event) => {
  if (event.target instanceof HTMLAnchorElement && event.target.hash === location.hash) openTarget();
});
openTarget();

let closed = [];
addEventListener("beforeprint", () => {
  closed = [...all()].filter((part) => !part.open);
  closed.forEach((part) => (part.open = true));
});
addEventListener("afterprint", () => closed.forEach((part) => (part.open = false)));
