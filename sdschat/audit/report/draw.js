(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const draw = () => {
    const style = getComputedStyle(document.documentElement), of = name => style.getPropertyValue(name).trim();
    const text = {labelColor: of("--soft"), titleColor: of("--soft")};
    const config = {
      background: "transparent", view: {stroke: of("--line")}, font: "system-ui, sans-serif",
      axis: {...text, gridColor: of("--line"), domainColor: of("--line"), tickColor: of("--line")},
      legend: text,
      title: {
        color: of("--ink"), subtitleColor: of("--soft"), anchor: "start", frame: "group", fontSize: 13, fontWeight: 600,
      },
      text: {color: of("--ink")}, rule: {color: of("--soft")},
    };
    const shown = {actions: false, renderer: "svg", tooltip: {theme: dark.matches ? "dark" : "light"}};
    for (const place of document.querySelectorAll("[data-picture]")) {
      const spec = JSON.parse(document.getElementById(place.dataset.picture).textContent);
      spec.config = config;
      vegaEmbed(place, spec, shown).then(() => place.dataset.drawn = "yes").catch(problem => {
        place.textContent = `This picture cannot be drawn: ${problem.message}. The tables below have its figures.`;
      });
    }
  };
  dark.addEventListener("change", draw);
  draw();
})();
