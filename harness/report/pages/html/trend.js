// Draws each scenario's last runs below the table: a line of p99 with a dot for each verdict,
// the oldest at the left; one run is no trend. The figures come from the table.
'use strict';
const trendRuns = 30, trendWidth = 240, trendHeight = 36;

function trendPicture(runs) {
  const make = (name, attributes) => {
    const e = document.createElementNS('http://www.w3.org/2000/svg', name);
    for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
    return e;
  };
  const highest = Math.max(...runs.map((r) => r.p99).filter((v) => !Number.isNaN(v)), 1e-9);
  const x = (i) => 5 + i * (trendWidth - 10) / Math.max(runs.length - 1, 1);
  const y = (v) => trendHeight - 5 - (Number.isNaN(v) ? 0 : v / highest * (trendHeight - 12));
  const measured = runs.map((r, i) => [i, r.p99]).filter(([, v]) => !Number.isNaN(v));
  const picture = make('svg', { width: trendWidth, height: trendHeight,
    viewBox: `0 0 ${trendWidth} ${trendHeight}`, role: 'img',
    'aria-label': `p99 of the last ${runs.length} runs, at most ${highest} ms` });
  picture.append(make('polyline', { points: measured.map(([i, v]) => `${x(i)},${y(v)}`).join(' '),
    fill: 'none', stroke: 'currentColor', opacity: 0.5 }));
  runs.forEach((run, i) => {
    const dot = make('circle', { cx: x(i), cy: y(run.p99), r: 3, class: run.verdict, fill: 'currentColor' });
    const title = make('title', {});
    title.textContent = `${run.when}: ${run.verdict}, p99 ${Number.isNaN(run.p99) ? 'not measured' : `${run.p99} ms`}`;
    dot.append(title);
    picture.append(dot);
  });
  return picture;
}

function trends() {
  const scenarios = new Map();
  for (const row of document.querySelectorAll('#runs tbody tr')) {
    const cells = [...row.cells].map((c) => c.textContent);
    if (cells.length < 5) continue;
    if (!scenarios.has(cells[0])) scenarios.set(cells[0], []);
    scenarios.get(cells[0]).push({ when: cells[1], verdict: cells[2], p99: parseFloat(cells[5]) });
  }
  const table = document.getElementById('trends').tBodies[0];
  for (const [name, all] of [...scenarios].sort()) {
    if (all.length < 2) continue;
    const runs = all.sort((a, b) => (a.when < b.when ? -1 : 1)).slice(-trendRuns);
    const row = table.insertRow();
    row.insertCell().textContent = name;
    row.insertCell().append(trendPicture(runs));
    const passed = runs.filter((r) => r.verdict === 'pass').length;
    const last = row.insertCell();
    last.className = 'n';
    last.textContent = `${passed} of ${runs.length}`;
  }
  document.getElementById('trend-section').hidden = table.rows.length === 0;
}
trends();
