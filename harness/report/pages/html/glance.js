// Draws the run at a glance. Above is a row for each state in which tokens ended, with a dot for each
// token at the time of its commit. Below is a lane for each collector, the server, the network and the
// readers. A click tells a token's life; a drag zooms, a double click shows the whole run again.
'use strict';
// In the order of enum glance_state.
const glanceStates = [null,
  { name: 'delivered', short: 'delivered', colour: '--c' },
  { name: 'later than timeout and slack', short: 'late', colour: '--e' },
  { name: 'delivered twice or more', short: 'twice', colour: '--d' },
  { name: 'not delivered', short: 'missing', colour: '--b' }];
const glance = { row: 16, left: 92, right: 10, top: 4, from: 0, until: 1 };

// Says in which lane a fault is drawn; its verb is named after what it hits.
function glanceLane(fault) {
  if (/-collector$/.test(fault.do)) return 'collector';
  if (/-(reader|sender)$/.test(fault.do)) return 'reader';
  if (/^(partition$|half-open|reset|delay|throttle|cut-at|limit-data|slice)/.test(fault.do)) return 'network';
  return 'server';
}

function glanceLanes() {
  const { tokens, processes } = data.glance;
  const states = [4, 3, 2, 1].filter((s) => s === 1 || tokens.some((t) => t[1] === s));
  const instances = [...new Set(processes.map((p) => p.instance))].sort((a, b) => a - b);
  const hit = (lane) => result.faults.filter((f) => f.at_s !== null && glanceLane(f) === lane);
  return [
    ...states.map((state) => ({ ...glanceStates[state], state })),
    // A fault does not say which instance it hit; deaths are marked on the process itself.
    ...instances.map((instance) => ({ name: `${data.queue ? 'consumer' : 'collector'} ${instance}`, instance, faults: hit('collector') })),
    ...['server', 'network', 'reader'].map((name) => ({ name, faults: hit(name) }))
      .filter((lane) => lane.faults.length > 0),
  ];
}

const glanceX = (s) => glance.left + (s - glance.from) / (glance.until - glance.from) * (glance.width - glance.left - glance.right);
const glanceS = (x) => glance.from + (x - glance.left) / (glance.width - glance.left - glance.right) * (glance.until - glance.from);

// Adds a bar from one second to another, if a part of it is in the window.
function glanceBar(picture, y, from, until, attributes, title) {
  if (until < glance.from || from > glance.until) return;
  const x = Math.max(glanceX(from), glance.left), end = Math.min(glanceX(until), glance.width - glance.right);
  const bar = svg('rect', { x, y, width: Math.max(end - x, 2), height: glance.row - 6, ...attributes });
  const tip = svg('title', {});
  tip.textContent = title;
  bar.append(tip);
  picture.append(bar);
}

function glanceTokens(picture, lane, y) {
  let path = '';
  for (const t of data.glance.tokens)
    if (t[1] === lane.state && t[2] >= glance.from && t[2] <= glance.until) path += `M${glanceX(t[2]).toFixed(1)} ${y + 5}h0`;
  picture.append(svg('path', { d: path, stroke: `var(${glanceStates[lane.state].colour})`,
    'stroke-width': lane.state === 1 ? 4 : 7, 'stroke-linecap': 'round', fill: 'none', opacity: lane.state === 1 ? 0.45 : 0.8 }));
}

function glanceProcesses(picture, lane, y) {
  for (const p of data.glance.processes.filter((one) => one.instance === lane.instance)) {
    const until = p.until === null ? data.glance.until : p.until;
    glanceBar(picture, y, p.from, until, { fill: 'var(--a)', opacity: 0.35 }, `${lane.name}, ${rounded(p.from)} s to ${rounded(until)} s`);
    if (p.died && until >= glance.from && until <= glance.until)
      picture.append(svg('path', { d: `M${glanceX(until) - 4} ${y + 1}l8 8m0 -8l-8 8`, stroke: 'var(--b)', 'stroke-width': 2 }));
  }
}

// Shades the faults over all lanes, and marks each in its own.
function glanceFaults(picture, lanes, height) {
  for (const f of result.faults.filter((one) => one.at_s !== null))
    if (f.ended_s >= glance.from && f.at_s <= glance.until)
      glanceBar(picture, glance.top, f.at_s, Math.max(f.ended_s, f.at_s), { fill: 'var(--shade)', height }, f.do);
  lanes.forEach((lane, i) => (lane.faults || []).forEach((f) => glanceBar(picture, glance.top + i * glance.row + 2,
    f.at_s, Math.max(f.ended_s, f.at_s), { fill: 'var(--b)', opacity: 0.75 }, `${f.do} at ${rounded(f.at_s)} s`)));
}

function glanceText(picture, content, x, y, anchor) {
  const label = svg('text', { x, y, 'text-anchor': anchor, fill: 'var(--faint)', 'font-size': 11 });
  label.textContent = content;
  picture.append(label);
}

function glancePicture(width, where) {
  const lanes = glanceLanes();
  glance.width = Math.max(width, 300);
  glance.left = glance.width < 500 ? 72 : 178;
  const bottom = glance.top + lanes.length * glance.row;
  const picture = svg('svg', { viewBox: `0 0 ${glance.width} ${bottom + 22}`, width: '100%', class: where });
  glanceFaults(picture, lanes, bottom - glance.top);
  lanes.forEach((lane, i) => {
    const y = glance.top + i * glance.row + 3;
    glanceText(picture, glance.width < 500 && lane.short ? lane.short : lane.name, glance.left - 8, y + 9, 'end');
    if (lane.state) glanceTokens(picture, lane, y);
    if (lane.instance !== undefined) glanceProcesses(picture, lane, y);
  });
  const room = (glance.width - glance.left - glance.right) / 70;
  for (const tick of paperTicks(glance.until - glance.from, room)) {
    const at = glance.from + tick;
    // The last label must not be cut at the edge.
    const last = glanceX(at) > glance.width - 20;
    glanceText(picture, `${+at.toFixed(3)} s`, last ? glance.width : glanceX(at), bottom + 15, last ? 'end' : 'middle');
  }
  return picture;
}

// Draws the picture once for paper, where the letters of a wide picture would shrink with it, and
// once for the screen. The screen's comes last, because clicks are translated by its measures.
function drawGlance() {
  const place = byId('glance-picture');
  place.replaceChildren(...[[paper.width, 'paper'], [place.clientWidth, 'on-screen']].map((one) => glancePicture(...one)));
}

// Tells the life of the token that is drawn nearest to a point, among those of the point's row.
function tellToken(event) {
  const box = byId('glance-picture').getBoundingClientRect();
  const x = event.clientX - box.left, lane = glanceLanes()[Math.floor((event.clientY - box.top - glance.top) / glance.row)];
  if (!lane || !lane.state) return;
  const near = data.glance.tokens.filter((t) => t[1] === lane.state)
    .reduce((best, t) => (!best || Math.abs(glanceX(t[2]) - x) < Math.abs(glanceX(best[2]) - x) ? t : best), null);
  if (!near) return;
  const [number, state, commit, read, instance, times] = near;
  const name = data.queue ? `job ${number}` : `t${String(number).padStart(7, '0')}`, who = data.queue ? 'consumer' : 'collector';
  const fault = result.faults.filter((f) => f.at_s !== null)
    .reduce((best, f) => (!best || Math.abs(f.at_s - commit) < Math.abs(best.at_s - commit) ? f : best), null);
  byId('glance-token').textContent = `${name}: committed at ${commit} s, ` +
    (read === undefined ? 'never read' : `read at ${read} s from ${who} ${instance}${times > 1 ? `, ${times} times in all` : ''}`) +
    `: ${glanceStates[state].name}.` + (fault ? ` Nearest fault: ${fault.do} at ${rounded(fault.at_s)} s.` : '') +
    ` All of it: mailproof check RESULT --token ${data.queue ? number : name}`;
}

function zoomGlance(place) {
  let began = null;
  place.addEventListener('pointerdown', (event) => { began = event.clientX; });
  place.addEventListener('pointerup', (event) => {
    const left = place.getBoundingClientRect().left;
    if (began === null) return;
    const [from, until] = [began, event.clientX].map((x) => glanceS(x - left)).sort((a, b) => a - b);
    if (Math.abs(event.clientX - began) < 8) tellToken(event);
    else if (until > from) [glance.from, glance.until] = [Math.max(from, 0), Math.min(until, data.glance.until)];
    began = null;
    drawGlance();
  });
  place.addEventListener('dblclick', () => { [glance.from, glance.until] = runWindow(); drawGlance(); });
}

function showGlance() {
  if (data.glance.tokens.length === 0) { byId('glance').remove(); return; }
  const counts = glanceStates.map((s, i) => (s ? `${data.glance.tokens.filter((t) => t[1] === i).length} ${s.name}` : '')).slice(1);
  byId('glance-picture').setAttribute('aria-label', `Tokens drawn: ${counts.join(', ')}. ${data.glance.groups.join('. ')}`);
  [glance.from, glance.until] = runWindow();
  drawGlance();
  zoomGlance(byId('glance-picture'));
  addEventListener('resize', drawGlance);
}
