// Tables and wide pictures scroll in boxes of their own. Where one does not fit, say so, and say how.
(function () {
  "use strict";
  const HINT = "There is more on the right: scroll sideways \u2192";
  let number = 0;
  const hint_at = (box) => {
    const hint = document.createElement("p");
    hint.className = "hint";
    hint.id = "hint-" + number++;
    hint.textContent = HINT;
    hint.hidden = true;
    box.before(hint);
    const look = () => {
      const more = box.scrollWidth > box.clientWidth + 1;
      hint.hidden = !more;
      if (more) box.setAttribute("aria-describedby", hint.id);
      else box.removeAttribute("aria-describedby");
    };
    const watcher = new ResizeObserver(look); // told once at the start, too
    watcher.observe(box);
    watcher.observe(box.firstElementChild);
  };
  document.querySelectorAll(".scroll").forEach(hint_at);
  document.addEventListener("filled", (event) => event.target.querySelectorAll(".scroll").forEach(hint_at)); // a part of a page got its content
})();
