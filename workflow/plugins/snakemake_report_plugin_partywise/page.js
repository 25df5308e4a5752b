// Figures whose name, study or caption has every word.
const figures = Array.from(document.querySelectorAll("figure"));
const box = document.getElementById("figures");
box.addEventListener("input", () => {
  const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const figure of figures) {
    const text = `${figure.id} ${figure.textContent}`.toLowerCase();
    figure.hidden = !words.every(word => text.includes(word));
  }
  const shown = figures.filter(figure => !figure.hidden).length;
  document.getElementById("shown").textContent = words.length ? `${shown} of ${figures.length}` : "";
});

// A drawing in another size and back: as wide as the page; on a narrow screen, where it scrolls, as wide as the screen.
for (const drawing of document.querySelectorAll(".drawing")) {
  const resize = () => drawing.closest("figure").classList.toggle("resized");
  drawing.addEventListener("click", resize);
  drawing.addEventListener("keydown", event => { if (event.key === "Enter") resize(); });
}

// A link to something folded unfolds it, also when it is followed again.
const unfold = () => {
  const place = location.hash && document.getElementById(location.hash.slice(1));
  const folded = place && place.querySelector(":scope > details, :scope.table > section > details");
  if (folded) folded.open = true;
};
addEventListener("hashchange", unfold);
addEventListener("click", event => { if (event.target.closest("a[href^='#']")) setTimeout(unfold); });
unfold();
