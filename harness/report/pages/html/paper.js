// Draws the charts for paper. Browsers print a canvas blank or blurred, so each chart has an
// SVG beside it that only a printer shows. It uses the same rows, labels, colours and options
// that report.js gives to the library.
'use strict';
// The width is about that of the chart on paper in CSS pixels, so that letters keep their size.
const paper = { width: 680, narrow: 330, left: 56, right: 8, top: 6, bottom: 34 };

const svg = (name, attributes) => {
  const e = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  return e;
};

// About `wanted` round steps between 0 and the highest value.
function paperTicks(highest, wanted) {
  const rough = highest / wanted, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * power).find((s) => s >= rough);
  return Array.from({ length: Math.floor(highest / step + 1e-9) + 1 }, (_, i) => +(i * step).toPrecision(12));
}

// Stacks the values of each row from the last column up, as the library does. What was not
// measured stays a gap.
const stacked = (rows) => rows.map(([x, ...values]) => {
  let sum = 0;
  return [x, ...values.reverse().map((v) => (v === null ? null : (sum += v))).reverse()];
});

// Returns the points of column k as path commands. The path starts anew after each gap, and a lone
// point becomes a dot.
function paperPath(rows, k, x, y) {
  let path = '', pen = false;
  rows.forEach((row, i) => {
    if (row[k] === null) { pen = false; return; }
    const alone = !pen && (i + 1 === rows.length || rows[i + 1][k] === null);
    path += `${pen ? 'L' : 'M'}${x(row[0]).toFixed(1)} ${y(row[k]).toFixed(1)}${alone ? 'h.1' : ''}`;
    pen = true;
  });
  return path;
}

function paperAxes(picture, area, c, range, highest, x, y) {
  const faint = { fill: '#5b6470', 'font-size': 10 };
  const label = (text, attributes) => {
    const e = svg('text', { ...faint, ...attributes });
    e.textContent = text;
    picture.append(e);
  };
  for (const tick of paperTicks(highest, 4)) {
    picture.append(svg('path', { d: `M${area.left} ${y(tick)}H${area.right}`, stroke: '#d4d9e0' }));
    label(tick, { x: area.left - 5, y: y(tick) + 3, 'text-anchor': 'end' });
  }
  const format = c.options.axes ? c.options.axes.x.axisLabelFormatter : (s) => String(+s.toFixed(3));
  for (const tick of paperTicks(range[1], (area.right - area.left) / 60).filter((t) => t >= range[0] && format(t) !== ''))
    label(format(tick), { x: x(tick), y: area.bottom + 14, 'text-anchor': 'middle' });
  label(c.options.xlabel || 'seconds', { x: (area.left + area.right) / 2, y: area.bottom + 28, 'text-anchor': 'middle' });
  label(c.options.ylabel, { x: -(area.top + area.bottom) / 2, y: 11, transform: 'rotate(-90)', 'text-anchor': 'middle' });
}

function paperChart(c, place, shades, colours) {
  const height = place.classList.contains('small') ? 130 : 200;
  const width = place.closest('.grid') ? paper.narrow : paper.width;
  const area = { left: paper.left, right: width - paper.right, top: paper.top, bottom: height - paper.bottom };
  const range = c.options.dateWindow || [c.rows[0][0], c.rows[c.rows.length - 1][0]];
  const rows = (c.options.stackedGraph ? stacked(c.rows) : c.rows).filter(([at]) => at >= range[0] && at <= range[1]);
  const highest = (Math.max(...rows.flatMap((row) => row.slice(1)).filter((v) => v !== null), 0) || 1) * 1.05;
  const x = (v) => area.left + (v - range[0]) / (range[1] - range[0] || 1) * (area.right - area.left);
  const y = (v) => area.bottom - v / highest * (area.bottom - area.top);
  const picture = svg('svg', { viewBox: `0 0 ${width} ${height}`, class: 'paper', 'aria-hidden': 'true' });

  for (const [from, until] of c.options.underlayCallback === null ? [] : shades)
    picture.append(svg('rect', { x: x(from), y: area.top, width: Math.max(x(until) - x(from), 1),
      height: area.bottom - area.top, fill: '#c2372e', opacity: 0.13 }));
  paperAxes(picture, area, c, range, highest, x, y);
  c.labels.slice(1).forEach((label, i) => {
    const dashes = ((c.options.series || {})[label] || {}).strokePattern;
    picture.append(svg('path', { d: paperPath(rows, i + 1, x, y), fill: 'none', stroke: colours[i],
      'stroke-width': 1.2, 'stroke-linecap': 'round', 'stroke-dasharray': dashes ? dashes.join(' ') : 'none' }));
  });
  place.after(picture);
}
