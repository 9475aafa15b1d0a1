// Draws --every-cut and --every-kill as a strip of the protocol: the messages of one session from left
// to right, the client's above, the server's below. The two halves of a message are the trials before
// and after it. A click tells what a trial did.
'use strict';
// The worst first: an exchange has the state of its worst trial.
const cutStates = {
  broken: 'an invariant broke', inconclusive: 'inconclusive', 'not reached': 'the message never came',
  holds: 'all invariants held', untried: 'not tried',
};

// Splits the messages into exchanges: the client asks, the server answers. A notification that comes
// while nothing is asked stands alone. Each message gets the text of its statement, by which broken
// trials are grouped.
function exchanges(messages) {
  const all = [];
  let asked = false;
  messages.forEach((m, i) => {
    const before = messages[i - 1];
    const begins = !before || before.link !== m.link ||
      (m.sender === 'client' && before.sender === 'server') ||
      (m.name === 'NotificationResponse' && !asked && before.name !== 'NotificationResponse');
    if (m.sender === 'client') asked = true;
    if (m.name === 'ReadyForQuery') asked = false;
    if (begins) all.push([]);
    const exchange = all[all.length - 1];
    // A Sync, and the server's answer to it, have no text; they belong to the statement before them.
    m.statement = m.text || (exchange.length ? exchange[exchange.length - 1].statement : m.name);
    exchange.push(m);
  });
  return all;
}

const cutState = (trial) => (trial ? trial.state : 'untried');
const cutWorst = (messages) => Object.keys(cutStates).find((state) =>
  messages.some((m) => cutState(m.before) === state || cutState(m.after) === state));
const cutWhere = (m, side) => `${side} ${m.sender} ${m.name} number ${m.n}`;

function tellCut(m, side) {
  const trial = m[side], told = byId('cut-told');
  const what = trial ? [trial.broken || cutStates[trial.state], trial.why].filter(Boolean).join('; ') : cutStates.untried;
  told.textContent = `${cutWhere(m, side)}: ${what}.`;
  if (m.text) told.append(element('code', m.text));
}

function cutCell(m) {
  const cell = element('span', undefined, `cut-message ${m.sender}`);
  for (const side of ['before', 'after']) {
    const half = element('button');
    half.type = 'button';
    half.dataset.state = cutState(m[side]);
    half.title = `${cutWhere(m, side)}: ${m[side] ? m[side].broken || cutStates[m[side].state] : cutStates.untried}${m.text ? `\n${m.text}` : ''}`;
    half.setAttribute('aria-label', half.title);
    half.addEventListener('click', () => tellCut(m, side));
    cell.append(half);
  }
  return cell;
}

function exchangeBox(messages) {
  const box = element('div', undefined, 'exchange');
  box.dataset.state = cutWorst(messages);
  const texts = [...new Set(messages.map((m) => m.text).filter(Boolean))];
  const head = element('div', texts.join(' · ') || messages[0].name, 'statement');
  head.title = texts.join('\n');
  const strip = element('div', undefined, 'strip');
  strip.append(...messages.map(cutCell));
  box.append(head, strip);
  return box;
}

// The place of a group's worst invariant among all.
const cutRank = (group) => data.invariants.findIndex((name) => group.broken[name]);

// Groups the broken trials by their statement, the worst and largest group first.
function cutGroups(messages) {
  const groups = new Map();
  for (const m of messages) for (const side of ['before', 'after']) {
    if (cutState(m[side]) !== 'broken') continue;
    const key = m.statement, group = groups.get(key) || { at: [], broken: {} };
    group.at.push(cutWhere(m, side));
    for (const part of m[side].broken.split(', ')) {
      const [name, count] = part.split(' ');
      group.broken[name] = (group.broken[name] || 0) + Number(count);
    }
    groups.set(key, group);
  }
  return [...groups].sort(([, a], [, b]) => cutRank(a) - cutRank(b) || b.at.length - a.at.length);
}

// Tells the counts of a group, the worst invariant first, and its first place.
function cutGroupText([, { at, broken }]) {
  const sums = data.invariants.filter((name) => broken[name]).map((name) => `${broken[name]} ${name}`).join(', ');
  return `${sums}: ${at[0]}${at.length > 1 ? ` and ${at.length - 1} more` : ''}, in `;
}

const cutStatement = (text) => (text.length > 100 ? `${text.slice(0, 100)}…` : text);
const cutsAre = () => (data.cuts.action === 'kill' ? 'kills' : 'cuts');

// The head of the page: what broke in how many trials, and where the worst of them were.
function cutsFailed() {
  const sums = data.broken.map((name) => `${result.metrics[name]} ${name}`).join(', ');
  const [worst] = cutGroups(exchanges(data.cuts.messages).flat());
  const lines = [`${sums} in ${result.cuts.broken} of ${result.cuts.tried} ${cutsAre()}`];
  if (worst) lines.push(`${cutGroupText(worst)}${cutStatement(worst[0])}`);
  return lines;
}

function cutSummary(messages) {
  const { tried, reached, broken, inconclusive } = result.cuts;
  const what = cutsAre();
  const list = byId('cut-groups'), groups = cutGroups(messages), shown = 5;
  byId('cut-count').textContent = tried === 0
    ? result.verdict === 'pass' ? 'This shard has nothing to try.'
      : 'The collector failed without any cut, so none was tried.'
    : `${broken} of ${tried} ${what} broke an invariant; ${reached} reached their message` +
      `${inconclusive ? `; ${inconclusive} inconclusive` : ''}.`;
  // The head of the page tells the first group.
  for (const group of groups.length > 1 ? groups.slice(0, shown) : []) {
    const item = element('li', cutGroupText(group));
    item.append(element('code', cutStatement(group[0])));
    list.append(item);
  }
  if (groups.length > shown) list.append(element('li', `and in ${groups.length - shown} more statements: cuts.csv`));
}

function cutLegend(messages) {
  const seen = new Set(messages.flatMap((m) => [cutState(m.before), cutState(m.after)]));
  for (const state of Object.keys(cutStates).filter((s) => seen.has(s))) {
    const entry = element('span'), mark = element('i');
    mark.dataset.state = state;
    entry.append(mark, cutStates[state]);
    byId('cut-legend').append(entry);
  }
}

function showCuts() {
  if (!data.cuts) { byId('cuts').remove(); return; }
  const { messages, kinds, pairs, action } = data.cuts;
  byId('cuts').hidden = false;
  byId('cuts-title').textContent = action === 'kill' ? 'Each kill, in the order of the protocol' : 'Each cut, in the order of the protocol';
  const parts = exchanges(messages);
  cutSummary(messages);
  if (messages.length) cutLegend(messages);
  else byId('cut-hint').remove();
  byId('cut-strip').append(...parts.map(exchangeBox));
  fillTable('cut-table', 'Trials by message; the counts are those of the trials that broke the invariant',
    ['message', 'tried', 'reached', 'broke', 'lost', 'duplicated', 'exits', 'others'],
    kinds.map(([sender, name, ...rest]) => [`${sender} ${name}`, ...rest]));
  fillTable('pair-table', 'Pairs: a second one while the collector recovered from the first', ['at', '', 'broke', 'first case'],
    pairs.map((p) => [p.where, cutStates[p.state], p.broken, p.why]));
}
