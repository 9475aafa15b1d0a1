// Draws the page from the data that stands in it. Everything a chart shows is
// also in a table, for those who do not see charts.
'use strict';
const data = JSON.parse(document.getElementById('data').textContent);
const result = data.result;
const byId = (id) => document.getElementById(id);
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const missing = '–';

function text(value, digits) {
  if (value === null || value === undefined) return missing;
  if (typeof value !== 'number') return String(value);
  return digits === undefined ? String(value) : value.toFixed(digits);
}

function element(name, content, className) {
  const e = document.createElement(name);
  if (content !== undefined) e.textContent = content;
  if (className) e.className = className;
  return e;
}

// rows: arrays of cells; a number is set to the right. An empty table is removed.
function fillTable(id, caption, head, rows) {
  const table = byId(id);
  if (rows.length === 0) { table.remove(); return; }
  table.append(element('caption', caption));
  const numeric = head.map((_, i) => rows.every((r) => typeof r[i] === 'number' || r[i] === missing));
  const top = element('tr');
  head.forEach((h, i) => {
    const th = element('th', h, numeric[i] ? 'n' : '');
    th.scope = 'col';
    top.append(th);
  });
  table.append(top);
  for (const row of rows) {
    const tr = element('tr');
    row.forEach((cell, i) => {
      const broken = cell === 'broken' || cell === 'does not hold' || cell === 'no';
      tr.append(element('td', text(cell), numeric[i] ? 'n' : broken ? 'violated' : ''));
    });
    table.append(tr);
  }
}

function header() {
  document.title = `${result.scenario}: ${result.verdict}`;
  byId('verdict').textContent = result.verdict;
  byId('verdict').className = result.verdict;
  byId('name').textContent = result.scenario;
  byId('summary').textContent = data.summary;
  for (const reason of result.reasons) byId('reasons').append(element('li', reason));
}

function keyFigures() {
  const latency = result.latency_ms.from_intended;
  const figures = [
    ['lost', text(result.tokens.lost)], ['duplicated', text(result.tokens.duplicated)],
    ['delivered', text(result.tokens.delivered)], ['expected', text(result.tokens.expected)],
    ['p50, ms', text(latency.p50, 1)], ['p99, ms', text(latency.p99, 1)],
    ['max, ms', text(latency.max, 1)], ['delivered per s', text(result.rate_per_s.delivered, 1)],
  ];
  if (result.faults.length)
    figures.push(['faults that took effect',
      `${result.faults.filter((f) => f.ok && !f.left_out).length} of ` +
      `${result.faults.filter((f) => !f.left_out).length}`]);
  for (const [name, value] of figures) {
    const box = element('div', undefined, 'figure');
    box.dataset.name = name;
    box.append(element('b', value), element('span', name));
    byId('key-figures').append(box);
  }
}

function broken() {
  const list = element('ul');
  for (const name of data.broken)
    for (const example of result.examples[name] || [])
      list.append(element('li', `${name}: ${example}`));
  if (!list.children.length) return;
  byId('broken').hidden = false;
  byId('broken').append(list);
}

// The shade behind a chart: from each fault's start to its undoing.
function shadeFaults(canvas, area, graph) {
  canvas.fillStyle = colour('--shade');
  for (const fault of result.faults) {
    if (fault.at_s === null) continue;
    const left = graph.toDomXCoord(fault.at_s);
    const right = graph.toDomXCoord(Math.max(fault.ended_s, fault.at_s));
    canvas.fillRect(left, area.y, Math.max(right - left, 1.5), area.h);
  }
}

function chart(id, rows, labels, colours, options) {
  if (rows.length < 2) { byId(id).remove(); return; }
  let legend = byId(`${id}-legend`);
  if (!legend) {
    legend = element('div', undefined, 'legend');
    legend.id = `${id}-legend`;
    byId(id).before(legend);
  }
  return new Dygraph(byId(id), rows, Object.assign({
    labels, colors: colours.map(colour), strokeWidth: 1.5, legend: 'always', labelsDiv: legend, gridLineColor: colour('--line'),
    axisLineColor: colour('--line'), highlightCircleSize: 3, labelsKMB: true, connectSeparatedPoints: true,
    includeZero: true, underlayCallback: shadeFaults, xlabel: 'seconds', axisLabelWidth: 60,
  }, options));
}

function charts() {
  const s = data.series;
  const rows = (...columns) => s.t.map((t, i) => [t, ...columns.map((c) => s[c][i])]);
  chart('latency-chart', rows('max', 'p99', 'p50'), ['s', 'max', 'p99', 'p50'], ['--b', '--a', '--c'],
    { ylabel: 'ms' });
  chart('rate-chart', rows('offered', 'achieved', 'delivered'), ['s', 'offered', 'achieved', 'delivered'],
    ['--b', '--a', '--c'], { ylabel: 'tokens per s' });
  chart('backlog-chart', rows('backlog'), ['s', 'backlog'], ['--a'],
    { ylabel: 'tokens', fillGraph: true });
  const nines = data.percentiles.map((p) => [p.nines, p.from_intended, p.from_commit]);
  chart('percentile-chart', nines, ['nines', 'from the intended insert', 'from the commit'], ['--a', '--c'], {
    ylabel: 'ms', xlabel: 'percentile', underlayCallback: null,
    axes: { x: {
      valueFormatter: (n) => `${(100 * (1 - 10 ** -n)).toPrecision(6)}%`,
      axisLabelFormatter: (n) => (Number.isInteger(n) ? `${+(100 * (1 - 10 ** -n)).toPrecision(8)}%` : ''),
    } },
  });
}

function batches() {
  const most = Math.max(1, ...data.batches.map((b) => b.lines));
  for (const b of data.batches) {
    const bar = element('div');
    bar.style.height = `${Math.max(100 * b.lines / most, b.lines ? 1 : 0)}%`;
    bar.title = `${b.tokens} tokens: ${b.lines} lines`;
    byId('batch-chart').append(bar);
  }
  fillTable('batch-table', 'How many lines held how many tokens', ['tokens', 'lines'],
    data.batches.filter((b) => b.lines).map((b) => [b.tokens, b.lines]));
}

function tables() {
  const keys = ['p50', 'p90', 'p99', 'p999', 'max', 'mean'];
  const row = (name, l) => [name, ...keys.map((k) => (l[k] === null ? missing : +l[k].toFixed(3)))];
  fillTable('latency-table', 'Latency in ms', ['', 'p50', 'p90', 'p99', 'p99.9', 'max', 'mean'], [
    row('from the intended insert', result.latency_ms.from_intended),
    row('from the commit', result.latency_ms.from_commit)]);
  const counts = Object.assign({}, result.tokens, result.process);
  fillTable('invariant-table', 'Invariants', ['invariant', 'count', ''],
    data.invariants.map((name) => [name, counts[name], data.broken.includes(name) ? 'broken' : 'holds']));
  fillTable('expectation-table', 'Expectations of the scenario', ['metric', 'wanted', 'got', ''],
    result.expectations.map((x) => [x.metric, x.want, text(x.got), x.holds ? 'holds' : 'does not hold']));
  fillTable('fault-table', 'Times in seconds since the start of the load',
    ['do', 'began', 'over', 'took effect', 'recovery, ms', 'evidence'],
    result.faults.map((f) => [f.do, f.at_s === null ? missing : +f.at_s.toFixed(3),
      f.ended_s === null ? missing : +f.ended_s.toFixed(3), f.ok ? 'yes' : 'no',
      f.recovery_ms === null ? missing : +f.recovery_ms.toFixed(1), f.evidence]));
  if (!result.faults.length) byId('fault-section').remove();
  const flat = [];
  for (const [key, value] of Object.entries(result.environment)) {
    if (value && typeof value === 'object')
      for (const [k, v] of Object.entries(value)) flat.push([`${key}: ${k}`, text(v)]);
    else flat.push([key, text(value)]);
  }
  fillTable('environment-table', 'Where it ran', ['', ''], [['seed', text(result.seed)], ...flat]);
  byId('repeat').textContent = data.repeat;
  byId('scenario').textContent = data.scenario_yaml;
}

header();
keyFigures();
broken();
tables();
batches();
charts();
// The charts carry their colours in a canvas: draw again when the scheme changes.
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', charts);
