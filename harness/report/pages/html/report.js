// Draws the page from the data inside it. A table repeats everything that a chart shows, for
// people who do not see charts.
'use strict';
const data = JSON.parse(document.getElementById('data').textContent);
const result = data.result;
const byId = (id) => document.getElementById(id);
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const missing = '–';

// On paper the page always has the colours of the light scheme.
const light = { '--a': '#1f6feb', '--b': '#c2372e', '--c': '#1a7f4b', '--d': '#8250df', '--e': '#9a6a00' };

function text(value, digits) {
  if (value === null || value === undefined) return missing;
  if (typeof value !== 'number') return String(value);
  return digits === undefined ? String(value) : value.toFixed(digits);
}

// Rounds a number for a table: to a number of decimals, or to four significant digits.
const rounded = (value, digits = 3) => (typeof value === 'number' ? +value.toFixed(digits) : missing);

const significant = (value) => rounded(value, value >= 1000 ? 1 : Math.min(3, 3 - Math.floor(Math.log10(value || 1))));

function element(name, content, className) {
  const e = document.createElement(name);
  if (content !== undefined) e.textContent = content;
  if (className) e.className = className;
  return e;
}

// Fills a table from arrays of cells, and puts it into a box that scrolls. Columns of numbers are
// aligned to the right. A table without rows is removed.
function fill(table, caption, head, rows) {
  if (rows.length === 0) { table.remove(); return; }
  const box = element('div', undefined, 'wide');
  table.replaceWith(box);
  box.append(table);
  table.append(element('caption', caption));
  const numeric = head.map((_, i) => rows.every((r) => typeof r[i] === 'number' || text(r[i]) === missing));
  const top = element('tr');
  head.forEach((h, i) => {
    const th = element('th', h, numeric[i] ? 'n' : '');
    th.scope = 'col';
    top.append(th);
  });
  // On paper a head is repeated on each page, and does not stand alone at the foot of one.
  table.createTHead().append(top);
  const body = table.createTBody();
  for (const row of rows) {
    const tr = element('tr');
    row.forEach((cell, i) => {
      const broken = cell === 'broken' || cell === 'does not hold' || cell === 'no';
      const td = element('td', text(cell), numeric[i] ? 'n' : broken ? 'violated' : '');
      td.classList.add(text(cell).length < 18 ? 'short' : 'long');
      tr.append(td);
    });
    body.append(tr);
  }
}

const fillTable = (id, caption, head, rows) => fill(byId(id), caption, head, rows);

// Returns lines that say what failed, and when: why nothing came; the groups of tokens; for an invariant
// without groups its count and first case; the expectations that do not hold.
function failed() {
  if (data.cuts && result.cuts.broken > 0) return cutsFailed();
  const { what, cause } = result.silence || {};
  const lines = [what && cause ? `${what}; ${cause}` : what, ...data.glance.groups].filter(Boolean);
  const grouped = (name) => lines.some((line) => new RegExp(`^\\d+ ${name}\\b`).test(line));
  for (const name of data.broken.filter((n) => !grouped(n))) {
    const count = rounded(result.metrics[name], 1), [first] = result.examples[name] || [];
    lines.push(`${name} ${count}` + (first ? `${count > 1 ? ', first' : ''}: ${first.split('; faults:')[0]}` : ''));
  }
  for (const x of ['missed', 'violated'].includes(result.verdict) ? result.expectations : []) {
    if (!x.holds && x.got !== null && !data.broken.includes(x.metric)) lines.push(`${x.metric} is ${rounded(x.got)} ${x.unit}`.trim() + `, and should be ${x.want}`);
  }
  return lines;
}

// Tells what a silent collector has logged. The last lines stand together, as in the log.
function silentLog() {
  const { log, times, log_ends: ends } = result.silence || { log_ends: [] };
  const often = times > 1 ? [element('li', `its log says ${times} times: ${log}`)] : [];
  const end = element('li', 'its log ends with:');
  end.append(element('pre', ends.join('\n')));
  byId('reasons').append(...often, ...(ends.some((line) => line !== log || times === 1) ? [end] : []));
}

function header() {
  const began = new Date(data.start_unix_ms).toISOString().replace('T', ' ').slice(0, 19);
  document.title = `${result.scenario}: ${result.verdict}`;
  byId('verdict').textContent = result.verdict;
  byId('verdict').className = result.verdict;
  byId('name').textContent = result.scenario;
  byId('failed').append(...failed().map((line) => element('li', line)));
  byId('summary').textContent = `${data.summary} ${began} UTC.`;
  // Options may fill a screen, so they come last.
  const ran = [`Seed ${result.seed}.`];
  if (result.program) ran.push(`${data.queue ? 'Queue' : 'Collector'}: ${result.program}.`);
  if (result.changed) ran.push(`Changed: ${result.changed}`);
  byId('ran').textContent = ran.join(' ');
  silentLog();
  for (const reason of result.reasons) byId('reasons').append(element('li', reason));
  for (const line of data.excused) byId('excused').append(element('li', line));
}

function keyFigures() {
  const latency = result.latency_ms.from_intended;
  // A zero of what was not judged would look like good news.
  const judged = (name) => text(result.judged[name].judged ? result.tokens[name] : null);
  const figures = [
    ['lost', judged('lost')], ['duplicated', judged('duplicated')],
    ['delivered', text(result.tokens.delivered)], ['expected', text(result.tokens.expected)],
    ['p50, ms', text(latency.p50, 1)], ['p99, ms', text(latency.p99, 1)],
    ['max, ms', text(latency.max, 1)], ['delivered/s', text(result.rate_per_s.delivered, 1)],
  ];
  if (result.faults.length)
    figures.push(['faults that took effect',
      `${result.faults.filter((f) => f.ok && !f.left_out).length} of ` +
      `${result.faults.filter((f) => !f.left_out).length}`]);
  for (const [name, value] of figures) {
    const box = element('div', undefined, data.broken.includes(name) ? 'figure violated' : 'figure');
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
  if (!list.children.length && !data.promised.length) return;
  byId('broken').hidden = false;
  byId('broken').append(list);
  for (const { quote, url } of data.promised) {
    const words = element('blockquote', `“${quote}”`);
    words.append(element('br'), element('cite', url));
    byId('broken').append(element('p', 'Its documentation promises:'), words);
  }
}

// --- charts ----------------------------------------------------------------------

// Shades the chart from each fault's start to its end.
function shadeFaults(canvas, area, graph) {
  canvas.fillStyle = colour('--shade');
  for (const fault of result.faults) {
    if (fault.at_s === null) continue;
    const left = graph.toDomXCoord(fault.at_s);
    const right = graph.toDomXCoord(Math.max(fault.ended_s, fault.at_s));
    canvas.fillRect(left, area.y, Math.max(right - left, 1.5), area.h);
  }
}

const drawn = [];

// The time to draw ends at the load's end or at the last line after it, so that an empty drain is
// not drawn.
function runWindow() {
  const { t, delivered } = data.series;
  const last = t.reduce((end, at, i) => (at <= data.load_s || delivered[i] > 0 ? i : end), 0);
  return [0, t[Math.min(last + 1, t.length - 1)]];
}

// 1200 becomes 1.2K, but 0.5 stays 0.5.
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 3 });
const axisY = { axisLabelFormatter: (y) => compact.format(y), valueFormatter: (y) => String(+y.toFixed(3)) };

// Adds a table of the chart's figures, which opens on request.
function tableOf(chart, caption, labels, rows) {
  const details = element('details', undefined, 'figures');
  const table = element('table');
  details.append(element('summary', `Table: ${caption}`), table);
  fill(table, caption, labels, rows.map((row) => row.map((v) => rounded(v))));
  chart.after(details);
}

// A chart without two points, or without any figure, is not drawn.
function chart(id, caption, rows, labels, colours, options) {
  const [from, until] = options.dateWindow === null ? [0, Infinity] : runWindow();
  const shown = rows.filter(([x]) => x >= from && x <= until);
  if (shown.length < 2 || !shown.some((row) => row.slice(1).some((v) => v !== null))) { byId(id).remove(); return; }
  const legend = element('div', undefined, 'legend');
  legend.id = `${id}-legend`;
  byId(id).before(legend);
  tableOf(byId(id), caption, labels, rows);
  drawn.push({ id, legend, rows, labels, colours, options });
}

function draw(c) {
  if (c.graph) c.graph.destroy();
  c.graph = new Dygraph(byId(c.id), c.rows, Object.assign({
    labels: c.labels, colors: c.colours.map(colour), strokeWidth: 1.5, legend: 'always', labelsDiv: c.legend,
    gridLineColor: colour('--line'), axisLineColor: colour('--line'), highlightCircleSize: 3,
    connectSeparatedPoints: false, drawGapEdgePoints: true, includeZero: true, stackedGraphNaNFill: 'none', underlayCallback: shadeFaults, xlabel: 'seconds',
    axisLabelWidth: 60, dateWindow: runWindow(), axes: { x: { axisLabelFormatter: (s) => String(+s.toFixed(3)), pixelsPerLabel: 50 }, y: axisY },
  }, c.options));
}

const columns = (from, ...names) => (from[names[0]] || []).map((_, i) => names.map((n) => from[n][i]));

function charts() {
  const s = data.series;
  chart('latency-chart', 'latency in ms over time',
    columns(s, 't', 'p99', 'p50', 'commit_p99', 'commit_p50', 'max'),
    ['s', 'p99', 'p50', 'p99 from commit', 'p50 from commit', 'max'], ['--a', '--c', '--d', '--e', '--b'],
    { ylabel: 'ms', series: { max: { strokeWidth: 0.7, drawPoints: true, pointSize: 2 }, 'p99 from commit': { strokePattern: [4, 3] }, 'p50 from commit': { strokePattern: [4, 3] } } });
  chart('stage-chart', 'mean time in each stage, in ms, over time',
    columns(s, 't', 'lag', 'insert', 'wait', 'dequeue'), ['s', ...stageNames], ['--b', '--d', '--a', '--c'],
    { ylabel: 'ms', stackedGraph: true });
  chart('rate-chart', 'tokens per second over time', columns(s, 't', 'offered', 'achieved', 'delivered'),
    ['s', 'offered', 'achieved', 'delivered'], ['--b', '--a', '--c'], { ylabel: 'tokens per s' });
  chart('backlog-chart', 'tokens committed and not yet read', columns(s, 't', 'backlog'), ['s', 'backlog'],
    ['--a'], { ylabel: 'tokens', fillGraph: true });
  chart('percentile-chart', 'latency in ms by number of nines',
    columns(data.percentiles, 'nines', 'from_intended', 'from_commit'),
    ['nines', 'from the intended insert', 'from the commit'], ['--a', '--c'], {
      ylabel: 'ms', xlabel: 'percentile', underlayCallback: null, dateWindow: null,
      axes: { y: axisY, x: {
        valueFormatter: (n) => `${(100 * (1 - 10 ** -n)).toPrecision(6)}%`,
        axisLabelFormatter: (n) => (Number.isInteger(n) ? `${+(100 * (1 - 10 ** -n)).toPrecision(8)}%` : ''),
      } },
    });
  serverCharts();
  drawn.forEach(draw);
  const shades = result.faults.filter((f) => f.at_s !== null).map((f) => [f.at_s, Math.max(f.ended_s, f.at_s)]);
  for (const c of drawn) {
    const options = { dateWindow: runWindow(), ...c.options };
    paperChart({ ...c, options }, byId(c.id), shades, c.colours.map((name) => light[name]));
  }
}

// --- server and machine ------------------------------------------------------------

const serverFigures = [
  ['wal_kib_per_s', 'WAL', 'KiB/s'], ['commits_per_s', 'commits', '1/s'],
  ['active_backends', 'active backends', 'backends'], ['notify_queue_percent', 'notification queue', '% full'],
  ['dead_tuples', 'dead tuples', 'tuples'], ['oldest_xmin_age', 'age of the oldest xmin', 'transactions'],
  ['collector_mib', 'memory of the collector', 'MiB'], ['machine_busy_percent', 'processors busy', '%'],
];

function serverCharts() {
  const server = data.server;
  if (!server.t || server.t.length < 2) { byId('server-section').remove(); return; }
  for (const [name, title, unit] of serverFigures) {
    const box = element('div'), id = `${name.replaceAll('_', '-')}-chart`;
    const place = element('div', undefined, 'chart small');
    place.id = id;
    place.setAttribute('role', 'img');
    place.setAttribute('aria-label', `${title} over time; the table has the figures`);
    box.append(place);
    byId('server-charts').append(box);
    chart(id, title, columns(server, 't', name), ['s', title], ['--a'], { fillGraph: true, ylabel: unit });
  }
  const cpu = Object.entries(result.cpu_s).filter(([, v]) => v !== null);
  fillTable('cpu-table', 'Processor time in seconds, of all processors', ['', 's'],
    cpu.map(([k, v]) => [k.replaceAll('_', ' '), rounded(v, 2)]));
  fillTable('wait-table', 'What backends were seen doing', ['', 'times seen'],
    Object.entries(result.server.wait_events).sort((a, b) => b[1] - a[1]));
}

// --- batches -------------------------------------------------------------------------

const reasonColours = ['--a', '--c', '--e', '--b', '--d', '--faint'];

// The most bars. With more sizes, neighbours share a bar.
const barsMax = 60;

function bar(sizes, most) {
  const box = element('div');
  const lines = sizes.reduce((sum, b) => sum + b.lines, 0);
  const [first, last] = [sizes[0].tokens, sizes[sizes.length - 1].tokens];
  box.title = `${first === last ? first : `${first} to ${last}`} tokens: ${lines} lines`;
  box.style.height = `${Math.max(100 * lines / most, lines ? 1 : 0)}%`;
  reasonColours.forEach((c, why) => {
    const part = element('i'), of = sizes.reduce((sum, b) => sum + b.by[why], 0);
    part.style.flexGrow = of;
    part.style.background = `var(${c})`;
    if (of) box.append(part);
  });
  return box;
}

function batches() {
  const { reasons, sizes } = data.batches;
  if (!sizes.length) { byId('batch-chart').closest('section').remove(); return; }
  const step = Math.ceil(sizes.length / barsMax), groups = [];
  for (let i = 0; i < sizes.length; i += step) groups.push(sizes.slice(i, i + step));
  const linesIn = (group) => group.reduce((sum, b) => sum + b.lines, 0);
  const most = Math.max(...groups.map(linesIn));
  byId('batch-chart').append(...groups.map((group) => bar(group, most)));
  byId('batch-axis').append(element('span', '1'), element('span', 'tokens in a line'), element('span', sizes.length));
  byId('batch-most').textContent = `The highest bar: ${most} lines.`;
  const totals = reasons.map((_, why) => sizes.reduce((sum, b) => sum + b.by[why], 0));
  reasons.forEach((reason, why) => {
    const entry = element('span', reason);
    entry.style.color = `var(${reasonColours[why]})`;
    if (totals[why]) byId('batch-legend').append(entry);
  });
  fillTable('reason-table', 'Why batches were sent', ['', 'lines', 'tokens'],
    reasons.map((reason, why) => [reason, totals[why], sizes.reduce((sum, b) => sum + b.tokens * b.by[why], 0)])
      .filter((row) => row[1] > 0));
  fillTable('batch-table', 'How many lines held how many tokens', ['tokens', 'lines', ...reasons],
    sizes.filter((b) => b.lines).map((b) => [b.tokens, b.lines, ...b.by]));
}

// --- tables --------------------------------------------------------------------------

const stageNames = ['schedule lag', 'insert and commit', 'wait in batch', 'dequeue and write'];

function latencies() {
  const keys = ['p50', 'p90', 'p99', 'p999', 'max', 'mean'];
  const head = ['', 'p50', 'p90', 'p99', 'p99.9', 'max', 'mean'];
  const row = (name, l) => [name, ...keys.map((k) => significant(l[k]))];
  const stages = result.stages_ms;
  const measured = ([, ...values]) => values.some((v) => v !== missing);
  fillTable('latency-table', 'Latency in ms', head, [
    row('from the intended insert', result.latency_ms.from_intended),
    row('from the commit', result.latency_ms.from_commit)].filter(measured));
  fillTable('stage-table', 'Stages, in ms, over the whole run', head,
    [stages.schedule_lag, stages.insert_commit, stages.wait_in_batch, stages.dequeue_write]
      .map((stage, i) => row(stageNames[i], stage)).filter(measured));
}

// One row for each kind of fault.
function recoveries() {
  const kinds = new Map();
  for (const f of result.faults) {
    const name = f.target ? `${f.do}, ${f.target}` : f.do;
    if (!kinds.has(name)) kinds.set(name, []);
    kinds.get(name).push(f);
  }
  const rows = [...kinds].map(([name, all]) => {
    const took = all.filter((f) => f.recovery_ms !== null).map((f) => f.recovery_ms).sort((a, b) => a - b);
    return [name, all.length, all.filter((f) => f.ok && !f.left_out).length, all.filter((f) => f.left_out).length,
      rounded(took[Math.floor((took.length - 1) / 2)], 1), rounded(took[took.length - 1], 1)];
  });
  fillTable('recovery-table', 'Recovery: from a fault’s end until fresh tokens came out',
    ['fault', 'planned', 'took effect', 'left out', 'median, ms', 'longest, ms'], rows);
  byId('fault-details').open = result.faults.length <= 20;
  fillTable('fault-table', 'Times in seconds since the start of the load',
    ['do', 'began', 'over', 'took effect', 'recovery, ms', 'evidence'],
    result.faults.map((f) => [f.do, rounded(f.at_s), rounded(f.ended_s), f.left_out ? 'left out' : f.ok ? 'yes' : 'no',
      rounded(f.recovery_ms, 1), f.evidence]));
  if (!result.faults.length) byId('fault-section').remove();
}

function environment() {
  const { durability, postgres_version: version, memory_mb: memory, cpus, ...rest } = result.environment;
  byId('durability').textContent = `Durability ${durability.verdict}.`;
  byId('durability').className = durability.durable ? 'pass' : 'missed';
  fillTable('environment-table', 'Where it ran', ['', ''], [['seed', text(result.seed)], ['collector', text(result.program)],
    ['PostgreSQL', version ? `${Math.floor(version / 10000)}.${version % 10000}` : missing],
    ['processors', text(cpus)], ['memory, MB', text(memory)],
    ...Object.entries(rest).map(([k, v]) => [k.replaceAll('_', ' '), text(v)]),
    ['file system', text(durability.filesystem)], ['one flush, µs', text(durability.fsync_us)],
    ['settings', text(durability.settings)]]);
}

// Tells how much of an invariant was judged, and what excused the rest.
function judgedShare(j) {
  if (!j.of) return 'nothing to judge';
  const excused = Object.entries(j.excused).map(([cause, n]) => `${rounded(n, 1)} by ${cause}`);
  return `${rounded(j.judged, 1)} of ${rounded(j.of, 1)} ${j.over}` +
    (excused.length ? `; excused ${excused.join(', ')}` : '');
}

function tables() {
  const counts = result.metrics;
  fillTable('invariant-table', 'Invariants', ['invariant', 'count', '', 'judged'],
    data.invariants.map((name) => [name, result.judged[name].judged || data.broken.includes(name) ? counts[name] : null,
      data.broken.includes(name) ? 'broken' : data.doubted.includes(name) ? 'cannot be judged'
        : result.judged[name].judged ? 'holds' : 'not judged',
      judgedShare(result.judged[name])]));
  const excuses = Object.entries(result.excuses);
  fillTable('excuse-table', 'For how long after its end a fault may excuse the collector, and did',
    ['fault', 'strikes', 'at most, ms', 'longest, ms'],
    excuses.map(([name, x]) => [name, x.strikes,
      ...[x.most_ms, x.used_ms].map((ms) => (ms === null ? "to the run's end" : rounded(ms, 1)))]));
  fillTable('expectation-table', 'Expectations of the scenario', ['metric', 'wanted', 'got', ''],
    result.expectations.map((x) => (x.got === null ? [x.metric, x.want, 'not measured', 'cannot be judged']
      : [x.metric, x.want, `${rounded(x.got)} ${x.unit}`.trim(), x.holds ? 'holds' : 'does not hold'])));
  environment();
  byId('repeat').textContent = data.repeat;
  byId('scenario').textContent = data.scenario_yaml;
}

// A queue has jobs and consumers where mail has tokens and collectors. The figures' own words are changed, and nothing that
// a program has printed.
function callJobs() {
  // The options that were given (#ran) are the user's own words, too.
  const words = document.querySelectorAll('.hint:not(#ran), .on-screen, caption, th, .axis span, [aria-label]');
  const changed = (s) => s.replace(/\btoken(s?)\b/g, 'job$1').replace(/\bcollector(s?)\b/g, 'consumer$1');
  for (const e of words) {
    for (const node of e.childNodes)
      if (node.nodeType === Node.TEXT_NODE) node.nodeValue = changed(node.nodeValue);
    if (e.ariaLabel) e.ariaLabel = changed(e.ariaLabel);
  }
}

// A heading without anything below it would look like a fault of the page.
function removeEmptySections() {
  for (const section of document.querySelectorAll('main > section:not([hidden])'))
    if (!section.querySelector('table, svg, pre, li, blockquote, .figure, .chart, .bars')) section.remove();
}

header();
broken();
showCuts();
// The trials of --every-cut have no load of their own, and their faults are the cuts.
if (data.cuts) {
  document.querySelectorAll('.of-load').forEach((section) => section.remove());
  tables();
} else {
  keyFigures();
  showGlance();
  latencies();
  recoveries();
  tables();
  batches();
  charts();
  removeEmptySections();
  if (data.queue) callJobs();
  // A canvas does not follow the colour scheme, so the charts are drawn again when it changes.
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => drawn.forEach(draw));
}
